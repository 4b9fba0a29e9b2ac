"""Anyone's own pictures."""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import data.images.image_folder
from data.images.image_folder import ImageFolder
from data.images.image_set import LabelledImages
from zoo.config.check import check
from zoo.core.problems import ConfigError


def draw(path: Path, seed: int = 0, *, size: tuple[int, int] = (6, 4), mode: str = "L") -> Path:
    """Writes a picture of `size` (width, height)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)
    return path


def tree(root: Path, *splits: str, count: int = 30, classes: tuple[str, ...] = ("cat", "dog")) -> Path:
    """Folders of pictures that all differ."""
    for number, split in enumerate(splits or ("",)):
        for label, name in enumerate(classes):
            for picture in range(count):
                seed = 10_000 * number + 1_000 * label + picture
                draw(root / split / name / f"{picture:03}.png", seed)
    return root


def load(root: Path, **options: Any) -> LabelledImages:
    return ImageFolder(path=str(root), **options).load()


def test_given_splits_are_taken_as_they_are(tmp_path: Path) -> None:
    loaded = load(tree(tmp_path, "train", "val", "test", count=3))
    assert loaded.classes == ("cat", "dog")
    for split, images in loaded.splits.items():
        assert images.labels.tolist() == [0, 0, 0, 1, 1, 1]
        assert images.images.shape == (6, 1, 4, 6)
        assert images.names[4] == "dog/001.png"
        with Image.open(tmp_path / split / "dog" / "001.png") as picture:
            assert (images.images[4, 0] == np.array(picture)).all()


@pytest.mark.parametrize("splits", [(), ("train",), ("train", "test")])
def test_what_is_not_given_is_held_out_by_content(tmp_path: Path, splits: tuple[str, ...]) -> None:
    root = tree(tmp_path / "one", *splits)
    loaded = load(root, held_out=0.2)
    given = len(splits) == 2
    sizes = {split: len(images) for split, images in loaded.splits.items()}
    assert sizes["train"] + sizes["val"] + (0 if given else sizes["test"]) == 60
    assert 4 <= sizes["val"] <= 20
    assert 4 <= sizes["test"] <= 20 or given
    everything = [image.tobytes() for images in loaded.splits.values() for image in images.images]
    assert len(set(everything)) == len(everything)

    folder = root / splits[0] if splits else root
    shutil.copy(folder / "cat" / "003.png", folder / "cat" / "a copy.png")
    (folder / "cat" / "000.png").rename(folder / "cat" / "zzz.png")
    again = load(root, held_out=0.2)
    for split, images in loaded.splits.items():
        same = {image.tobytes() for image in images.images}
        assert same == {image.tobytes() for image in again.splits[split].images}


def test_pictures_of_any_size_become_those_of_the_first_or_as_asked(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    draw(tmp_path / "train" / "dog" / "large.jpg", size=(40, 10))
    assert load(tmp_path).splits["train"].images.shape == (5, 1, 4, 6)
    assert load(tmp_path, height=9).splits["val"].images.shape == (4, 1, 9, 6)
    sized = ImageFolder(path=str(tmp_path), height=9, width=7)
    assert sized.size == (9, 7)
    assert sized.load().splits["test"].images.shape == (4, 1, 9, 7)
    assert ImageFolder(path=str(tmp_path)).size == (4, 6), "known before all are read"
    assert ImageFolder(path=str(tmp_path), width=7).size == (4, 7)
    for picture in tmp_path.rglob("*.*"):
        picture.write_text("no picture")
    assert ImageFolder(path=str(tmp_path)).size is None


def test_what_the_first_picture_sets_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    tree(tmp_path, "train", "val", "test", count=2)
    first = draw(tmp_path / "train" / "cat" / "000.png", size=(9, 8))
    load(tmp_path)
    said = f"grey, 8 x 9 pixels (height x width, taken from the first picture, {first}); 11 of 12 pictures"
    assert said in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO"]
    draw(first, size=(2, 2))
    load(tmp_path, height=24, width=24)
    assert "grey, 24 x 24 pixels (height x width); 12 of 12 pictures" in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    load(tmp_path)
    assert caplog.records[-1].levelname == "WARNING"
    assert caplog.messages[-1].endswith(": give data.images.height and data.images.width")


def test_the_check_reads_the_heads_of_pictures(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    ImageFolder(path=str(tmp_path)).check_files()
    (tmp_path / "val" / "dog" / "000.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"val/dog/000\.png is no picture"):
        ImageFolder(path=str(tmp_path)).check_files()


def test_one_coloured_picture_makes_all_coloured(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    draw(tmp_path / "test" / "dog" / "red.png", mode="RGB")
    assert load(tmp_path).splits["train"].images.shape == (4, 3, 4, 6)


def test_grey_of_sixteen_bits_is_grey_in_either_order_of_bytes(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    for order, mode in {"<": "I;16", ">": "I;16B"}.items():
        deep = np.full((4, 6), 40_000, dtype=f"{order}u2")
        Image.frombytes(mode, (6, 4), deep.tobytes()).save(tmp_path / "train" / "cat" / f"{mode[2:]}.tiff")
    assert load(tmp_path).splits["train"].images.shape == (6, 1, 4, 6)


def test_a_first_picture_that_lies_on_its_side(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("L", (9, 5)).save(tmp_path / "train" / "cat" / "000.jpg", exif=exif)
    assert load(tmp_path).splits["train"].images.shape == (5, 1, 9, 5)


def test_a_first_picture_whose_orientation_is_a_text(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "train" / "cat" / "000.jpg"
    Image.new("L", (9, 5)).save(path, exif=exif)
    path.write_bytes(path.read_bytes().replace(b"\x01\x12\0\3", b"\x01\x12\0\2"))
    assert load(tmp_path).splits["train"].images.shape == (5, 1, 5, 9), "it turns nothing"


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    (tmp_path / "train" / ".DS_Store").write_text("")
    (tmp_path / "train" / "cat" / "._000.png").write_text("")
    assert len(load(tmp_path).splits["train"]) == 4


def test_a_bar_is_shown_when_it_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree(tmp_path, "train", "val", "test", count=2)
    monkeypatch.setattr(data.images.image_folder, "_SLOW", 4)
    load(tmp_path)
    assert capsys.readouterr().err == "", "no terminal"
    monkeypatch.setenv("FORCE_COLOR", "1")
    load(tmp_path)
    captured = capsys.readouterr()
    assert "reading train" in captured.err
    assert captured.out == ""


def lone(root: Path) -> None:
    shutil.rmtree(root / "train" / "dog")


def empty(root: Path) -> None:
    shutil.rmtree(root / "train" / "dog")
    (root / "train" / "dog").mkdir()


def bare(root: Path) -> None:
    shutil.rmtree(root / "train")
    (root / "train").mkdir()


def stray(root: Path) -> None:
    (root / "train" / "notes.txt").write_text("")


def other(root: Path) -> None:
    (root / "val" / "dog").rename(root / "val" / "wolf")


def nested(root: Path) -> None:
    draw(root / "train" / "cat" / "tabby" / "1.png")


def misnamed(root: Path) -> None:
    (root / "val").rename(root / "valid")


def untrained(root: Path) -> None:
    (root / "train").rename(root / "extra")


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lone, r"train must have a folder for each of two classes or more, has only cat"),
        (bare, r"train must have a folder for each of two classes or more, has none"),
        (empty, r"train/dog holds no picture"),
        (stray, r"train/notes\.txt is no folder of a class"),
        (nested, r"train/cat/tabby is a folder, but what lies in .*train/cat must be its pictures$"),
        (untrained, r"path must hold train/ where it holds val/ or test/; .* has extra, test, val: put "),
        (misnamed, r"beside train and test, .* has valid: call what is to validate on val, what is to be"),
        (other, r"val lacks the classes dog of .*train; .*val has wolf, which .*train lacks"),
    ],
)
def test_folders_that_cannot_be_used_are_named_before_anything_is_read(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(tree(tmp_path, "train", "val", "test", count=2))
    with pytest.raises(ValueError, match=message):
        ImageFolder(path=str(tmp_path))


@pytest.mark.hostile("own data")
def test_pictures_that_cannot_be_read_are_named_all_at_once(tmp_path: Path) -> None:
    tree(tmp_path, "train", "val", "test", count=4)
    for number in range(4):
        (tmp_path / "train" / "cat" / f"{number:03}.png").write_text("no picture")
    whole = (tmp_path / "train" / "dog" / "003.png").read_bytes()
    for name in ("002.png", "003.png"):
        (tmp_path / "train" / "dog" / name).write_bytes(whole[:60])
    with pytest.raises(ValueError, match=r"cat/000\.png is no picture.*cat/003.*; and 1 more$"):
        load(tmp_path)


@pytest.mark.hostile("no file")
@pytest.mark.parametrize("name", ["000.png", "zzz.png"])
def test_a_pipe_among_pictures_is_named_and_not_waited_for(tmp_path: Path, name: str) -> None:
    tree(tmp_path, "train", "val", "test", count=4)
    (tmp_path / "train" / "cat" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "train" / "cat" / name)
    with pytest.raises(ValueError, match=rf"cat/{name} is a named pipe, where a regular file is needed"):
        load(tmp_path)


def test_pictures_that_no_memory_holds(tmp_path: Path) -> None:
    root = tree(tmp_path, "train", "val", "test", count=2)
    with pytest.raises(ValueError, match=r"12 pictures, each of 1000000 x 2000000 pixels, need 24,000 GB"):
        load(root, height=1_000_000, width=2_000_000)


def test_too_few_to_hold_some_out(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"of 4 pictures a share of 0\.01 leaves none for val: give .* val/"):
        load(tree(tmp_path / "few", count=2), held_out=0.01)
    rare = tree(tmp_path / "rare", count=40)
    shutil.rmtree(rare / "dog")
    picture = rare / "dog" / "lonely.png"
    for seed in range(100):
        draw(picture, seed)
        if ImageFolder(path=str(rare))._places()[-1] < 0.2:
            break
    with pytest.raises(ValueError, match=r"no picture to train on is left of dog"):
        load(rare)


def test_the_check_finds_a_missing_folder(
    tmp_path: Path, configure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path / "pictures", count=2)
    monkeypatch.chdir(tmp_path)
    for override, message in (
        (
            "data.images.path=picture",
            rf"{tmp_path}/picture does not exist \(did you mean {tmp_path}/pictures\?",
        ),
        ("data.images.path=pictures/cat/000.png", r"000\.png is no folder"),
        ("data.images.path=.", r"data\.images: .*pictures/cat is a folder, but what lies in .*/pictures m"),
        ("data.images.path=null", r"data\.images\.path: must name the folder of your pictures"),
    ):
        with pytest.raises(ConfigError, match=message):
            check(configure("model=ram", "data=image_folder", "data.images.path=pictures", override))


def test_the_check_knows_the_size_of_the_pictures(tmp_path: Path, configure: Callable[..., Any]) -> None:
    line = ["model=convolutional", "data=image_folder", f"data.images.path={tree(tmp_path, count=1)}"]
    with pytest.raises(ConfigError, match=r"model\.filter_size: must fit into the image of 4 x 6, got 10"):
        check(configure(*line))
    check(configure(*line, "data.images.height=10", "data.images.width=20"))


def test_senseless_settings(tmp_path: Path) -> None:
    path = str(tree(tmp_path, count=1))
    for options, message in (
        ({"height": 0}, "height must be at least 1, got 0"),
        ({"width": -1}, "width must be at least 1, got -1"),
        ({"held_out": 0.5}, r"held_out must be above 0 and at most 0\.4, got 0\.5"),
        ({"path": f"{path}/cat/000.png"}, r"path must name a folder; .*000\.png is no folder"),
    ):
        with pytest.raises(ValueError, match=message):
            ImageFolder(**{"path": path, **options})


def test_a_relative_folder_stays_what_it_was_when_typed(
    tmp_path: Path, configure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    images = configure("data=image_folder", "data.images.path=a/../pictures")["data"]["images"]
    assert images["path"] == f"{tmp_path}/pictures"
