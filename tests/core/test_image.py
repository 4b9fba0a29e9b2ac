"""Pictures become what the model was trained with."""

import os
import struct
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from zoo.core.image import as_float, read_for_drawing, read_image
from zoo.core.spec import ImageSpec

GREY = ImageSpec(channels=1, height=4, width=6)
COLOUR = ImageSpec(channels=3, height=4, width=6)


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


@pytest.mark.parametrize("size", [(500, 1), (1, 500), (59, 1)])
def test_something_is_left_of_the_thinnest_picture(size: tuple[int, int], tmp_path: Path) -> None:
    Image.new("L", size, "white").save(tmp_path / "line.png")
    for spec in (GREY, replace(GREY, placed=True)):
        read = read_image(tmp_path / "line.png", spec)[0]
        assert (read == 255).sum() == (6 if size[0] > 1 else 4), "one line from edge to edge"


def test_colours_by_lightness_become_grey(tmp_path: Path) -> None:
    Image.new("LAB", (6, 4), (255, 128, 128)).save(tmp_path / "white.tiff")
    for spec in (GREY, COLOUR):
        assert (read_image(tmp_path / "white.tiff", spec) >= 250).all()


def test_a_picture_is_read_as_the_camera_was_held(tmp_path: Path) -> None:
    pixels, held = np.arange(24, dtype=np.uint8).reshape(6, 4), Image.Exif()
    held[0x0112] = 6  # turned by a quarter: the first row is the last column
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=held)
    assert read_image(tmp_path / "turned.png", GREY)[0].tolist() == np.rot90(pixels, -1).tolist()


def test_damaged_tags_do_not_hide_a_picture(tmp_path: Path) -> None:
    pixels, held = np.arange(24, dtype=np.uint8).reshape(6, 4), Image.Exif()
    held[0x0112], held[292] = 6, 65
    number, text = (struct.pack(">HHI", 292, kind, 1) for kind in (4, 2))
    assert number in held.tobytes()
    damaged = held.tobytes().replace(number, text)  # Pillow reads that, but could not write it
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=damaged)
    assert read_image(tmp_path / "turned.png", GREY)[0].tolist() == np.rot90(pixels, -1).tolist()


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("ending", ["png", "jpg", "tiff"])
def test_every_orientation_is_that_of_pillow(tmp_path: Path, orientation: int, ending: str) -> None:
    held = Image.Exif()
    held[0x0112] = orientation
    path = tmp_path / f"a.{ending}"
    Image.fromarray(np.arange(24, dtype=np.uint8).reshape(4, 6) * 9).save(path, exif=held)
    with Image.open(path) as file:
        upright = np.asarray(ImageOps.exif_transpose(file))
    spec = replace(GREY, height=upright.shape[0], width=upright.shape[1])
    assert read_image(path, spec)[0].tolist() == upright.tolist()


def test_whatever_a_reader_fails_with_names_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.png", np.zeros((4, 6), dtype=np.uint8))
    monkeypatch.setattr(Image.Image, "getexif", MagicMock(side_effect=struct.error("not an integer")))
    with pytest.raises(ValueError, match=r"a\.png cannot be read as a picture: not an integer"):
        read_image(path, GREY)


def test_a_smaller_picture_is_placed_as_it_is_where_a_model_was_shown_such(tmp_path: Path) -> None:
    placed = replace(GREY, placed=True)
    small = np.arange(6, dtype=np.uint8).reshape(3, 2) + 7
    read = read_image(written(tmp_path / "small.png", small), placed)
    assert read[0, :3, 2:4].tolist() == small.tolist()
    assert read.sum() == small.sum()
    for shape in ((8, 4), (2, 12)):  # what does not fit is scaled all the same
        path = written(tmp_path / "large.png", np.full(shape, 255, dtype=np.uint8))
        assert torch.equal(read_image(path, placed), read_image(path, GREY))


def test_what_is_transparent_is_black(tmp_path: Path) -> None:
    pixels = np.full((4, 6, 4), 255, dtype=np.uint8)
    pixels[:, :3, 3] = 0
    read = read_image(written(tmp_path / "half.png", pixels), COLOUR)
    assert (read[..., :3] == 0).all()
    assert (read[..., 3:] == 255).all()


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    levels = np.array([[0, 1, 254, 255]], dtype=np.uint16).repeat(4, 0) * 257
    spec = ImageSpec(channels=1, height=4, width=4)
    for name in ("deep.png", "deep.tif"):
        written(tmp_path / name, levels)
        assert read_image(tmp_path / name, spec)[0, 0].tolist() == [0, 1, 254, 255]
        assert read_image(tmp_path / name, COLOUR).shape == (3, 4, 6)
    (tmp_path / "deep.pgm").write_bytes(b"P5 4 4 65535\n" + levels.astype(">u2").tobytes())
    assert read_image(tmp_path / "deep.pgm", spec)[0, 0].tolist() == [0, 1, 254, 255]
    Image.fromarray(levels).save(tmp_path / "clear.png", transparency=65535)
    assert read_image(tmp_path / "clear.png", spec)[0, 0].tolist() == [0, 1, 254, 0]


@pytest.mark.parametrize("mode", ["CMYK", "P", "LA", "1", "YCbCr", "RGBA"])
def test_modes_of_files_become_the_same_colours(tmp_path: Path, mode: str) -> None:
    white = Image.new("RGB", (6, 4), "white")
    path = tmp_path / ("a.jpg" if mode in ("CMYK", "YCbCr") else "a.png")
    white.convert(mode).save(path)
    with Image.open(path) as file:
        assert file.mode == mode or mode == "YCbCr", "which JPEG turns into RGB by itself"
    for spec in (GREY, COLOUR):
        assert (read_image(path, spec) >= 254).all()


def test_a_decoder_that_gives_up_is_said_with_the_file_s_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow's decoder of AVIF raises a RuntimeError where a file is cut."""
    path = written(tmp_path / "a.png", np.zeros((4, 6), dtype=np.uint8))
    monkeypatch.setattr(Image.Image, "load", MagicMock(side_effect=RuntimeError("Invalid image")))
    with pytest.raises(ValueError, match=r"a\.png cannot be read as a picture: Invalid image"):
        read_image(path, GREY)


def test_a_photo_is_turned_as_it_was_held(tmp_path: Path) -> None:
    lying = Image.new("RGB", (4, 6))
    lying.paste("white", (0, 0, 4, 3))  # the sensor's upper half, which the camera held to the right
    exif = Image.Exif()
    exif[0x0112] = 6
    lying.save(tmp_path / "a.jpg", exif=exif, quality=100, subsampling=0)
    read = read_image(tmp_path / "a.jpg", COLOUR)
    assert (read[..., 3:] > 250).all()
    assert (read[..., :3] < 5).all()


def test_a_drawing_shows_in_its_own_shape_what_a_model_sees_stretched(tmp_path: Path) -> None:
    photo = Image.new("RGB", (100, 300))
    photo.paste("white", (50, 0, 100, 150))  # the upper right quarter
    photo.save(tmp_path / "a.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    photo.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "turned.png", exif=exif)
    stretched = ImageSpec(channels=3, height=4, width=6, stretched=True)
    for name in ("a.png", "turned.png"):
        drawn = read_for_drawing(tmp_path / name, stretched, longer_side=60)
        assert drawn.shape == (3, 60, 20)
        for pixels in (drawn, read_image(tmp_path / name, stretched)):
            height, width = pixels.shape[1:]
            assert pixels.float().mean() == pytest.approx(255 / 4, rel=0.05)
            assert (pixels[:, : height // 3, -width // 3 :] > 250).all(), "at the same place"
        seen = read_for_drawing(tmp_path / name, COLOUR)
        assert (seen == read_image(tmp_path / name, COLOUR)).all(), "else as a model sees it"


@pytest.mark.hostile("own data")
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_pixels_of_no_known_range_are_refused(tmp_path: Path, dtype: type) -> None:
    written(tmp_path / "a.tif", np.full((4, 6), 200, dtype=dtype))
    with pytest.raises(ValueError, match=r"a\.tif cannot be read as a picture: its pixels are numbers of 32"):
        read_image(tmp_path / "a.tif", GREY)


@pytest.mark.parametrize(("held", "kind"), [(9, 3), (90, 3), (6, 2)], ids=["9", "90", "text"])
def test_an_orientation_that_means_nothing_turns_nothing(tmp_path: Path, held: int, kind: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = held
    Image.new("RGB", (60, 30)).save(tmp_path / "a.jpg", exif=exif)
    bytes_ = (tmp_path / "a.jpg").read_bytes()
    assert b"\x01\x12\0\3" in bytes_
    (tmp_path / "a.jpg").write_bytes(bytes_.replace(b"\x01\x12\0\3", bytes([1, 0x12, 0, kind])))
    drawn = read_for_drawing(tmp_path / "a.jpg", replace(COLOUR, stretched=True))
    assert drawn.shape == (3, 200, 400)


def test_a_drawing_of_a_picture_that_is_turned_when_it_is_opened(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 30)).save(tmp_path / "a.tif", exif=exif)
    assert read_for_drawing(tmp_path / "a.tif", replace(COLOUR, stretched=True)).shape == (3, 400, 200)


@pytest.mark.hostile("own data")
def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("no picture")
    whole = written(tmp_path / "whole.png", np.zeros((400, 600), dtype=np.uint8)).read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    for name in ("notes.png", "cut.png", "missing.png"):
        for read in (read_image, read_for_drawing):
            with pytest.raises(ValueError, match=name):
                read(tmp_path / name, replace(GREY, stretched=True))


def test_a_picture_may_be_as_large_as_a_phone_makes_it_and_no_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Image.MAX_IMAGE_PIXELS == 250_000_000, "of twice as many Pillow refuses a picture"
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)
    Image.new("L", (1500, 1500)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"a\.png has more than 2 million pixels: scale it down"):
        read_image(tmp_path / "a.png", GREY)


def test_white_is_one() -> None:
    assert as_float(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0, 0.2, 1])


@pytest.mark.hostile("no file")
def test_a_pipe_is_no_picture_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"a\.png is a named pipe, where a regular file is needed"):
        read_image(tmp_path / "a.png", ImageSpec(1, 8, 8))
