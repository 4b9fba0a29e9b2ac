"""Matching from the checkpoint alone."""

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from small_run import PAIRS, make_matcher

import zoo
from zoo.core.overlap import shared_words
from zoo.core.text import TextCodec
from zoo.figures.cells import TITLE_COLUMNS
from zoo.tasks.matching.predictor import Matcher, titled

GIVEN = [
    ("a red square", "left of the blue circle"),
    ("circle", "a circle"),
    ("a blue", "red"),
    ("a", "of a a"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {kind: make_matcher(folder / kind, kind=kind) for kind in ("reads", "abcnn3", "bcnn", "degrees")}


@pytest.mark.parametrize("kind", ["reads", "abcnn3"])
def test_predictions_equal_the_networks_outputs(runs: dict[str, Path], kind: str) -> None:
    matcher = zoo.load(runs[kind])
    assert isinstance(matcher, Matcher)
    codec = TextCodec(PAIRS.text("left"))
    for pair, answers in zip(GIVEN, matcher.predict(GIVEN, nbest=3), strict=True):
        sides = [codec.pad(codec.encode([text])) for text in pair]
        overlap = [] if kind == "reads" else [torch.tensor([shared_words(*pair, PAIRS.fields["overlap"])])]  # type: ignore[arg-type]
        with torch.no_grad():
            logits = matcher.task.network(*sides, *overlap).logits[0]
        expected = dict(zip(PAIRS.label().classes, logits.softmax(-1).tolist(), strict=True))
        assert {one.label: one.probability for one in answers} == pytest.approx(expected, abs=1e-5)
        likely_first = sorted(expected.values(), reverse=True)
        assert [one.probability for one in answers] == pytest.approx(likely_first, abs=1e-5)


def test_a_degree_lies_in_its_range(runs: dict[str, Path]) -> None:
    answers = zoo.load(runs["degrees"]).predict(GIVEN, nbest=3)
    assert all(len(found) == 1 and 1 <= found[0].degree <= 5 for found in answers)
    assert {found[0].probability for found in answers} == {None}
    assert answers[0][0].label == f"{answers[0][0].degree:.3f}"


def test_blank_texts_and_long_ones(runs: dict[str, Path]) -> None:
    matcher = zoo.load(runs["reads"])
    (blank,), (short,), (long,) = matcher.predict([("a", " "), ("a", "red " * 12), ("a", "red " * 15)])
    assert (blank.label, blank.maps) == ("", ())
    assert list(matcher.remarks([short]))
    assert long.unread == short.unread + 3
    assert long.probability == pytest.approx(short.probability)


def test_maps_have_the_words_at_their_axes(runs: dict[str, Path]) -> None:
    (found,) = zoo.load(runs["reads"]).predict(GIVEN[:1], nbest=1)
    (once,) = found[0].maps
    assert (once.tokens, once.source_tokens) == (
        ["(whole text)"],
        ["left", "of", "the", "blue", "circle", "</s>"],
    )
    assert float(once.weights.sum()) == pytest.approx(1)
    (found,) = zoo.load(runs["abcnn3"]).predict(GIVEN[:1], nbest=1)
    for one in found[0].maps:
        assert one.weights.shape == (4, 6)
        assert one.tokens == ["a", "red", "square", "</s>"]
        assert (float(one.weights.min()), float(one.weights.max())) == (0, 1)
    assert [one.what for one in found[0].maps] == ["match of words", "match of each 3 words"]
    (found,) = zoo.load(runs["reads"]).predict(GIVEN[:1], weights=False)
    assert found[0].maps == []


def test_unknown_words_stand_at_the_axes_as_they_are(runs: dict[str, Path]) -> None:
    (found,) = zoo.load(runs["abcnn3"]).predict([("a zebra", "red okapi " * 12)])
    first, *_ = found[0].maps
    assert first.tokens == ["a", "zebra", "</s>"]
    assert [*first.source_tokens[:2], first.source_tokens[-1]] == ["red", "okapi", "</s>"]


def test_a_long_name_of_a_run_leaves_the_answer_legible() -> None:
    answer = "paraphrase (0.57), match of each 3 words"
    title = titled("06-09-55_text-pairs-abcnn3-euclidean_0226a93b", answer)
    assert title.startswith("06-09-55_text")
    assert title.endswith(answer)
    assert len(title) <= TITLE_COLUMNS
    assert titled("run", "yes") == "run: yes"


def test_several_models_are_drawn_side_by_side(runs: dict[str, Path], tmp_path: Path) -> None:
    predictors = {name: zoo.load(runs[name]) for name in ("reads", "abcnn3")}
    alone, both = tmp_path / "alone.png", tmp_path / "both.png"
    assert predictors["reads"].plot(GIVEN[0], alone) == [alone]
    Matcher.draw(predictors, GIVEN[0], both)
    widths = []
    for path in (alone, both):
        with Image.open(path) as picture:
            widths.append(picture.size[0])
    assert widths[0] < widths[1]
    with pytest.raises(ValueError, match="no attention"):
        zoo.load(runs["bcnn"]).plot(GIVEN[0], tmp_path / "none.png")
    with pytest.raises(ValueError, match="a text is empty"):
        predictors["reads"].plot(("a", ""), tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


@pytest.mark.parametrize(
    "given",
    ["a text", ["a text"], [("a",)], [("a", "b", "c")], [("a", 3)], [("a", None)], None, [{"a": "b"}]],
    ids=repr,
)
def test_anything_but_pairs_is_refused(runs: dict[str, Path], given: Any) -> None:
    with pytest.raises(TypeError, match="pairs"):
        zoo.load(runs["reads"]).predict(given)
