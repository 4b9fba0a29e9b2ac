"""`zoo predict` asks a predictor of any kind, by what its `predict` takes: nothing here names a task."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.text import Text
from typer.testing import CliRunner, Result

from zoo.cli.app import main
from zoo.tasks.inputs import PAIRS, PICTURES, SENTENCES, Inputs, takes
from zoo.tasks.predictor import Predictor


class Saved:
    """A checkpoint's place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)


class Fake(Predictor):
    """Without a model."""

    without_input = True

    def __init__(self, path: Path) -> None:
        self.checkpoint: Any = Saved(path / "checkpoints" / "best.ckpt")


class Shouts(Fake):
    """The least that a class has: one answer to each text."""

    without_input = False

    @takes(SENTENCES)
    def predict(self, texts: Sequence[str]) -> list[str]:
        return [text.upper() for text in texts]


class Matches(Fake):
    """Says how many words two texts share, and that they are two words short."""

    without_input = False
    asked: ClassVar[list[dict[str, Any]]] = []

    @takes(PAIRS)
    def predict(
        self,
        pairs: Sequence[tuple[str, str]],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[tuple[str, int]]]:
        self.asked.append({"pairs": list(pairs), "weights": weights})
        assert progress is not None
        progress(len(pairs))
        shared = [len({*left.split()} & {*right.split()}) for left, right in pairs]
        return [[("shared", count), ("other", 9 - count)][:nbest] for count in shared]

    def columns(self, answer: tuple[str, int], nbest: int) -> list[str]:
        return [answer[0], str(answer[1])]

    def render(self, answer: tuple[str, int]) -> Text:
        return Text(f"colours of {answer[1]}", style="red")

    @staticmethod
    def draw(predictors: Mapping[str, Any], pair: tuple[str, str], path: str | Path) -> list[Path]:
        Path(path).write_text(f"{', '.join(predictors)}: {pair[0]} / {pair[1]}")
        return [Path(path)]


class Sizes(Fake):
    """The size of a picture's file."""

    without_input = False

    @takes(PICTURES)
    def predict(self, pictures: Sequence[str | Path]) -> list[int]:
        return [Path(picture).stat().st_size for picture in pictures]


class Adds(Fake):
    without_input = False

    @takes(Inputs((int,), "a whole number (int)", "[3]"))
    def predict(self, numbers: Sequence[int]) -> list[int]:
        return [number + 1 for number in numbers]


KINDS: dict[str, type[Fake]] = {
    "shouts": Shouts,
    "matches": Matches,
    "matches_too": Matches,
    "sizes": Sizes,
    "adds": Adds,
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in KINDS:
        (tmp_path / name).mkdir()
    (tmp_path / "dog.png").write_bytes(b"12345")
    monkeypatch.setattr("zoo.inference.loading.load", lambda run, **_: KINDS[run](Path(run)))
    Matches.asked.clear()
    return tmp_path


def _zoo(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)], input=stdin)


def _prints(*arguments: object, stdin: bytes = b"") -> list[str]:
    result = _zoo(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def _fails(*arguments: object, stdin: bytes = b"") -> str:
    result = _zoo(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("error: ")


def test_two_texts() -> None:
    assert _prints("matches", "a b c", "b c d") == ["shared\t2"]
    assert Matches.asked == [{"pairs": [("a b c", "b c d")], "weights": False}]
    assert _prints("matches", "matches_too", "a", "a", "--nbest", 2) == [
        "matches\t1\tshared\t1",
        "matches\t1\tother\t8",
        "matches_too\t1\tshared\t1",
        "matches_too\t1\tother\t8",
    ]


def test_lines_of_two_texts(here: Path) -> None:
    lines = b"a b\tb\n\n  c \t c\n"
    (here / "pairs.tsv").write_bytes(lines)
    assert _prints("matches", "--file", "pairs.tsv") == ["shared\t1", "", "shared\t1"]
    assert _prints("matches", "-", stdin=lines) == ["shared\t1", "", "shared\t1"]


@pytest.mark.parametrize("line", ["a b", "a\tb\tc", "a\t", "\tb", "a\t\u200b"])
def test_a_line_without_two_texts_is_named(line: str) -> None:
    said = _fails("matches", "-", stdin=f"a\tb\n{line}\n".encode())
    assert said.startswith("standard input, line 2: two texts with a tab between them are needed, got ")


def test_texts_that_are_no_pair() -> None:
    said = "takes two texts: give both, or --file FILE for lines of two texts with a tab between them"
    assert _fails("matches", "alone") == f"the model of matches {said}"
    assert _fails("matches", "a", "") == "two texts are needed, and one is empty"
    assert "only" not in _fails("matches", "a", "b", "c")
    assert "two texts may follow the runs, and 3 are given" in _fails("matches", "a", "b", "c")
    assert "one sentence may follow the runs, and 2 are given" in _fails("shouts", "a", "b")
    assert _fails("shouts", "matches", "a") == f"the model of matches {said}"
    assert _fails("matches", "shouts", "a", "b").startswith("the model of shouts takes sentences: give one")
    assert _fails("matches", "dog.png").startswith("the model of matches takes two texts: give both")


def test_a_predictor_with_nothing_but_a_predict() -> None:
    assert _prints("shouts", "a dog") == ["A DOG"]
    assert _prints("shouts", "-", stdin=b"a\n\nb\n") == ["A", "", "B"]
    assert _prints("sizes", "dog.png") == ["5"]
    assert _fails("shouts", "a", "--nbest", 2) == (
        "the model of shouts gives one answer to each input: leave --nbest out"
    )
    assert _fails("sizes", "dog.png", "--plot", "a.png").startswith(
        "cannot draw a.png: Sizes, the predictor of"
    )


def test_what_no_command_line_can_say() -> None:
    assert _fails("adds", "3") == (
        "the model of adds takes a whole number (int): use it from Python, zoo.load('adds').predict([3])"
    )


def test_a_drawing_of_two_texts(here: Path) -> None:
    result = _zoo("matches", "matches_too", "a", "b", "--plot", "a.svg")
    assert result.exit_code == 0, result.output
    assert (here / "a.svg").read_text() == "matches, matches_too: a / b"
    assert "drew a.svg" in result.stderr
    assert "draws one sentence, got 2" in _fails("matches", "-", "--plot", "a.svg", stdin=b"a\tb\na\tb\n")


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the best answer alone; only then weights are kept."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    first, colours, *others = _prints("matches", "a", "a")
    assert first == "shared\t1"
    assert "colours of 1" in colours
    assert "\x1b[31m" in colours
    assert not others
    assert Matches.asked[-1]["weights"]
    lines = _prints("matches", "a", "a", "--nbest", 2)
    assert [line for line in lines if "colours" in line] == [colours]
