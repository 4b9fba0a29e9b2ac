"""Sheets of shaded texts: as dark as weights say, everything legible, nothing overlapping."""

import math

import pytest

from tests.figures.layout import assert_apart, assert_inside, extents
from zoo.figures import ShadedSentence, ShadedText, png, shaded_sheet

WORDS = ["the", " film", " was", " long", ",", " very", " long"]
FLAT = ShadedText([ShadedSentence(WORDS, [0.1, 0.2, 0.0, 0.4, 0.0, 0.1, 0.2])], ["good (0.91)"])
DOCUMENT = ShadedText(
    [ShadedSentence(WORDS, [0.1, 0.2, 0.0, 0.4, 0.0, 0.1, 0.2], 0.25), ShadedSentence(["bad"], [1.0], 0.75)]
)
LONG = ShadedText([ShadedSentence([" word"] * 900, [1 / 900] * 900)])


def said(figure: object) -> list[str]:
    return [text.get_text() for text in figure.texts]  # type: ignore[attr-defined]


def test_the_darkest_word_has_the_largest_weight() -> None:
    assert FLAT.shades() == [pytest.approx([0.25, 0.5, 0.0, 1.0, 0.0, 0.25, 0.5])]
    assert FLAT.scale == "largest word weight 0.40"


def test_words_of_light_sentences_stay_light() -> None:
    """Yang et al. 2016, section 3.5: sqrt(p_s) p_w."""
    first, second = DOCUMENT.shades()
    assert second == [1.0]
    assert first == pytest.approx([w * math.sqrt(0.25 / 0.75) for w in DOCUMENT.sentences[0].weights])  # type: ignore[union-attr]
    of_sentences = ShadedText([ShadedSentence(["a", " b"], None, 0.2), ShadedSentence(["c"], None, 0.8)])
    assert of_sentences.shades() == [[0.25, 0.25], [1.0]]


def test_a_text_without_weights_has_no_shades() -> None:
    assert ShadedText([ShadedSentence(["a", " b"], None)]).shades() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    "groups",
    [
        {"": [FLAT]},
        {"right": [FLAT, DOCUMENT], "wrong": [DOCUMENT]},
        {name: [DOCUMENT] for name in ("one", "two", "three", "four")},
        {"long": [LONG, FLAT], "other": [FLAT]},
        {
            "signs": [
                ShadedText([ShadedSentence(["$x_1$", " " + "w" * 300, " 犬", " \U0001f600"], [0.2] * 4)])
            ]
        },
    ],
    ids=["one", "two columns", "two rows", "long", "signs"],
)
def test_everything_is_on_the_page_and_apart(groups: dict[str, list[ShadedText]]) -> None:
    figure = shaded_sheet(groups, title="a title")
    boxes = extents(figure, figure.texts)
    assert_inside(figure, boxes)
    assert_apart(box.shrunk(0.9, 0.6) for box in boxes)
    assert png(figure)


def test_what_is_not_drawn_is_counted() -> None:
    drawn = said(shaded_sheet({"": [LONG]}))
    shown = drawn.count("word")
    assert f"… and {900 - shown:,} more words" in drawn


def test_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one text"):
        shaded_sheet({"right": []})
