"""Alignment figures: every cell and label where it belongs, nothing overlapping, any script and length."""

import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.figures.layout import assert_apart, assert_inside, extents, labels, texts
from zoo.figures import alignment, alignment_sheet, png, render
from zoo.figures.labels import shortened


class Sentence(NamedTuple):
    weights: torch.Tensor
    source_tokens: list[str]
    tokens: list[str]


def sentence(targets: int, sources: int, seed: int = 0) -> Sentence:
    generator = random.Random(seed)
    words = [
        "a",
        "Donaudampfschifffahrtsgesellschaft",
        "window",
        ",",
        "$x_2$",
        "▁über",
        "WWWWWWWWWWWWWWWWWWWWWWW",
    ]
    source, target = ([*generator.choices(words, k=count - 1), "</s>"] for count in (sources, targets))
    weights = torch.rand(targets, sources, generator=torch.Generator().manual_seed(seed)).softmax(dim=1)
    return Sentence(weights, source, target)


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_xlabel() == "source"]


@pytest.mark.parametrize(("targets", "sources"), [(5, 40), (1, 1), (15, 13)])
def test_every_label_has_its_place(targets: int, sources: int) -> None:
    """No two texts overlap, all lie on the figure, cells are equal squares, the axes have names."""
    drawn = sentence(targets, sources)
    figure = alignment(drawn.weights, drawn.source_tokens, drawn.tokens, title="multi30k_bahdanau")
    (axes,) = panels(figure)
    assert labels(axes, "x")[-1] == labels(axes, "y")[-1] == "</s>"
    assert (len(labels(axes, "x")), len(labels(axes, "y"))) == (sources, targets)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("source", "target")
    assert axes.xaxis.get_ticks_position() == "top"
    assert axes.get_ylim() == (targets, 0)

    boxes = extents(figure, texts(figure))
    assert_apart(boxes)
    assert_inside(figure, boxes)
    cells = axes.get_window_extent()
    assert cells.width / sources == pytest.approx(cells.height / targets)
    assert cells.width / sources == pytest.approx(0.25 * figure.dpi)


def test_colours_are_the_weights_on_a_fixed_scale() -> None:
    weights = np.array([[0.2, 0.1, 0.0], [0.0, 0.3, 0.05]])
    (axes,) = panels(alignment(weights, ["a", "b", "</s>"], ["x", "</s>"]))
    (mesh,) = axes.collections
    np.testing.assert_array_equal(np.asarray(mesh.get_array()), weights)
    assert mesh.get_clim() == (0.0, 1.0)


def test_the_true_cell_is_dark() -> None:
    """Pixels: of a 2 x 3 map only target 1, source 2 has weight."""
    weights = np.zeros((2, 3))
    weights[1, 2] = 1.0
    figure = alignment(weights, ["a", "b", "c"], ["x", "y"])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[..., :3].astype(float).mean(axis=-1)
    (axes,) = panels(figure)
    for row in range(2):
        for column in range(3):
            across, up = axes.transData.transform((column + 0.5, row + 0.5))
            brightness = image[image.shape[0] - 1 - int(up), int(across)]
            assert (brightness < 100) == ((row, column) == (1, 2))


def test_a_sheet_holds_sentences_of_any_size() -> None:
    items = [sentence(*size, seed=seed) for seed, size in enumerate([(5, 7), (12, 9), (20, 22), (1, 2)])]
    titles = ["a model with a name that goes on for much longer than its picture is wide"] * 4
    figure = alignment_sheet(items, titles)
    assert [len(labels(axes, "x")) for axes in panels(figure)] == [7, 9, 22, 2]
    boxes = [*extents(figure, texts(figure)), *(axes.get_window_extent() for axes in figure.axes)]
    assert_apart(boxes)
    assert_inside(figure, boxes)


def test_models_side_by_side_begin_at_one_height() -> None:
    items = [sentence(6, 8, seed) for seed in range(3)]
    figure = alignment_sheet(items, ["a", "b", "c"])
    assert len({round(axes.get_position().y1, 6) for axes in panels(figure)}) == 1
    assert [text.get_text() for text in figure.texts] == ["a", "b", "c"]


def test_any_script_is_drawn_without_a_warning() -> None:
    tokens = ["我", "机器翻译", "الترجمة", "नमस्ते", "русский", "👍🏽", "\n", "", "a\tb", "\ud800", "</s>"]
    figure = alignment(np.eye(11), tokens, tokens, title="日本語 $x$ \\frac")
    assert png(figure).startswith(b"\x89PNG")
    assert render(figure, "pdf").startswith(b"%PDF")
    assert labels(panels(figure)[0], "x")[6:10] == ["·", "", "a·b", "·"]


def test_nothing_decoded_is_an_empty_picture() -> None:
    figure = alignment(np.zeros((0, 2)), ["a", "</s>"], [])
    assert png(figure).startswith(b"\x89PNG")
    assert labels(panels(figure)[0], "x") == ["a", "</s>"]


def test_labels_that_do_not_fit_the_weights() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\), 2 target tokens and 2 source tokens"):
        alignment(np.zeros((2, 3)), ["a", "b"], ["x", "y"])
    with pytest.raises(ValueError, match=r"shape \(2, 3\), 1 target tokens and 3 source tokens"):
        alignment_sheet([Sentence(torch.zeros(2, 3), ["a", "b", "c"], ["x"])])
    with pytest.raises(ValueError, match="1 sentences but 2 titles"):
        alignment_sheet([sentence(2, 2)], ["one", "two"])
    with pytest.raises(ValueError, match="at least one sentence"):
        alignment_sheet([])


def test_nothing_global_changes() -> None:
    """In a process of its own: other libraries import pyplot."""
    program = """
import sys, numpy, matplotlib
before = {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
from zoo.figures import alignment, png
png(alignment(numpy.eye(2), ["a", "b"], ["c", "d"]))
assert "matplotlib.pyplot" not in sys.modules
assert before == {key: matplotlib.rcParams[key] for key in before}
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("window", 6, "window"),
        ("windows", 6, "windo…"),
        ("机器翻译", 8, "机器翻译"),
        ("机器翻译", 7, "机器翻…"),
        ("机器翻译", 6, "机器…"),
        ("\uff21\uff22", 3, "\uff21…"),  # wide letters
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("a   bcdef", 4, "a…"),
        ("a\nb", 9, "a·b"),
        ("", 3, ""),
    ],
)
def test_shortening(text: str, columns: int, expected: str) -> None:
    assert shortened(text, columns) == expected
