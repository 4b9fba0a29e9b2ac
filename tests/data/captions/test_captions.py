"""The data module of captioning."""

import errno
import json
import logging
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from caption_files_by_hand import SPLITS, draw, said_of, write_jsonl
from PIL import Image
from through_loaders import assert_every_item_once, shared, trained_on
from torch import Tensor, nn

import data.captions.captions
import data.captions.picture_files
from data.captions.caption_set import image_spec
from data.captions.captions import CaptionData, words_alone
from data.captions.image_captions import ImageCaptions
from data.captions.shapes import Shapes
from data.images.augmentation import Augmentation
from data.text.vocabulary import Words
from zoo.config.instantiate import instantiate
from zoo.core.image import as_float, read_image
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec
from zoo.runs.frozen import Config
from zoo.tasks.captioning.batch import CaptionBatch

CAPTIONS = sum(len(said_of(number)) for number in range(SPLITS["train"]))
COUNTS = [CAPTIONS, SPLITS["val"], SPLITS["test"]]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return write_jsonl(tmp_path)


Make = Callable[..., CaptionData]


@pytest.fixture
def module(files: dict[str, str], tmp_path: Path) -> Make:
    def make(*, skip_broken: bool = True, **options: Any) -> CaptionData:
        settings: dict[str, Any] = {
            "captions": ImageCaptions(**files, skip_broken=skip_broken),
            "tokenizer": Words(),
            "image_size": 16,
            "batch_size": 4,
            "maximum_length": 12,
            "seed": 1,
            "cache_dir": tmp_path / "cache",
        }
        return CaptionData(**settings | options)

    return make


@pytest.fixture
def ready(module: Make) -> Make:
    def make(**options: Any) -> CaptionData:
        made = module(**options)
        made.prepare_data()
        made.setup("fit")
        made.setup("test")
        return made

    return make


def epoch(data: CaptionData, number: int = 0) -> list[CaptionBatch]:
    loader = data.train_dataloader()
    loader.batches.set_epoch(number)
    return list(loader)


def by_index(batches: list[CaptionBatch]) -> Tensor:
    images = torch.cat([batch.images for batch in batches if batch.images is not None])
    return images[torch.cat([batch.index for batch in batches]).argsort()]


def test_training_items_are_pairs_and_evaluation_items_are_images(ready: Make, tmp_path: Path) -> None:
    data = ready()
    codec = TextCodec(data.spec.text("target"))
    seen = set()
    for batch in epoch(data):
        for name, ids, references, image in zip(
            batch.names,
            batch.captions.ids,
            batch.references,
            batch.images,
            strict=True,  # type: ignore[arg-type]
        ):
            assert ids[0] == 2
            assert references == said_of(int(name.rpartition(" ")[2].removesuffix(".png")))
            assert codec.decode(ids.tolist()) in map(words_alone, references)
            seen.add((name, codec.decode(ids.tolist())))
            pixels = read_image(tmp_path / name, data.spec.image())
            assert torch.equal(image, as_float(pixels))
    assert len(seen) == CAPTIONS
    (batch,) = list(ready(batch_size=9).val_dataloader())
    assert batch.names == [f"photos/val {number}.png" for number in range(4)]
    assert batch.references == [said_of(number) for number in range(4)]
    assert [codec.decode(ids.tolist()) for ids in batch.captions.ids] == [
        words_alone(said_of(number)[0]) for number in range(4)
    ]
    assert batch.images is not None
    assert (batch.images.dtype, batch.images.shape) == (torch.float32, (4, 3, 16, 16))
    assert (batch.features, batch.truths) == (None, None)
    for split in ("train", "test"):
        assert data.references(split) == [said_of(number) for number in range(SPLITS[split])]


def test_words_are_small_and_without_punctuation() -> None:
    assert (
        words_alone("A man , in a T-shirt , isn't  'here' -- \"now\" . É")
        == "a man in a t-shirt isn't here now é"
    )
    assert words_alone(" . ") == ""


@pytest.mark.parametrize("caption", ["कुत्ता दौड़ता है", "สุนัขวิ่ง", "الكَلْبُ", "i̇stanbul'da"])
def test_vowel_signs_and_accents_are_part_of_a_word(caption: str) -> None:
    assert words_alone(f"-{caption}, '!") == caption
    assert words_alone("İstanbul") == "i̇stanbul"


@pytest.mark.parametrize("workers", [0, 1])
def test_every_item_once(ready: Make, workers: int) -> None:
    assert_every_item_once(ready(num_workers=workers), COUNTS)


def test_processes_share_every_split_and_train_on_equally_many_batches(ready: Make) -> None:
    train, *_ = shared(lambda: ready(augmentation=Augmentation()), 3, COUNTS)
    alone = by_index(epoch(ready(augmentation=Augmentation(), batch_size=5)))
    assert torch.equal(by_index(train), alone), "a view does not depend on who makes it"


def test_views_differ_in_every_epoch_and_evaluation_has_none(ready: Make) -> None:
    plain, data = ready(), ready(augmentation=Augmentation())
    first, second, unvaried = (by_index(epoch(*one)) for one in ((data, 0), (data, 1), (plain, 0)))
    assert not torch.equal(first, second)
    assert not torch.equal(first, unvaried)
    assert torch.equal(by_index(epoch(data)), first)
    assert torch.equal(by_index(list(data.val_dataloader())), by_index(list(plain.val_dataloader())))
    whole = data.batch("train", range(len(unvaried))).images
    assert whole is not None
    assert torch.equal(whole, unvaried)


def test_captions_that_name_sides_are_never_mirrored(ready: Make) -> None:
    mirrored = Augmentation(smallest_crop=1)
    plain, data = by_index(epoch(ready())), ready(augmentation=mirrored)
    batch = data.batch("train", range(CAPTIONS))
    sided = torch.tensor([any("left" in caption for caption in said) for said in batch.references])
    turned = torch.zeros(CAPTIONS, dtype=torch.bool)
    for number in range(8):
        views = by_index(epoch(data, number))
        turned |= ((views - plain).abs() > 1e-3).flatten(1).any(1)
    assert torch.equal(turned, ~sided)


def test_sides_are_not_looked_for_where_nothing_is_mirrored(
    ready: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data.captions.captions, "_SIDES", None)
    epoch(ready(augmentation=Augmentation(mirror=False)))


@pytest.mark.parametrize("source", ["images", "features"])
def test_captions_of_an_image_can_be_in_one_batch_which_has_it_once(ready: Make, source: str) -> None:
    options: dict[str, Any] = {"features": Tiny} if source == "features" else {"augmentation": Augmentation()}
    data = ready(captions_together=True, batch_size=6, **options)
    first, second = epoch(data, 0), epoch(data, 1)
    names = [name for batch in first for name in batch.names]
    assert len(names) == CAPTIONS
    assert len([1 for one, next_ in pairwise(names) if one != next_]) == len(set(names)) - 1, "neighbours"
    assert names != [name for batch in second for name in batch.names]
    whole = ready(features=Tiny).batch("train", range(CAPTIONS)).features
    for batch in first:
        pictures = getattr(batch, source)
        assert batch.image_of is not None
        assert len(pictures) == len(set(batch.names))
        by_name = dict(zip(batch.names, batch.image_of.tolist(), strict=True))
        assert [by_name[name] for name in batch.names] == batch.image_of.tolist()
        assert len(set(by_name.values())) == len(by_name)
        if source == "features":
            assert torch.equal(pictures[batch.image_of], whole[batch.index])  # type: ignore[index]
    one, other = (torch.cat([getattr(batch, source) for batch in made]) for made in (first, epoch(data)))
    assert torch.equal(one, other)
    assert all(batch.image_of is None for batch in data.val_dataloader())
    assert_every_item_once(data, COUNTS)


def test_the_vocabulary_is_that_of_the_captions_to_train_on(ready: Make, files: dict[str, str]) -> None:
    before = ready().spec
    for split in ("val", "test"):
        path = Path(files[split])
        path.write_text(path.read_text("utf-8").replace("runs", "unheard"), "utf-8")
    after = ready().spec
    assert before.vocabulary_hash == after.vocabulary_hash
    assert "unheard" not in after.text("target").tokenizer
    assert before.test_hash != after.test_hash
    rare = ready(tokenizer=Words(minimum_count=6)).spec.text("target")
    assert rare.size < after.text("target").size


def test_unknown_words_are_counted(
    ready: Make, files: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    row = {"image": "photos/val 0.png", "captions": ["unheard of nonsense", "a dog"]}
    Path(files["val"]).write_text(json.dumps(row) + "\n", "utf-8")
    with caplog.at_level(logging.INFO):
        data = ready()
    assert [data.report[split]["unknown"] for split in ("train", "val")] == [0, 3 / 5]
    assert "split val: 60.00 % of the words of the captions are unknown" in caplog.text
    assert "split train: 0" not in caplog.text
    with pytest.raises(ValueError, match=r"Words\(.* finds no token .*: lower data\.tokenizer\.min"):
        ready(tokenizer=Words(minimum_count=1000))


def test_long_captions_are_not_trained_on_but_stay_references(
    ready: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        data = ready(maximum_length=5)  # three words are 4 tokens, seven with an apostrophe 9
    assert data.report["train"] == {
        "images": 13,
        "captions": CAPTIONS,
        "missing": 0,
        "broken": 0,
        "dropped": CAPTIONS - 26 + 2 * 2,
        "unknown": 0,
    }
    assert data.report["val"]["truncated"] == 2
    assert "captions are longer than data.maximum_length" in caplog.text
    assert all(batch.captions.lengths.max() <= 6 for batch in epoch(data))
    loaders = [data.val_dataloader(), *data.test_dataloader()]
    for batch in (batch for loader in loaders for batch in loader):
        assert batch.captions.lengths.max() <= 6
        assert all(ids[length - 1] == 3 for ids, length in zip(*batch.captions, strict=True))
    assert data.references("val") == [said_of(number) for number in range(4)]
    with pytest.raises(
        ValueError,
        match=r"none of 32 captions can be trained on: each is longer than data\.maximum_length or has no"
        r" word \(the longest of 10 tokens, data\.maximum_length=2\)",
    ):
        ready(maximum_length=2)


def test_the_specification(ready: Make, files: dict[str, str], tmp_path: Path) -> None:
    spec = ready().spec
    assert (spec.name, list(spec.fields)) == ("image_captions", ["image", "target"])
    assert spec.image().stretched
    assert DataSpec.from_dict(spec.to_dict()) == spec
    assert ready(seed=7, batch_size=3, augmentation=Augmentation()).spec == spec
    assert ready(spec=spec).spec == spec
    with pytest.raises(
        ValueError, match=r"other data; image: 3 x 16 x 16 pixels in the checkpoint, 3 x 20 x 20"
    ):
        ready(spec=spec, image_size=20)
    draw(tmp_path / "photos" / "test 3.png", 999)
    assert ready().spec.test_hash != spec.test_hash
    with pytest.raises(ValueError, match=r"other data; test split: "):
        ready(spec=spec)
    path = Path(files["train"])
    path.write_text(path.read_text("utf-8").replace("dog", "wolf"), "utf-8")
    given = ready(spec=ready().spec)
    assert "wolf" in given.spec.text("target").tokenizer


def test_pictures_are_decoded_once(ready: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first = by_index(epoch(ready()))
    with monkeypatch.context() as blind:
        blind.setattr(data.captions.picture_files, "read_image", None)
        assert torch.equal(by_index(epoch(ready(seed=2))), first)


def test_broken_and_missing_pictures_are_named_and_counted(
    ready: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    photos = tmp_path / "photos"
    whole = (photos / "train 3.png").read_bytes()
    (photos / "train 3.png").write_bytes(whole[: len(whole) // 2])
    (photos / "test 0.png").write_text("no picture")
    (photos / "val 1.png").unlink()
    for _ in range(2):  # the second time from the store
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            data = ready()
        assert {
            split: (one["images"], one["missing"], one["broken"]) for split, one in data.report.items()
        } == {"train": (12, 0, 1), "val": (3, 1, 0), "test": (4, 0, 1)}
        for name in ("train 3.png", "test 0.png", "val 1.png"):
            assert str(photos / name) in caplog.text
    assert_every_item_once(data, [CAPTIONS - 3, 3, 4])
    assert all("train 3" not in name for batch in epoch(data) for name in batch.names)
    with pytest.raises(ValueError, match=r"val 1\.png does not exist"):
        ready(skip_broken=False)
    draw(photos / "val 1.png", 5)
    with pytest.raises(ValueError, match=r"train 3\.png.*; .*test 0\.png is no picture"):
        ready(skip_broken=False)


def test_broken_pictures_are_named_where_they_lie_now(
    ready: Make, files: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "photos" / "test 0.png").write_text("no picture")
    ready()
    (tmp_path / "photos" / "test 0.png").rename(tmp_path / "photos" / "moved.png")
    path = Path(files["test"])
    path.write_text(path.read_text("utf-8").replace("test 0.png", "moved.png"), "utf-8")
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        ready()
    assert f"{tmp_path / 'photos' / 'moved.png'} is no picture" in caplog.text
    assert "test 0.png" not in caplog.text


def test_what_may_pass_is_not_remembered(ready: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def shaky(path: str, *arguments: Any, **options: Any) -> Any:
        if "train 3" in str(path):
            raise OSError(errno.EIO, "Input/output error")
        return real(path, *arguments, **options)

    real = Image.open
    with monkeypatch.context() as failing:
        failing.setattr(Image, "open", shaky)
        with pytest.raises(RuntimeError, match=r"train 3\.png cannot be read as a picture: .*Input/output"):
            ready()
    assert ready().report["train"]["broken"] == 0


def test_copies_in_another_split_are_named(
    ready: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        ready()
        assert "have copies" not in caplog.text
        shutil.copy(tmp_path / "photos" / "train 3.png", tmp_path / "photos" / "val 2.png")
        data = ready()
    assert (data.report["val"]["in_train"], data.report["test"]["in_val"]) == (1, 0)
    assert f"val have copies, 1 in train; for example {tmp_path / 'photos' / 'val 2.png'}" in caplog.text


class Tiny(nn.Module):
    """An encoder that says how often it was asked."""

    name = "tiny"
    feature_size = 2
    calls = 0

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([scale]))

    def identify(self) -> None:
        pass

    def load_published(self) -> None:
        pass

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        return height // 4, width // 4

    def forward(self, images: Tensor) -> Tensor:
        type(self).calls += 1
        return nn.functional.avg_pool2d(images, 4)[:, :2] * self.scale


def test_stored_features_take_the_place_of_images(ready: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ready(features=Tiny)
    plain = by_index(epoch(ready()))
    calls = Tiny.calls
    again = ready(features=Tiny, seed=2)
    assert Tiny.calls == calls
    for batch in (*epoch(again), *again.val_dataloader()):
        assert batch.images is None
    (batch,) = epoch(ready(features=Tiny, batch_size=100))
    assert batch.features is not None
    assert batch.features.dtype == torch.float32
    torch.testing.assert_close(batch.features, Tiny()(plain[batch.index]), atol=1e-3, rtol=0)
    shown = data.batch("train", [3, 0])
    assert shown.images is not None
    assert shown.features is not None
    assert torch.equal(shown.images, plain[[3, 0]])
    assert_every_item_once(data, COUNTS)
    with pytest.raises(ValueError, match="augmentation must be null where features are stored"):
        ready(features=Tiny, augmentation=Augmentation())


@pytest.mark.parametrize("captions", [None, Shapes(train=30, validation=5, test=5)])
@pytest.mark.filterwarnings(
    "ignore:.*does not have many workers",
    "ignore:The dirpath has changed",  # the resumed run must not write into the whole one's folder
)
def test_training_goes_on_with_the_very_next_batch(
    module: Make, tmp_path: Path, captions: Shapes | None
) -> None:
    options: dict[str, Any] = {"captions": captions} if captions else {"augmentation": Augmentation()}

    def fit(name: str, checkpoint: Path | None = None, workers: int = 0) -> list[Any]:
        def note(batch: CaptionBatch) -> tuple[list[int], list[int], float]:
            assert batch.images is not None
            places = torch.arange(batch.images[0].numel()).view_as(batch.images[0])
            return batch.index.tolist(), batch.captions.ids.tolist(), float((batch.images * places).sum())

        made = module(num_workers=workers, batch_size=6, image_size=24, **options)
        return trained_on(made, note, tmp_path / name, checkpoint, epochs=2, every_n_train_steps=1)

    whole = fit("whole")
    half = len(whole) // 2
    assert whole[:half] != whole[half:]
    for taken, workers in ((2, 0), (half, 0), (half + 2, 1)):
        assert fit(f"from{taken}", tmp_path / "whole" / f"{taken}.ckpt", workers) == whole[taken:]


def test_senseless_settings(module: Make) -> None:
    for name, value in (("batch_size", 0), ("image_size", 8), ("maximum_length", 1), ("seed", -1)):
        with pytest.raises(ValueError, match=rf"{name} must be at least \d+, got {value}"):
            module(**{name: value})
    for wrong, message in (({"image_size": 20}, "at least 24, got 20"), ({"features": Tiny}, "must be null")):
        with pytest.raises(ValueError, match=message):
            module(captions=Shapes(), **wrong)  # type: ignore[arg-type]


def test_a_picture_may_be_called_anything(files: dict[str, str], ready: Make, tmp_path: Path) -> None:
    draw(tmp_path / "~backup.png", 9)
    line = json.dumps({"image": "~backup.png", "captions": ["a copy"]})
    path = Path(files["val"])
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    assert ready().batch("val", [SPLITS["val"]]).names == ["~backup.png"]


def test_a_picture_of_several_names_is_one_with_all_captions(
    files: dict[str, str], ready: Make, tmp_path: Path
) -> None:
    (tmp_path / "linked.png").symlink_to(tmp_path / "photos" / "val 1.png")
    names = ["./photos/val 1.png", str(tmp_path / "photos" / "val 1.png"), "linked.png"]
    with Path(files["val"]).open("a", encoding="utf-8") as file:
        for number, name in enumerate(names):
            file.write(json.dumps({"image": name, "captions": [f"caption {number}"]}) + "\n")
    data = ready()
    assert data.report["val"]["images"] == SPLITS["val"]
    batch = data.batch("val", [1])
    assert batch.names == ["photos/val 1.png"]
    assert batch.references == [[*said_of(1), "caption 0", "caption 1", "caption 2"]]


@pytest.mark.parametrize("name", ["x" * 300 + ".png", "circle/a.png"], ids=["long", "circle"])
def test_a_path_that_leads_nowhere_is_a_missing_picture(
    files: dict[str, str], ready: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with Path(files["val"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"image": name, "captions": ["nowhere"]}) + "\n")
    assert ready().report["val"]["missing"] == 1
    assert name in caplog.text


@pytest.mark.parametrize("name", ["shapes", "flickr8k", "flickr30k", "coco", "image_captions"])
def test_the_configurations_are_built(
    configure: Callable[..., Config], files: dict[str, str], name: str, tmp_path: Path
) -> None:
    given = [f"data.captions.{split}={path}" for split, path in files.items()]
    given = given if name == "image_captions" else []
    config = configure(f"data={name}", f"paths.data_dir={tmp_path}", *given)
    made = instantiate(config["data"], "data")
    assert isinstance(made, CaptionData)
    assert made.captions.name == name
    assert made.placeholder()["image"] == image_spec(config["data"]["image_size"])
    if name.startswith(("flickr", "coco")):
        with pytest.raises(FileNotFoundError, match=f"{name} lacks .* Get .*http"):
            made.check_files()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"val": "nowhere.jsonl"}, "val must name a file; nowhere.jsonl does not exist"),
        ({"test": None}, "test must name a file of your captions, for example data.captions.train="),
    ],
)
def test_files_that_are_not_there(files: dict[str, str], change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImageCaptions(**files | change)


def test_no_picture_is_in_two_splits(ready: Make, files: dict[str, str]) -> None:
    row = {"image": "photos/train 2.png", "captions": ["again"]}
    with Path(files["test"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    with pytest.raises(ValueError, match=r"1 pictures are in train and in test, for example .*train 2\.png"):
        ready()


def test_a_picture_of_any_shape_fills_the_square(tmp_path: Path, ready: Make) -> None:
    draw(tmp_path / "photos" / "val 0.png", 3, size=(60, 20))
    images = ready().batch("val", [0]).images
    assert images is not None
    assert (np.asarray(images[0]).max(axis=(0, 2)) > 0).all(), "no black bars"
