"""The models that come with the package answer before any training, and are those of their recipes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small_run import make_run
from typer.testing import CliRunner, Result

import zoo
from zoo.cli.app import main
from zoo.inference.trained_models import FOLDER, RECIPES
from zoo.runs.frozen import Config
from zoo.runs.results import config_hash
from zoo.training.checkpoint import CheckpointError

PROJECT = Path(__file__).parents[2]
PICTURES = PROJECT / "docs" / "pictures"
ASKED = {
    "dates": ("3. März 2021", "2021-03-03"),
    "digits": (str(PICTURES / "try_digit.png"), "4"),
    "shapes": (str(PICTURES / "try_scene.png"), "a red circle left of a white square"),
}


def _zoo(*line: object) -> Result:
    return CliRunner().invoke(main, [*map(str, line)])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no checkout around."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", RECIPES)
def test_it_answers_before_any_training(name: str) -> None:
    given, answer = ASKED[name]
    result = _zoo("predict", name, given)
    assert result.exit_code == 0, result.output
    assert result.stdout.split("\t")[0].strip() == answer
    assert _zoo("predict", f"zoo:{name}", given).stdout == result.stdout


@pytest.mark.parametrize("name", RECIPES)
def test_it_is_small_and_made_from_its_recipe(configure: Callable[..., Config], name: str) -> None:
    files = {path.name: path.stat().st_size for path in (FOLDER / name).iterdir()}
    assert sum(files.values()) <= 2_000_000
    metrics = json.loads((FOLDER / name / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["experiment"] == RECIPES[name]
    assert metrics["config_hash"] == config_hash(configure(f"experiment={RECIPES[name]}")), "make trained"
    assert "license: apache-2.0" in (FOLDER / name / "README.md").read_text(encoding="utf-8")


def test_all_that_comes_along_has_a_name_a_recipe_and_a_command() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(RECIPES)
    made = (PROJECT / "Makefile").read_text(encoding="utf-8").partition("TRAINED := ")[2].splitlines()[0]
    assert dict(pair.split(":") for pair in made.split()) == RECIPES
    assert '"inference/trained/*/*"' in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_folder_of_that_name_comes_first(tmp_path: Path) -> None:
    run = make_run(tmp_path / "dates")
    assert zoo.load("dates").checkpoint.path.parent.parent.name == "dates"
    assert _zoo("predict", "dates", "abc").stdout == _zoo("predict", run, "abc").stdout
    assert zoo.load("zoo:dates")("3. März 2021") == "2021-03-03"
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(CheckpointError, match=r"has no checkpoints/best\.ckpt.*is zoo:dates$"):
        zoo.load("dates")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["dates"], "no sentence or picture after dates"),
        (["digits"], "no sentence or picture after digits"),
        (["date", "3. März 2021"], "date does not exist; did you mean dates?"),
        (["zoo:date", "3. März 2021"], "zoo:date does not exist; did you mean dates?"),
        (["3. März 2021"], "one of dates, digits"),
        (["digits", "3"], "looks at pictures"),
    ],
)
def test_what_is_missing_is_said(line: list[str], said: str) -> None:
    result = _zoo("predict", *line)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


def test_a_name_is_a_sentence_where_one_is_due(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    result = _zoo("predict", run, "dates")
    assert result.exit_code == 0
    assert result.stdout.strip() == zoo.load(run)("dates")
