"""What figures show, as data."""

import numpy as np
from matplotlib.figure import Figure

from zoo.figures import ShadedSentence, ShadedText, head_grid, shaded_sheet
from zoo.figures.shown import Matrix, ShownSentence, ShownText, shown_in


def test_each_head_of_each_layer_is_a_matrix() -> None:
    weights = np.arange(12).reshape(2, 1, 2, 3) / 11
    shown = shown_in(head_grid(weights, ["a", "b"], ["c", "d", "e"]))
    first = Matrix("layer 1, head 1", ("query", "key"), ["a", "b"], ["c", "d", "e"], [])
    assert [one.title for one in shown] == ["layer 1, head 1", "layer 2, head 1"]
    assert isinstance(shown[0], Matrix)
    assert (shown[0].axes, shown[0].rows, shown[0].columns) == (first.axes, first.rows, first.columns)
    assert shown[0].weights == [[0.0, 0.091, 0.182], [0.273, 0.364, 0.455]]


def test_texts_have_the_shades_of_their_words() -> None:
    text = ShadedText([ShadedSentence(["a", " b"], [0.25, 0.5], 1.0)], ["pos (0.9)"])
    assert shown_in(shaded_sheet({"right": [text]})) == [
        ShownText("right\npos (0.9)", [ShownSentence(["a", " b"], [0.5, 1.0], 1.0)])
    ]


def test_too_many_weights_for_a_page_stay_a_picture() -> None:
    labels = [str(number) for number in range(150)]
    assert shown_in(head_grid(np.zeros((1, 2, 150, 150)), labels, labels)) == []
    assert shown_in(Figure()) == []
