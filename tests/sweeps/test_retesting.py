"""A finished run is tested once more: in another folder, from its checkpoint alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import yaml

from zoo.loggers.wandb import WandbLogger
from zoo.reports.publish import publish
from zoo.runs.results import config_hash
from zoo.runs.resume import CannotResume, resume_point
from zoo.runs.status import State, StatusFile
from zoo.sweeps.retesting import CannotTest, require_finished

TINY = [
    *("data=reverse", "trainer=debug", "decoding=beam", "~callbacks.alignments"),
    *("data.corpus.train=64", "data.corpus.validation=8", "data.corpus.test=8", "data.batch_tokens=256"),
    *("model.embedding_size=8", "model.hidden_size=8"),
]
COSTS = ("seconds", "per_second", "peak_memory_bytes", "machine", "parameters", "val", "seed", "name")

Start = Callable[..., int]
Made = Callable[..., Path]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("retesting") / "runs"


@pytest.fixture(scope="module")
def once() -> list[Path]:
    """The run that all tests share, as soon as there is one: none may change it."""
    return []


@pytest.fixture
def made(start: Start, runs: Path) -> Made:
    """Starts train.py, which must end well and make one folder: that one."""

    def make(*line: str) -> Path:
        known = set(runs.glob("*/*"))
        assert start(*line) == 0
        (new,) = set(runs.glob("*/*")) - known
        return new

    return make


@pytest.fixture
def trained(made: Made, once: list[Path]) -> Path:
    """A finished run."""
    if not once:
        once.append(made(*TINY, "logger=csv", "seed=5"))
    return once[0]


def test_a_test_differs_in_what_was_asked_for_alone(
    made: Made, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(trained)
    monkeypatch.delattr(pl.Trainer, "fit")
    same, other = (made("--weights", str(trained), *line) for line in ([], ["decoding.beam_size=1"]))
    assert content(trained) == before

    predictions = [(run / "predictions.jsonl").read_bytes() for run in (trained, same, other)]
    assert predictions[0] == predictions[1] != predictions[2]
    first, second, third = (read(run / "results.json") for run in (trained, same, other))
    assert first["test"] == second["test"] != third["test"]
    assert first["config_hash"] == second["config_hash"] != third["config_hash"]
    for name in (*COSTS, "test_hash", "vocabulary_hash", "signatures"):
        assert first[name] == second[name] == third[name], name
    assert all(results["seconds_of_test"] > 0 for results in (first, second, third))
    assert third["seconds_of_test"] != first["seconds_of_test"]
    checkpoint = third.pop("checkpoint")
    assert (other / checkpoint.pop("file")).resolve() == trained / "checkpoints" / "best.ckpt"
    assert checkpoint.items() < first["checkpoint"].items()

    config = yaml.safe_load((other / "config.yaml").read_text(encoding="utf-8"))
    assert config["task"]["decoding"] == config["decoding"]
    assert config["decoding"]["beam_size"] == 1
    assert config_hash(config) == third["config_hash"]
    status = StatusFile(other).read()
    assert (status.state, status.tests) == (State.FINISHED, str(trained))
    typed = StatusFile(trained).read().overrides
    assert status.overrides == [*typed, "decoding.beam_size=1"]
    files = {path.relative_to(other).as_posix() for path in other.rglob("*") if path.is_file()}
    assert files == {"config.yaml", "status.json", "results.json", "predictions.jsonl", "train.log"}


def test_the_test_can_wait_and_is_logged_nowhere(
    made: Made, tmp_path: Path, configure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made(*TINY, "logger=csv", "test=false", "experiment=reverse", "seed=5")
    assert "seconds_of_test" not in read(run / "results.json")
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    places = {"folder": str(run), "wandb_dir": config["paths"]["wandb_dir"]}
    config["logger"]["wandb"] = {**configure("logger=wandb")["logger"]["wandb"], **places}
    (run / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("W&B was asked for")

    monkeypatch.setattr(WandbLogger, "_start", refuse)
    new = made("--weights", str(run), "decoding=greedy")
    assert "exact_match" in read(new / "results.json")["test"]

    (tmp_path / "README.md").touch()
    publish([new], tmp_path)
    (kept,) = (tmp_path / "results" / "reverse").iterdir()
    assert "decoding=greedy" in read(kept)["overrides"]
    curve = read(kept)["learning_curve"]
    best = read(run / "results.json")["checkpoint"]
    assert (curve["step"], curve["value"]) == ([best["step"]], [best["value"]])
    kept.unlink()
    shutil.rmtree(run)
    publish([new], tmp_path)
    assert "learning_curve" not in read(kept), "what is gone is left out"


def test_what_is_drawn_at_random_is_drawn_again(made: Made) -> None:
    run = made("experiment=ram_digits", "trainer=debug", "logger=csv", "~callbacks.glimpses")
    new = made("--weights", str(run))
    first, second = (read(folder / "results.json")["test"] for folder in (run, new))
    assert first["error_1_sample"] == second["error_1_sample"]
    assert first == second


@pytest.mark.parametrize(
    "line", [["decoding.beam_size=0"], ["trainer.precision=16"], ["data.batch_tokens=2"]]
)
def test_a_bad_value_gets_the_usual_message_and_makes_nothing(
    start: Start, runs: Path, trained: Path, line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    known = list(runs.glob("*/*"))
    assert start("--weights", str(trained), *line) == 2
    assert f"  - {line[0].partition('=')[0]}: " in capsys.readouterr().err
    assert list(runs.glob("*/*")) == known


def test_other_words_are_refused(start: Start, trained: Path, runs: Path) -> None:
    """Although nobody asked for another vocabulary, it would be one."""
    known = set(runs.glob("*/*"))
    assert start("--weights", str(trained), "data.corpus.symbols=9") == 1
    (new,) = set(runs.glob("*/*")) - known
    assert "trained with another vocabulary" in str(StatusFile(new).read().exception)
    assert not (new / "results.json").exists()


def test_a_test_is_not_resumed(made: Made, trained: Path) -> None:
    """That would train."""
    new = made("--weights", str(trained))
    StatusFile(new).start(tests=str(trained))
    StatusFile(new).end(State.PREEMPTED, exit_code=143)
    config = yaml.safe_load((new / "config.yaml").read_text(encoding="utf-8"))
    with pytest.raises(CannotResume, match=f"is a test of {trained}: `zoo test` does it again"):
        resume_point(new, config)
    with pytest.raises(CannotTest, match=f"is itself a test of {trained}: name that run"):
        require_finished(new)
