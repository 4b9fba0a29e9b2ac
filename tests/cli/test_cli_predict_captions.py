"""`zoo predict` with models that write captions."""

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from small_run import draw_picture, make_captioner, make_recogniser, make_run
from typer.testing import CliRunner, Result

import zoo
from zoo.cli.app import main
from zoo.tasks.captioning.task import Caption


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs and, beside them, pictures."""
    folder = tmp_path_factory.mktemp("runs")
    make_captioner(folder / "soft")
    make_captioner(folder / "hard", seed=3, selection="Hard")
    make_captioner(folder / "blind", selection=None)
    make_captioner(folder / "brief", seed=2, maximum_length=3)
    make_recogniser(folder / "signs")
    make_run(folder / "text")
    for number, name in enumerate(("dog.png", "cat.png")):
        draw_picture(folder / name, number, mode="RGB")
    draw_picture(folder / "wide.jpg", 3, size=(50, 20), mode="L")
    (folder / "notes.txt").write_text("no picture")
    (folder / "cut.jpg").write_bytes((folder / "wide.jpg").read_bytes()[:300])
    return folder


@pytest.fixture(autouse=True)
def here(runs: Path) -> object:
    with chdir(runs):
        yield


def _zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)])


def _prints(*arguments: object) -> list[list[str]]:
    result = _zoo(*arguments)
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def _fails(*arguments: object) -> str:
    """The message of a command that prints nothing else."""
    result = _zoo(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("error: ")


def _expected(run: str, picture: str, nbest: int = 1) -> list[Any]:
    captioner: Any = zoo.load(run)
    (found,) = captioner.predict([picture], nbest)
    return list(found)


def test_one_picture() -> None:
    result = _zoo("soft", "dog.png")
    (best,) = _expected("soft", "dog.png")
    assert best.text
    assert result.stdout == f"{best.text}\n"
    assert "using soft/checkpoints/best.ckpt (step 7, val/cider_d 0.5)" in result.stderr


def test_several_pictures_of_any_size_and_colours() -> None:
    pictures = ["dog.png", "wide.jpg", "cat.png"]
    expected = [[picture, _expected("soft", picture)[0].text] for picture in pictures]
    assert _prints("soft", *pictures) == expected


def test_several_captions_are_lines_with_their_scores() -> None:
    found = _expected("soft", "dog.png", 3)
    assert _prints("soft", "dog.png", "--nbest", 3) == [[f"{one.score:.4f}", one.text] for one in found]
    lines = _prints("soft", "hard", "dog.png", "cat.png", "--nbest", 2)
    assert lines == [
        [run, picture, f"{one.score:.4f}", one.text]
        for picture in ("dog.png", "cat.png")
        for run in ("soft", "hard")
        for one in _expected(run, picture, 2)
    ]


@pytest.mark.parametrize("names", [["soft"], ["soft", "hard"]], ids=" ".join)
def test_a_drawing(names: list[str], tmp_path: Path) -> None:
    plot = tmp_path / "out.png"
    result = _zoo(*names, "dog.png", "wide.jpg", "--plot", plot)
    assert result.exit_code == 0, result.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert f"drew {plot}" in result.stderr
    assert len(result.stdout.splitlines()) == 2 * len(names)


def test_a_caption_that_was_cut_off_says_so() -> None:
    result = _zoo("brief", "soft", "dog.png")
    assert result.exit_code == 0
    cut = [run for run in ("brief", "soft") if not _expected(run, "dog.png")[0].finished]
    assert "brief" in cut, "the test's model ends by itself"
    said = [line for line in result.stderr.splitlines() if not line.startswith("using ")]
    assert said == [f"{run}, dog.png: cut off at the length limit" for run in cut]


def test_an_empty_caption_says_so() -> None:
    silent = Caption(text="", score=-1.0, finished=True, tokens=[], weights=None)
    captioner: Any = zoo.load("soft")
    assert list(captioner.remarks([silent, silent._replace(text="a dog")])) == ["says nothing"]


def test_a_drawing_takes_no_picture_s_place(tmp_path: Path) -> None:
    dog = tmp_path / "dog.png"
    Image.new("L", (20, 20), "white").save(dog)
    before = dog.read_bytes()
    assert "the picture to look at would be lost" in _fails("soft", dog, "--plot", dog)
    assert dog.read_bytes() == before


def test_what_cannot_be_drawn_is_said_before_anything_is_printed(tmp_path: Path) -> None:
    plot = tmp_path / "a.png"
    assert _fails("blind", "dog.png", "--plot", plot) == (
        f"cannot draw {plot}: the model of blind has no attention"
    )
    assert "it has room for 16 captions, not for 17" in _fails("soft", *["dog.png"] * 17, "--plot", plot)
    assert _fails("soft", "signs", "dog.png", "--plot", plot) == (
        f"cannot draw {plot}: the models of soft, signs do not do the same"
    )
    assert not plot.exists()


def test_models_of_both_kinds_look_at_the_same_pictures() -> None:
    (one, other) = _prints("soft", "signs", "dog.png")
    assert one == ["soft", _expected("soft", "dog.png")[0].text]
    assert (other[0], len(other)) == ("signs", 3)


def test_what_is_no_picture() -> None:
    assert _fails("soft", "dog.png", "notes.txt", "cut.jpg").startswith(
        "notes.txt is no picture, or of a format that is not known; cut.jpg cannot be read as a picture: "
    )
    assert _fails("soft", "a dog on a lawn") == (
        "the model of soft looks at pictures, and there is no file 'a dog on a lawn'"
    )
    assert "the model of text takes sentences" in _fails("text", "soft", "dog.png")
