"""`zoo predict` with pictures: plain lines, and errors of one line that say what to type."""

from contextlib import chdir
from pathlib import Path

import pytest
from PIL import Image
from small_run import draw_picture, make_recogniser, make_run
from typer.testing import CliRunner, Result

import zoo
from zoo.cli.app import main
from zoo.cli.load import RUN_IS


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs and, beside them, pictures."""
    folder = tmp_path_factory.mktemp("runs")
    make_recogniser(folder / "first")
    make_recogniser(folder / "second", seed=1)
    make_recogniser(folder / "shorter", glimpses=2)
    make_recogniser(folder / "whole", policy="none")
    make_recogniser(folder / "random", policy="random")
    make_run(folder / "text")
    (folder / "pictures").mkdir()
    for number, name in enumerate(("dog.png", "cat.png")):
        draw_picture(folder / "pictures" / name, number)
    draw_picture(folder / "pictures" / "wide.jpg", 3, size=(50, 20), mode="RGB")
    (folder / "pictures" / "notes.txt").write_text("no picture")
    return folder


@pytest.fixture(autouse=True)
def here(runs: Path) -> object:
    with chdir(runs):
        yield


def _zoo(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)], input=stdin)


def _prints(*arguments: object) -> list[list[str]]:
    result = _zoo(*arguments)
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def _fails(*arguments: object, stdin: bytes = b"") -> str:
    """The message of a command that prints nothing else."""
    result = _zoo(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    *using, error = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert all(line.startswith("using ") for line in using)
    return error.removeprefix("error: ")


def _expected(run: str, picture: str, nbest: int = 1) -> list[list[str]]:
    recogniser = zoo.load(run)
    return [[one.label, f"{one.probability:.4f}"] for one in recogniser.predict([picture], nbest)[0]]  # type: ignore[union-attr]


def test_one_picture() -> None:
    result = _zoo("first", "pictures/dog.png")
    assert result.stdout == "\t".join(_expected("first", "pictures/dog.png")[0]) + "\n"
    assert "using first/checkpoints/best.ckpt (step 7, val/error 0.25)" in result.stderr


@pytest.mark.parametrize("run", ["whole", "first/checkpoints/best.ckpt"])
def test_any_model_of_images(run: str) -> None:
    assert _prints(run, "pictures/dog.png") == _expected(run, "pictures/dog.png")


def test_several_pictures_of_any_size_and_colours() -> None:
    pictures = ["pictures/dog.png", "pictures/wide.jpg", "pictures/cat.png"]
    expected = [[picture, *line] for picture in pictures for line in _expected("first", picture)]
    assert _prints("first", *pictures) == expected


def test_several_runs_and_pictures_with_all_their_classes() -> None:
    pictures, names = ["pictures/dog.png", "pictures/cat.png"], ["first", "second"]
    expected = [
        [name, picture, *line]
        for picture in pictures
        for name in names
        for line in _expected(name, picture, nbest=3)
    ]
    assert _prints(*names, *pictures, "--nbest", 9) == expected
    assert len(expected) == 12
    one = _prints("first", "second", "pictures/dog.png")
    assert one == [[name, *_expected(name, "pictures/dog.png")[0]] for name in names]


@pytest.mark.parametrize("names", [["first"], ["first", "second"], ["random"]], ids=" ".join)
def test_a_drawing(names: list[str], tmp_path: Path) -> None:
    plot = tmp_path / "path.png"
    result = _zoo(*names, "pictures/dog.png", "pictures/cat.png", "--plot", plot)
    assert result.exit_code == 0, result.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert f"drew {plot}" in result.stderr
    assert len(result.stdout.splitlines()) == 2 * len(names)


def test_a_drawing_takes_no_picture_s_place(tmp_path: Path) -> None:
    dog = tmp_path / "dog.png"
    Image.new("L", (20, 20), "white").save(dog)
    before = dog.read_bytes()
    assert "the picture to look at would be lost" in _fails("first", dog, "--plot", dog)
    assert dog.read_bytes() == before


def test_what_cannot_be_drawn_is_said_before_anything_is_printed(tmp_path: Path) -> None:
    dog, plot = "pictures/dog.png", tmp_path / "a.png"
    assert _fails("whole", dog, "--plot", plot) == (
        f"cannot draw {plot}: the model of whole sees whole images, without glimpses"
    )
    assert "its ending must be one of " in _fails("first", dog, "--plot", tmp_path / "a.dog")
    assert "nowhere does not exist" in _fails("first", dog, "--plot", tmp_path / "nowhere" / "a.png")
    assert "it has room for 16 paths of glimpses, not for 17" in _fails("first", *[dog] * 17, "--plot", plot)
    said = _fails("first", "shorter", dog, "--plot", plot)
    assert said.startswith(f"cannot draw {plot}: a sheet needs glimpses of one shape")
    assert not plot.exists()


def test_a_sentence_for_a_model_of_images(runs: Path) -> None:
    said = "the model of first looks at pictures, and there is no file "
    assert _fails("first", "a dog on a lawn") == f"{said}'a dog on a lawn'"
    mistyped = _fails("first", "pictures/dgo.png")
    assert mistyped == f"{said}'pictures/dgo.png'; did you mean {runs}/pictures/dog.png?"
    behind = "the model of first looks at pictures: give their files behind the run, instead of "
    assert _fails("first", "-", stdin=b"a dog\n") == f"{behind}standard input"
    assert _fails("first", "--file", "pictures/notes.txt") == f"{behind}--file"


def test_a_picture_for_a_model_of_text() -> None:
    said = "takes sentences: give one, or --file pictures/dog.png for the sentences in that file"
    assert _fails("text", "pictures/dog.png") == f"the model of text {said}"
    assert _fails("first", "text", "pictures/dog.png") == f"the model of text {said}"
    said = "looks at pictures, and there is no file 'a dog'"
    assert _fails("text", "first", "a dog") == f"the model of first {said}"


def test_files_that_are_none(runs: Path) -> None:
    dog = "pictures/dog.png"
    missing = f"does not exist; did you mean {runs}/pictures/cat.png?"
    assert _fails("first", dog, "pictures/ca.png") == f"pictures/ca.png {missing}"
    assert _fails("first", "pictures/ca.png", dog) == f"pictures/ca.png {missing}"
    assert _fails("first", "ca.png", dog, "pictures/ca.png").startswith("ca.png does not exist")
    assert _fails("frist", dog) == f"frist does not exist; did you mean {runs}/first?"
    assert _fails(dog) == f"no run before {dog}: {RUN_IS} comes first"
    mixed = "is no picture (runs come first, then pictures, file by file)"
    assert _fails("first", dog, "pictures", "second") == f"pictures {mixed}; second {mixed}"
    said = _fails("first", dog, "pictures/notes.txt")
    assert said == "pictures/notes.txt is no picture, or of a format that is not known"


def test_a_folder_of_pictures() -> None:
    said = _fails("first", "pictures")
    assert said.startswith("no sentence or picture after pictures: ")
    assert said.endswith("; of a folder of pictures, give its files")
    assert "no checkpoints/best.ckpt" in _fails("pictures", "pictures/dog.png")
