"""The path of an agent: boxes hold exactly what the sensor read."""

from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle

from zoo.attention import GlimpseSensor
from zoo.figures import glimpse_sheet
from zoo.figures.glimpse_boxes import boxes
from zoo.tasks.glimpse_path import GlimpsePath


def path(size: int = 4, scales: int = 2, channels: int = 1, steps: int = 3, **changes: Any) -> GlimpsePath:
    torch.manual_seed(0)
    image = torch.rand(channels, 20, 30)
    sensor, locations = GlimpseSensor(size=size, scales=scales), torch.rand(1, steps, 2) * 2 - 1
    glimpses = sensor(sensor.prepare(image[None]), locations)[0]
    whole = GlimpsePath(image, locations[0], glimpses, label="seven", prediction="seven", probability=0.91)
    return whole._replace(**changes)


@pytest.mark.parametrize("size", [1, 4, 5])
def test_a_box_holds_the_pixels_that_the_sensor_reads(size: int) -> None:
    height, width, scales = 9, 14, 3
    coded = torch.arange(1.0, height * width + 1).reshape(1, 1, height, width)
    edge = torch.tensor([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [-1.0, 0.3], [0.51, 1.0]])
    locations = torch.cat([edge, torch.rand(20, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1])
    finest = GlimpseSensor(size=size)
    read = finest(finest.prepare(coded), locations[None])[0, :, 0, 0]
    found = boxes(locations, height, width, size=size, scales=scales)
    assert found.shape == (25, scales, 4)
    padded = np.pad(coded[0, 0].numpy(), 2 * size + 2)
    for (left, top, right, bottom), glimpse in zip(found[:, 0] + 2 * size + 2, read.numpy(), strict=True):
        assert padded[top:bottom, left:right].tolist() == glimpse.tolist()
    # The mean of a coarse glimpse is that of its whole box, as far as both lie within the image.
    sensor = GlimpseSensor(size=size, scales=scales)
    coarse = sensor(sensor.prepare(coded), locations[None])[0, :, :, 0]
    wide = np.pad(coded[0, 0].numpy(), 8 * size)
    for scale in range(scales):
        for (left, top, right, bottom), glimpse in zip(
            found[:, scale] + 8 * size, coarse[:, scale], strict=True
        ):
            assert wide[top:bottom, left:right].mean() == pytest.approx(float(glimpse.mean()), rel=1e-4)


def texts(figure: Any) -> str:
    return "\n".join(text.get_text() for text in [*figure.texts, *(t for a in figure.axes for t in a.texts)])


def test_right_and_wrong_ones_stand_apart_with_what_was_said() -> None:
    wrong = path(label="two")
    figure = glimpse_sheet({"recognised": [path()], "mistaken": [wrong, wrong], "none": []}, title="step 7")
    said = texts(figure)
    for part in (
        "step 7",
        "recognised",
        "mistaken",
        "prediction seven (91.0 %)",
        "truth two",
        "right",
        "wrong",
    ):
        assert part in said
    assert "none" not in said
    assert said.count("wrong") == 2
    assert "truth" not in texts(glimpse_sheet({"": [path(label=None)]}))


@pytest.mark.parametrize(("steps", "scales", "channels"), [(1, 1, 1), (6, 1, 1), (8, 3, 3), (12, 4, 1)])
def test_every_step_and_scale_has_its_box_and_its_glimpse(steps: int, scales: int, channels: int) -> None:
    drawn_path = path(steps=steps, scales=scales, channels=channels)
    figure = glimpse_sheet({"": [drawn_path]})
    image, *_ = figure.axes
    drawn = [patch for patch in image.patches if isinstance(patch, Rectangle)]
    expected = boxes(drawn_path.locations, 20, 30, size=4, scales=scales).reshape(-1, 4)
    corners = {(p.get_x(), p.get_y(), p.get_x() + p.get_width(), p.get_y() + p.get_height()) for p in drawn}
    assert {tuple(map(float, box)) for box in expected} <= corners
    seen = sum(len(axes.images) for axes in figure.axes)
    assert seen == 1 + steps * scales
    assert max(figure.get_size_inches() * figure.dpi) <= 3000


def test_a_sheet_of_many_paths_stays_small() -> None:
    figure = glimpse_sheet({"right": [path()] * 8, "wrong": [path(label="one")] * 8})
    assert max(figure.get_size_inches() * figure.dpi) <= 3000


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({}, "at least one path"),
        ({"": [path(locations=torch.zeros(0, 2))]}, "locations"),
        ({"": [path(locations=torch.zeros(2, 2))]}, "T=2"),
        ({"": [path(image=torch.full((1, 20, 30), float("nan")))]}, "image"),
        ({"": [path(image=torch.zeros(2, 20, 30))]}, r"\(2, 20, 30\)"),
        ({"": [path(probability=1.5)]}, "1.5"),
        ({"": [path(), path(steps=2)]}, "one agent"),
    ],
)
def test_what_cannot_be_drawn_is_refused(groups: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        glimpse_sheet(groups)
