"""The glimpse sensor against a loop over pixels."""

import math

import pytest
import torch
from torch import Tensor

from zoo.attention import GlimpseSensor
from zoo.attention.glimpse import useful_scales


def pixel_by_pixel(image: Tensor, location: Tensor, size: int, scales: int) -> Tensor:
    """`(k, C, g, g)` from one image and one place, as the docstring defines it."""
    channels, height, width = image.shape
    patches = torch.zeros(scales, channels, size, size, dtype=image.dtype)
    x, y = ((location.tolist()[axis] + 1) / 2 * extent for axis, extent in enumerate((width, height)))
    for scale in range(scales):
        side = 2**scale
        left, top = (math.floor(middle - size * side / 2 + 0.5) for middle in (x, y))
        if size * side % 2:  # the outer edge lies in the last pixel
            left, top = left - (x == width), top - (y == height)
        for row in range(size * side):
            for column in range(size * side):
                if 0 <= top + row < height and 0 <= left + column < width:
                    pixel = image[:, top + row, left + column]
                    patches[scale, :, row // side, column // side] += pixel / side**2
    return patches


@pytest.mark.parametrize("size", [1, 4, 5])
@pytest.mark.parametrize("scales", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(1, 9, 9), (3, 7, 12), (3, 12, 7)])
def test_a_glimpse_is_what_a_loop_over_pixels_reads(
    size: int, scales: int, shape: tuple[int, int, int]
) -> None:
    generator = torch.Generator().manual_seed(size * 10 + scales)
    corners = torch.tensor([[-1.0, -1], [1, 1], [-1, 1], [0, 0], [1, 0], [-1.5, 2], [50, 0]])
    locations = torch.cat([corners, torch.rand(6, 2, generator=generator) * 2.4 - 1.2])
    images = torch.rand(2, *shape, generator=generator, dtype=torch.float64)
    locations = torch.stack([locations, locations.flip(0)]).double()
    sensor = GlimpseSensor(size=size, scales=scales)
    seen = sensor(sensor.prepare(images), locations)
    expected = torch.stack(
        [
            torch.stack([pixel_by_pixel(image, place, size, scales) for place in places])
            for image, places in zip(images, locations, strict=True)
        ]
    )
    torch.testing.assert_close(seen, expected, atol=1e-12, rtol=0)
    assert seen.any(), "nothing but darkness was compared"


def test_the_middle_and_the_edges_of_a_known_image() -> None:
    image = torch.arange(16.0).view(1, 4, 4)
    sensor = GlimpseSensor(size=2)
    middle, corner = sensor(sensor.prepare(image), torch.tensor([[0.0, 0], [-1, -1]]))
    assert middle.squeeze().tolist() == [[5, 6], [9, 10]]
    assert corner.squeeze().tolist() == [[0, 0], [0, 0]]
    (right_of_middle,) = sensor(sensor.prepare(image), torch.tensor([[0.5, 0]]))  # x comes first
    assert right_of_middle.squeeze().tolist() == [[6, 7], [10, 11]]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_opposite_edges_are_seen_alike(size: int) -> None:
    image = torch.rand(1, 1, 7, 9)
    sensor = GlimpseSensor(size=size, scales=2)
    places = torch.tensor([[[1.0, 1], [1, -1], [1, 0.123], [-0.2, 1]]])
    seen = sensor(sensor.prepare(image), places)
    mirrored = sensor(sensor.prepare(image.flip(-1, -2)), -places)
    assert seen[:, 0].any()
    torch.testing.assert_close(mirrored.flip(-1, -2), seen)


def test_large_images_are_read_where_it_looks_alone() -> None:
    large, small = torch.rand(1, 1, 120, 120).double(), torch.rand(1, 1, 60, 60)
    sensor = GlimpseSensor(size=5, scales=3)
    memory = sensor.prepare(large)
    assert memory.blocks == (large,)
    assert len(sensor.prepare(small).blocks) == 3
    places = torch.tensor([[[0.11, -0.3], [-0.97, 0.99], [1.2, 0.01]]]).double()
    expected = torch.stack([pixel_by_pixel(large[0], place, 5, 3) for place in places[0]])
    torch.testing.assert_close(sensor(memory, places)[0], expected)


def test_places_in_images_of_half_precision_are_as_exact() -> None:
    images = torch.rand(1, 1, 300, 301)
    places = torch.rand(1, 50, 2) * 2 - 1
    sensor = GlimpseSensor(size=8, scales=2)
    seen = sensor(sensor.prepare(images.bfloat16()), places)
    torch.testing.assert_close(seen.float(), sensor(sensor.prepare(images), places), atol=0.01, rtol=0)


@pytest.mark.parametrize(
    ("size", "height", "width"), [(8, 28, 28), (4, 8, 5), (3, 7, 12), (9, 2, 2), (1, 1, 1)]
)
def test_useful_scales_are_those_that_show_something_more(size: int, height: int, width: int) -> None:
    """The last of them holds the whole image even from its corners, and the one before does not."""
    most = useful_scales(size, height, width)
    sensor, image = GlimpseSensor(size=size, scales=most + 1), torch.ones(1, height, width)
    seen = sensor(sensor.prepare(image), torch.tensor([[-1.0, -1], [1, 1], [-1, 1], [0, 0]]))
    shown = [
        float(patch.sum(dim=(-3, -2, -1)).min()) * 4**scale for scale, patch in enumerate(seen.movedim(1, 0))
    ]
    assert shown[-2:] == pytest.approx([height * width] * 2)
    assert all(pixels < height * width for pixels in shown[:-2])


def test_places_may_lie_in_memory_in_any_order_and_images_may_be_none() -> None:
    images, places = torch.rand(3, 2, 12, 12), torch.rand(5, 3, 2).transpose(0, 1)
    sensor = GlimpseSensor(size=4, scales=2)
    memory = sensor.prepare(images)
    torch.testing.assert_close(sensor(memory, places), sensor(memory, places.contiguous()))
    assert sensor(sensor.prepare(images[:0]), places[:0]).shape == (0, 5, 2, 2, 4, 4)


def test_the_default_type_does_not_move_places() -> None:
    images, places = torch.rand(1, 257, 515), torch.rand(30, 2) * 2 - 1
    sensor = GlimpseSensor(size=8)
    seen = sensor(sensor.prepare(images), places)
    torch.set_default_dtype(torch.bfloat16)
    try:
        torch.testing.assert_close(sensor(sensor.prepare(images), places), seen)
    finally:
        torch.set_default_dtype(torch.float32)


def test_leading_axes_are_free() -> None:
    images, locations = torch.rand(2, 3, 1, 8, 8), torch.rand(2, 3, 5, 2)
    sensor = GlimpseSensor(size=3, scales=2)
    seen = sensor(sensor.prepare(images), locations)
    assert seen.shape == (2, 3, 5, 2, 1, 3, 3)
    alone = sensor(sensor.prepare(images[1, 2]), locations[1, 2])
    assert torch.equal(seen[1, 2], alone)


def test_pixels_get_a_gradient_and_places_none() -> None:
    images = torch.rand(1, 1, 6, 6, requires_grad=True)
    locations = torch.zeros(1, 1, 2, requires_grad=True)
    sensor = GlimpseSensor(size=2)
    sensor(sensor.prepare(images), locations).sum().backward()
    assert images.grad is not None
    assert images.grad.sum() == 4
    assert locations.grad is None


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="GlimpseSensor: size=0, must be at least 1"):
        GlimpseSensor(size=0)
    with pytest.raises(ValueError, match="scales=0"):
        GlimpseSensor(size=2, scales=0)
    sensor = GlimpseSensor(size=2)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., C, H, W\), given \(4, 4\)"):
        sensor.prepare(torch.rand(4, 4))
    with pytest.raises(ValueError, match=r"images need floating-point numbers, .* given torch\.uint8: "):
        sensor.prepare(torch.zeros(1, 1, 4, 4, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"lead=\(2,\), given \(3, 1, 2\)"):
        sensor(sensor.prepare(torch.rand(2, 1, 4, 4)), torch.zeros(3, 1, 2))
