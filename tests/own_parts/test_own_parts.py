"""A score and a whole task in a package outside the checkout: one word each, everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGE = Path(__file__).with_name("my_zoo")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of somebody else's that holds the package."""
    shutil.copytree(PACKAGE, tmp_path / "my_zoo")
    return tmp_path


def call(place: Path, *command: str, named: bool = True, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": "1"}
    environment |= {"ZOO_PLUGINS": "my_zoo"} if named else {}
    done = subprocess.run(
        [sys.executable, *command], cwd=place, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done.stdout + done.stderr


def train(place: Path, *line: str, logger: str = "csv", named: bool = False, code: int = 0) -> str:
    where = [f"paths.runs_dir={place}/runs", f"paths.cache_dir={place}/cache", f"logger={logger}"]
    where += ["trainer=debug"]
    return call(place, str(PROJECT / "train.py"), *line, *where, named=named, code=code)


def runs_of(place: Path) -> list[str]:
    return [str(path.parent) for path in sorted(place.glob("runs/**/results.json"))]


@pytest.mark.slow
def test_a_score_is_one_word(place: Path) -> None:
    train(place, "-m", "plugins=[my_zoo]", "data=reverse", "attention=low_rank,dot", "seed=1,2")
    runs = runs_of(place)
    assert len(runs) == 4
    low_rank = next(run for run in runs if "low_rank" in run or "low-rank" in run)
    assert '"my_zoo": "sha256:' in (Path(low_rank) / "results.json").read_text()
    assert "low_rank" in call(place, "-m", "zoo", "compare", *runs)
    assert "low_rank" in call(place, "-m", "zoo", "list", "attention", "--project", str(PROJECT))
    assert "using " in call(place, "-m", "zoo", "predict", low_rank, "a b")
    refused = call(place, "-m", "zoo", "predict", low_rank, "a b", named=False, code=2)
    assert "if my_zoo is a package of your own, name it: ZOO_PLUGINS=my_zoo" in refused


@pytest.mark.slow
def test_a_task_is_a_room_of_ones_own(place: Path) -> None:
    said = train(place, "plugins=[my_zoo]", "model=sign_linear", "trainer.max_epochs=2")
    assert "sign_error" in said
    (run,) = runs_of(place)
    project = ["--project", str(PROJECT)]
    assert "finished" in call(place, "-m", "zoo", "test", run, *project)
    assert "finished" in call(place, "-m", "zoo", "rerun", run, *project)
    page = place / "page.html"
    assert "sign_error" in call(place, "-m", "zoo", "compare", *runs_of(place), "--html", str(page))
    assert "sign_error" in page.read_text(encoding="utf-8")
    asked = f"import zoo; print(zoo.load({run!r}).predict([[1.0, 2.0, 3.0, 4.0]]))"
    assert re.search("above|below", call(place, "-c", asked))
    refused = call(place, "-m", "zoo", "predict", run, "1 2 3 4", code=2)
    assert "takes four numbers: use it from Python" in refused
    refused = train(place, "plugins=[my_zoo]", "model=sign_linear", "data=dates", code=2)
    assert "has pairs of sentences, but SignTask takes sums" in refused
    refused = train(place, "plugins=[my_zoo]", "model=sign_linear", "task.monitor=val/bleu", code=2)
    assert "val/bleu is not measured" in refused


@pytest.mark.slow
def test_a_task_of_ones_own_is_watched_and_published(place: Path) -> None:
    """The task tells the dashboard how its metrics are read, results.json tells the tables."""
    train(place, "-m", "plugins=[my_zoo]", "experiment=signs", "seed=1,2", logger="wandb")
    runs = runs_of(place)
    watched = call(place, "-m", "zoo", "watch", runs[0], named=False)
    assert re.search(r"val/sign_error\.min +0\.", watched), watched
    recorded = json.loads((Path(runs[0]) / "results.json").read_text(encoding="utf-8"))["metrics"]
    assert recorded["sign_error"].items() >= {"better": "min", "headline": True}.items()
    part = "<!-- {0} data=signs:begin -->\n<!-- {0}:end -->\n"
    (place / "README.md").write_text(part.format("results"), encoding="utf-8")
    call(place, "-m", "zoo.reports.publish", *runs, named=False)  # results alone are read
    page = (place / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\| trainer=debug \| 1, 2 \| \d\.\d{3} ± \d\.\d{3} \|", page), page
    compared = call(place, "-m", "zoo", "compare", str(place / "results"), named=False)
    assert re.search(r"trainer=debug +2 +\d\.\d{3} ± \d\.\d{3}", compared), compared


@pytest.mark.slow
def test_a_stopped_run_of_own_parts_goes_on(place: Path) -> None:
    line = ["plugins=[my_zoo]", "model=sign_linear", "trainer.max_epochs=2"]
    train(place, *line)
    (run,) = runs_of(place)
    status = Path(run) / "status.json"
    status.write_text(status.read_text().replace('"finished"', '"preempted"'))
    refused = call(place, "-m", "zoo", "resume", run, "--project", str(PROJECT), named=False, code=2)
    assert refused.count("ZOO_PLUGINS=my_zoo") == 1
    assert "finished" in call(place, "-m", "zoo", "resume", run, "--project", str(PROJECT))
