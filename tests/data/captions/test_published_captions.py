"""Published photographs with captions, in their published layouts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from caption_files_by_hand import draw
from through_loaders import assert_every_item_once

from data.captions.caption_set import Wanted
from data.captions.captions import CaptionData
from data.captions.picture_captions import Picture
from data.captions.published_captions import Coco, Flickr8k, Flickr30k, PublishedCaptions
from data.text.vocabulary import Words


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def captions(splits: dict[str, list[Picture]]) -> dict[str, dict[str, list[str]]]:
    return {split: {picture.name: picture.captions for picture in some} for split, some in splits.items()}


SAID = {"train": {"a.jpg": ["A", "AA"]}, "val": {"b.jpg": ["B"]}, "test": {"c.jpg": ["C"]}}
TOKENS = "a.jpg#0\tA\na.jpg#1\tAA\nb.jpg#0\tB\nc.jpg#0\tC\nd.jpg.1#0\tno file\n"
KARPATHY = {
    "images": [
        {"split": split, "filename": name, "sentences": [{"raw": text} for text in texts]}
        for split, some in SAID.items()
        for name, texts in some.items()
    ]
}


@pytest.mark.parametrize("below", ["Flickr8k_text/", ""])
@pytest.mark.parametrize("karpathy", [False, True])
def test_flickr8k(tmp_path: Path, below: str, karpathy: bool) -> None:
    root = tmp_path / "flickr8k"
    (root / "Flicker8k_Dataset").mkdir(parents=True)
    if karpathy:
        write(root / "dataset_flickr8k.json", KARPATHY)
    else:
        write(root / f"{below}Flickr8k.token.txt", TOKENS)
        for split, name in (("train", "a"), ("dev", "b"), ("test", "c")):
            write(root / f"{below}Flickr_8k.{split}Images.txt", f"{name}.jpg\n")
    read = Flickr8k(data_dir=tmp_path).read()
    assert captions(read) == SAID
    assert read["val"][0].path == root / "Flicker8k_Dataset" / "b.jpg"


@pytest.mark.parametrize("karpathy", [False, True])
def test_flickr30k(tmp_path: Path, karpathy: bool) -> None:
    root = tmp_path / "flickr30k"
    (root / "flickr30k-images").mkdir(parents=True)
    if karpathy:
        write(root / "dataset_flickr30k.json", KARPATHY)
    else:
        write(root / "results_20130124.token", TOKENS)
        for split, name in (("train", "a"), ("val", "b"), ("test", "c")):
            write(root / f"{split}.txt", f"{name}\n")
    assert captions(Flickr30k(data_dir=tmp_path).read()) == SAID


def test_coco_by_karpathy(tmp_path: Path) -> None:
    root = tmp_path / "coco"
    for folder in ("train2014", "val2014"):
        (root / folder).mkdir(parents=True)
    images = [dict(image, filepath="val2014") for image in KARPATHY["images"]]
    write(root / "dataset_coco.json", {"images": images})
    read = Coco(data_dir=tmp_path).read()
    assert captions(read) == SAID
    assert read["train"][0].path == root / "val2014" / "a.jpg"


def test_coco_by_its_own_files(tmp_path: Path) -> None:
    root = tmp_path / "coco"
    for part, count in (("train", 4), ("val", 9)):
        (root / f"{part}2014").mkdir(parents=True)
        names = [f"COCO_{part}2014_{number:012}.jpg" for number in range(count)]
        content = {
            "images": [{"id": number, "file_name": name} for number, name in enumerate(names)],
            "annotations": [{"image_id": number, "caption": f"{part} {number}"} for number in range(count)],
        }
        write(root / "annotations" / f"captions_{part}2014.json", content)
    read = Coco(data_dir=tmp_path).read()
    assert {split: len(some) for split, some in read.items()} == {"train": 7, "val": 3, "test": 3}
    everything = [picture for some in read.values() for picture in some]
    assert len({picture.path for picture in everything}) == 13
    for picture in everything:
        part = picture.captions[0].split()[0]
        assert picture.path == root / f"{part}2014" / picture.name


def test_coco_needs_both_folders_of_pictures(tmp_path: Path) -> None:
    root = tmp_path / "coco"
    (root / "val2014").mkdir(parents=True)
    write(root / "dataset_coco.json", KARPATHY)
    with pytest.raises(FileNotFoundError, match="coco lacks the pictures' folder train2014\\. Get train2014"):
        Coco(data_dir=tmp_path).check_files()


def test_no_picture_is_in_two_splits(tmp_path: Path) -> None:
    root = tmp_path / "flickr30k"
    (root / "Images").mkdir(parents=True)
    write(root / "results_20130124.token", TOKENS)
    for split, names in (("train", "a"), ("val", "b\nc"), ("test", "c")):
        write(root / f"{split}.txt", f"{names}\n")
    with pytest.raises(ValueError, match="1 pictures are in val and in test, for example "):
        Flickr30k(data_dir=tmp_path).splits(Wanted(image_size=8, cache_dir=tmp_path, seed=1))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            Flickr8k,
            r"flickr8k lacks Flickr8k_text/Flickr8k\.token\.txt, .* or dataset_flickr8k\.json; and a folder",
        ),
        (Flickr30k, r"flickr30k lacks dataset_flickr30k\.json or .*flickr30k-images\.tar\.gz \(4\.4 GB\)"),
        (Coco, r"coco lacks dataset_coco\.json or .*Get train2014\.zip \(13 GB\)"),
    ],
)
def test_what_is_missing_is_named_with_its_source(
    tmp_path: Path, kind: type[PublishedCaptions], message: str
) -> None:
    for call in (kind(data_dir=tmp_path).check_files, kind(data_dir=tmp_path).read):
        with pytest.raises(FileNotFoundError, match=message):
            call()


def test_lists_that_do_not_fit(tmp_path: Path) -> None:
    root = tmp_path / "flickr30k"
    draw(root / "flickr30k-images" / "a.jpg", 0)
    write(root / "results_20130124.token", TOKENS)
    for split in ("train", "val", "test"):
        write(root / f"{split}.txt", "a\nunknown\n")
    with pytest.raises(
        ValueError, match=r"train\.txt lists unknown\.jpg, of which .*token says nothing \(1 such\)"
    ):
        Flickr30k(data_dir=tmp_path).read()
    write(root / "dataset_flickr30k.json", {"images": KARPATHY["images"][:1]})
    with pytest.raises(
        ValueError, match=r"dataset_flickr30k\.json: there are no captions of split val, test"
    ):
        Flickr30k(data_dir=tmp_path).read()


@pytest.mark.real_data
def test_the_real_flickr8k(tmp_path: Path) -> None:
    data = CaptionData(
        captions=Flickr8k(data_dir=os.environ["ZOO_DATA_DIR"]),
        tokenizer=Words(minimum_count=5),
        image_size=32,
        batch_size=256,
        maximum_length=25,
        seed=1,
        cache_dir=tmp_path,
    )
    data.prepare_data()
    data.setup()
    left_out = {"missing": 0, "broken": 0}
    assert all(0 < report.pop("unknown") < 0.1 for report in data.report.values())
    trained = data.report["train"]["captions"] - data.report["train"]["dropped"]
    assert (
        data.report["train"] | {"dropped": 0} == {"images": 6000, "captions": 30_000, "dropped": 0} | left_out
    )
    assert 29_700 < trained < 30_000
    for split in ("val", "test"):
        assert (
            data.report[split] | {"truncated": 0}
            == {"images": 1000, "captions": 5000, "truncated": 0} | left_out
        )
    assert_every_item_once(data, [trained, 1000, 1000])
    assert 2000 < data.spec.text("target").size < 3000
    batch = data.batch("test", range(8))
    assert batch.names[0] == "3385593926_d3e9c21170.jpg"
    assert batch.references[0][0] == "The dogs are in the snow in front of a fence ."
    assert batch.images is not None
    assert not torch.equal(batch.images[0], batch.images[1])
