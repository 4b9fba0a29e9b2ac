"""Pictures become what the model was trained with."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from zoo.image import as_float, read_image
from zoo.spec import DataSpec, ImageSpec

GREY = ImageSpec(channels=1, height=4, width=6, classes=("a", "b"))
COLOUR = ImageSpec(channels=3, height=4, width=6, classes=("a", "b"))


def written(path: Path, pixels: np.ndarray, mode: str | None = None) -> Path:
    Image.fromarray(pixels, mode).save(path)
    return path


def test_a_picture_of_the_right_size_and_colours_is_read_as_it_is(tmp_path: Path) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6) * 10
    read = read_image(written(tmp_path / "grey.png", pixels), GREY)
    assert read.dtype == torch.uint8
    assert read.tolist() == [pixels.tolist()]
    coloured = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    assert (
        read_image(written(tmp_path / "c.png", coloured), COLOUR).permute(1, 2, 0).tolist()
        == coloured.tolist()
    )


def test_colours_become_grey_and_grey_becomes_colours(tmp_path: Path) -> None:
    pixels = np.full((4, 6), 90, dtype=np.uint8)
    assert (read_image(written(tmp_path / "grey.png", pixels), COLOUR) == 90).all()
    coloured = np.zeros((4, 6, 3), dtype=np.uint8)
    coloured[..., 1] = 200
    (level,) = read_image(written(tmp_path / "green.png", coloured), GREY).unique().tolist()
    assert 100 < level < 130  # green is 0.587 of what an eye sees


def test_another_size_is_scaled_whole_and_undistorted_onto_black(tmp_path: Path) -> None:
    read = read_image(written(tmp_path / "tall.png", np.full((8, 4), 255, dtype=np.uint8)), GREY)
    assert read.shape == (1, 4, 6)
    assert (read[0, :, 2:4] == 255).all()
    assert read.float().sum() == 255 * 4 * 2


def test_a_picture_is_read_as_the_camera_was_held(tmp_path: Path) -> None:
    pixels, held = np.arange(24, dtype=np.uint8).reshape(6, 4), Image.Exif()
    held[0x0112] = 6  # turned by a quarter: the first row is the last column
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=held)
    assert read_image(tmp_path / "turned.png", GREY)[0].tolist() == np.rot90(pixels, -1).tolist()


def test_what_is_transparent_is_black(tmp_path: Path) -> None:
    pixels = np.full((4, 6, 4), 255, dtype=np.uint8)
    pixels[:, :3, 3] = 0
    read = read_image(written(tmp_path / "half.png", pixels), COLOUR)
    assert (read[..., :3] == 0).all()
    assert (read[..., 3:] == 255).all()


def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("no picture")
    whole = written(tmp_path / "whole.png", np.zeros((400, 600), dtype=np.uint8)).read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    for name in ("notes.png", "cut.png", "missing.png"):
        with pytest.raises(ValueError, match=name):
            read_image(tmp_path / name, GREY)


def test_white_is_one() -> None:
    assert as_float(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0, 0.2, 1])


def test_a_specification_with_images_survives_a_checkpoint() -> None:
    spec = DataSpec("digits", None, None, test_hash="t", vocabulary_hash="v", image=GREY)
    assert DataSpec.from_dict(spec.to_dict()) == spec
    text = DataSpec("dates", None, None, test_hash="t", vocabulary_hash="v")
    assert "image" not in text.to_dict()
    assert DataSpec.from_dict(text.to_dict()) == text
