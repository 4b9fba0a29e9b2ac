"""Views of training images."""

import numpy as np
import pytest
import torch

from data.core.keyed_random import keys
from data.images.augmentation import Augmentation, Warp, shifted

B = 64
KEYS = keys(3, np.arange(B))
FREE = np.zeros(B, dtype=bool)


def images() -> torch.Tensor:
    return torch.rand(B, 3, 12, 12, generator=torch.Generator().manual_seed(0))


def test_whole_images_are_as_they_are_or_mirrored() -> None:
    given = images()
    seen = Augmentation(smallest_crop=1).views(given, KEYS, FREE)
    same, turned = (torch.isclose(seen, one, atol=1e-5).flatten(1).all(1) for one in (given, given.flip(3)))
    assert (same ^ turned).all()
    assert 16 < turned.sum() < 48
    for kept in (
        Augmentation(smallest_crop=1).views(given, KEYS, ~FREE),
        Augmentation(smallest_crop=1, mirror=False).views(given, KEYS, FREE),
    ):
        torch.testing.assert_close(kept, given)


def test_a_view_is_a_part_scaled_up() -> None:
    """Of an image whose pixels say where they are, a view says what it shows."""
    place = (torch.arange(64) + 0.5) / 64
    given = torch.stack([place.expand(64, 64), place[:, None].expand(64, 64)]).expand(B, 2, 64, 64)
    seen = Augmentation(smallest_crop=0.6, mirror=False).views(given, KEYS, FREE)
    across, down = seen[:, 0, 0, :], seen[:, 1, :, 0]
    for shown in (across, down):
        share = (shown[:, -2] - shown[:, 1]) * 64 / 61
        assert 0.59 < share.min() < 0.68
        assert 0.92 < share.max() < 1.01
        assert (shown.diff(dim=1)[:, 1:-1] > 0).all()
        assert shown[:, 0].min() < 0.05
        assert shown[:, -1].max() > 0.95
    torch.testing.assert_close(across.diff(dim=1)[:, 30], down.diff(dim=1)[:, 30])


def test_a_view_depends_on_its_key_alone() -> None:
    given, views = images(), Augmentation().views
    whole = views(given, KEYS, FREE)
    some = torch.tensor([40, 3])
    assert torch.equal(views(given[some], KEYS[some.numpy()], FREE[:2]), whole[some])
    assert not torch.equal(views(given, keys(4, np.arange(B)), FREE), whole)


@pytest.mark.parametrize("share", [0, -1, 1.1])
def test_senseless_shares(share: float) -> None:
    with pytest.raises(ValueError, match=f"smallest_crop must be above 0 and at most 1, got {share}"):
        Augmentation(smallest_crop=share)


def test_shifts_are_all_moves_of_so_many_pixels_and_black_comes_in() -> None:
    most, count = 2, 2_000
    given = np.random.default_rng(0).integers(1, 255, (count, 3, 5, 7), dtype=np.uint8)
    seen = shifted(given, keys(3, np.arange(count)), most)
    assert (seen.shape, seen.dtype) == (given.shape, given.dtype)
    left = np.ones(count, dtype=bool)
    shares = []
    for down in range(-most, most + 1):
        for right in range(-most, most + 1):
            moved = np.zeros_like(given)
            to = [slice(max(by, 0), side + min(by, 0)) for by, side in ((down, 5), (right, 7))]
            come = [slice(max(-by, 0), side + min(-by, 0)) for by, side in ((down, 5), (right, 7))]
            moved[:, :, to[0], to[1]] = given[:, :, come[0], come[1]]
            equal = (moved == seen).all((1, 2, 3))
            left &= ~equal
            shares.append(equal.mean())
    assert not left.any()
    assert min(shares) > 0.02
    assert max(shares) < 0.06


def test_a_warp_turns_and_stretches_about_the_middle() -> None:
    """Of a picture, wider than high, whose pixels say where they are, a view says which map it is."""
    height, width = 40, 60
    down, across = np.meshgrid(np.arange(height) - 19.5, np.arange(width) - 29.5, indexing="ij")
    given = np.broadcast_to(np.stack([across, down]), (B, 2, height, width)).astype(np.float32).copy()
    seen = Warp(rotation=20, stretch=0.25).views(given, KEYS)
    middle = seen[:, :, 12:28, 22:38]
    right, below = (np.diff(middle, axis=axis).mean((2, 3)) for axis in (3, 2))  # (B, 2): what a pixel adds
    angles = np.degrees(np.arctan2(-below[:, 0], right[:, 0]))
    wide = 1 / np.hypot(right[:, 0], below[:, 0])
    high = 1 / np.hypot(right[:, 1], below[:, 1])
    np.testing.assert_allclose(right[:, 1] * high, -below[:, 0] * wide, atol=1e-3)
    np.testing.assert_allclose(middle.mean((2, 3)), 0, atol=1e-3)
    for values, least, most in ((angles, -20, 20), (wide, 0.75, 1.25), (high, 0.75, 1.25)):
        span = most - least
        assert least - 1e-3 < values.min() < least + span / 8
        assert most - span / 8 < values.max() < most + 1e-3
    assert abs(np.corrcoef([angles, wide, high]) - np.eye(3)).max() < 0.4, "each is drawn by itself"


def test_a_warp_keeps_the_kind_of_pixels_and_depends_on_its_key_alone() -> None:
    given = np.random.default_rng(0).integers(0, 256, (B, 1, 9, 9), dtype=np.uint8)
    whole = Warp().views(given, KEYS)
    assert (whole.shape, whole.dtype) == (given.shape, np.uint8)
    np.testing.assert_array_equal(Warp().views(given[[40, 3]], KEYS[[40, 3]]), whole[[40, 3]])
    np.testing.assert_array_equal(Warp(rotation=0, stretch=0).views(given, KEYS), given)


@pytest.mark.parametrize("settings", [{"rotation": -1}, {"rotation": 181}, {"stretch": 1}, {"stretch": -0.1}])
def test_senseless_warps(settings: dict[str, float]) -> None:
    name, value = next(iter(settings.items()))
    with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
        Warp(**settings)
