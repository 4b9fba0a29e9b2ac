"""What `predict` takes in Python: whatever else is given is refused with its place, and nothing runs."""

import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from small_run import draw_picture, make_captioner, make_player, make_recogniser, make_run

import zoo
from zoo.tasks.inputs import PAIRS, SENTENCES, Inputs, takes
from zoo.tasks.predictor import Predictor

DOORS = {"translator": make_run, "captioner": make_captioner, "recogniser": make_recogniser}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A predictor of each kind; none of them may be asked anything."""
    folder = tmp_path_factory.mktemp("runs")
    return {name: zoo.load(make(folder / name)) for name, make in DOORS.items()}


@pytest.fixture
def idle(doors: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The predictors, whose networks must not run."""
    monkeypatch.setattr(doors["translator"].task, "translate", None)
    monkeypatch.setattr(doors["captioner"].task, "caption", None)
    monkeypatch.setattr(doors["recogniser"].task.network, "recognise", None)
    return doors


def _one(value: object) -> Iterator[object]:
    yield value


@pytest.mark.hostile("predict")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("red house", "got a str ('red house') alone: write ["),
        ("", "got a str ('') alone"),
        (Path("dog.png"), "got a pathlib.PosixPath alone"),
        (b"red house", "got a bytes (b'red house') alone"),
        (None, "got None"),
        (3, "got an int (3)"),
        ({"a": "b"}, "got a dict"),
        ({"a", "b"}, "got a set"),
        (_one("a"), "got a generator"),
        (map(str, [1]), "got a map"),
        (np.array(["a", "b"]), "got a numpy.ndarray of shape (2,)"),
        (np.zeros((2, 3, 8, 8)), "got a numpy.ndarray of shape (2, 3, 8, 8)"),
        (torch.zeros(3, 8, 8), "got a torch.Tensor of shape (3, 8, 8)"),
        (Image.new("RGB", (8, 8)), "got a PIL.Image"),
        (["a", None, "b", 3], "[1] is None, {name}[3] is an int (3)"),
        ([["a", "b"]], "[0] is a list"),
        (("a", b"b"), "[1] is a bytes (b'b')"),
        ([np.zeros((8, 8))], "[0] is a numpy.ndarray of shape (8, 8)"),
        ([torch.zeros(8)], "[0] is a torch.Tensor of shape (8,)"),
        (bytearray(b"a"), "[0] is an int (97)"),
        (array.array("i", [1]), "[0] is an int (1)"),
        (range(9), "[2] is an int (2), and 6 more are wrong"),
    ],
    ids=lambda value: type(value).__name__,  # values have other names in each process that tests
)
def test_anything_but_a_list_is_refused(idle: dict[str, Any], door: str, given: object, said: str) -> None:
    name = "texts" if door == "translator" else "pictures"
    with pytest.raises(TypeError) as caught:
        idle[door].predict(given)
    text = str(caught.value)
    assert text.startswith(f"{name} must be a list, each element ")
    assert said.format(name=name) in text
    assert "\n" not in text


@pytest.mark.parametrize("door", DOORS)
def test_first_argument_by_name_and_bad_nbest(idle: dict[str, Any], door: str) -> None:
    name = "texts" if door == "translator" else "pictures"
    with pytest.raises(TypeError, match=f"{name} must be a list"):
        idle[door].predict(**{name: "a"})
    with pytest.raises(TypeError, match="missing"):
        idle[door].predict()
    for nbest, kind in (
        (0, ValueError),
        (-1, ValueError),
        (1.0, TypeError),
        ("2", TypeError),
        (True, TypeError),
    ):
        with pytest.raises(kind, match="nbest must be"):
            idle[door].predict([], nbest=nbest)
        with pytest.raises(kind, match="nbest must be"):
            idle[door].predict([], nbest)


def test_paths_are_no_texts_and_missing_files_are_named(idle: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"texts\[0\] is a pathlib\.PosixPath"):
        idle["translator"].predict([Path("dog.png")])
    with pytest.raises(ValueError, match=r"texts\[1\] cannot be written as UTF-8: '\\ud800'"):
        idle["translator"].predict(["a", "\ud800"])
    for door in ("captioner", "recogniser"):
        with pytest.raises(ValueError, match=r"no\.png cannot be read as a picture.*; also_no\.png"):
            idle[door].predict(["no.png", Path("also_no.png")])


@pytest.mark.parametrize("make", [list, tuple, deque])
def test_every_sequence_is_taken(
    doors: dict[str, Any], tmp_path: Path, make: Callable[[Sequence[Any]], Sequence[Any]]
) -> None:
    texts = ["abc", "k"]
    translator = doors["translator"]
    assert [found[0].text for found in translator.predict(make(texts))] == [
        translator(text) for text in texts
    ]
    assert translator.predict(make([np.str_("abc")]))[0][0].text == translator("abc")
    for door in ("captioner", "recogniser"):
        mode = "RGB" if door == "captioner" else "L"
        pictures = [draw_picture(tmp_path / f"{number}.png", number, mode=mode) for number in range(2)]
        one = doors[door].predict(make(pictures))
        assert [len(found) for found in one] == [1, 1]
        assert len(doors[door].predict(make(list(map(str, pictures))))) == 2


def test_blank_texts_have_blank_translations(doors: dict[str, Any]) -> None:
    translator = doors["translator"]
    blank = ["", "  ", "\n", "\u200b"]
    counted: list[int] = []
    found = translator.predict([*blank[:2], "abc", *blank[2:], "k"], nbest=2, progress=counted.append)
    assert [len(translations) for translations in found] == [1, 1, 2, 1, 1, 2]
    assert [translations[0].text for translations in found] == [
        "",
        "",
        translator("abc"),
        "",
        "",
        translator("k"),
    ]
    assert sum(counted) == 2
    assert {(empty.finished, empty.weights) for (empty,) in translator.predict(blank)} == {(True, None)}
    assert translator(" ") == ""


def test_impossible_drawings_are_refused(doors: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.png: the sentence is empty"):
        doors["translator"].plot(" ", tmp_path / "a.png")
    with pytest.raises(TypeError, match=r"text\[0\] is None"):
        doors["translator"].plot(None, tmp_path / "a.png")
    for door in ("captioner", "recogniser"):
        with pytest.raises(TypeError, match=r"\[0\] is None"):
            doors[door].plot(None, tmp_path / "a.png")


@pytest.mark.parametrize(
    ("seed", "kind"),
    [(None, TypeError), ("1", TypeError), (1.5, TypeError), (-1, ValueError), (2**70, ValueError)],
)
def test_a_game_is_named_by_a_whole_number(tmp_path: Path, seed: Any, kind: type[Exception]) -> None:
    player: Any = zoo.load(make_player(tmp_path / "plays"))
    with pytest.raises(kind, match="seed must be"):
        player.play(seed)


def test_a_predictor_of_ones_own_says_what_it_takes(doors: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"Silent does not say what its predict takes"):

        class Silent(Predictor):
            def predict(self, words: Sequence[str]) -> list[str]:
                return [word.upper() for word in words]

    with pytest.raises(TypeError, match="without_input"):

        class Empty(Predictor):
            pass

    class Numbers(Predictor):
        @takes(Inputs((int,), "a whole number (int)", "[3]"))
        def predict(self, numbers: Sequence[int], nbest: int = 1) -> list[int]:
            return [number * nbest for number in numbers]

    class Words(Predictor):
        @takes(SENTENCES)
        def predict(self, words: Sequence[str]) -> list[str]:
            return [word.upper() for word in words]

    given = doors["translator"]
    numbers, words = (
        kind(given.checkpoint, given.task, device="cpu", precision="32-true") for kind in (Numbers, Words)
    )
    assert numbers.predict([1, 2], 3) == [3, 6]
    assert words.predict(["a"]) == ["A"]
    with pytest.raises(
        TypeError, match=r"numbers must be a list, each element a whole number \(int\); got an int \(3\)"
    ):
        numbers.predict(3)
    with pytest.raises(TypeError, match=r"words must be a list.*write \[\"a sentence\"\]"):
        words.predict("a")


def test_pairs_are_two_texts() -> None:
    assert PAIRS.checked([("a", "b"), ["c", "d"]], "pairs") == [("a", "b"), ("c", "d")]
    for wrong in ("ab", ("a",), ("a", "b", "c"), ("a", 1), None):
        with pytest.raises(TypeError, match=r"each element two texts \(a tuple of two str\); pairs\[1\] is"):
            PAIRS.checked([("a", "b"), wrong], "pairs")
    with pytest.raises(ValueError, match=r"pairs\[0\] cannot be written as UTF-8"):
        PAIRS.checked([("a", "\ud800")], "pairs")
