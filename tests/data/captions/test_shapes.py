"""Generated scenes, and all that may be said of them."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from through_loaders import assert_every_item_once, shared
from tokenizers import Tokenizer

from data.captions.caption_set import Items, Wanted
from data.captions.captions import CaptionData
from data.captions.shapes import COLOURS, KINDS, RELATIONS, Scenes, Shapes
from data.core.batching import Part
from data.text.vocabulary import Words
from zoo.core.batch import Box
from zoo.tasks.captioning.batch import CaptionBatch

SIZES = {"train": 103, "val": 20, "test": 33}


def items(count: int = 60, *, size: int = 48, seed: int = 1, split: str = "val", epoch: int = 0) -> Items:
    made = Shapes(train=100, validation=100, test=100).splits(Wanted(size, Path("unused"), seed))
    return made[split].items(Part(epoch, np.arange(count)), pixels=True)


def things(truth: dict[str, Any]) -> dict[str, Box]:
    """The box of each thing in a scene, by its kind."""
    found: dict[str, Box] = {}
    for caption, boxes in truth.items():
        words = caption.split()
        assert len(words) == len(boxes)
        for first in (1, len(words) - 2):
            kind = " ".join(words[first : first + 2])
            assert kind in KINDS
            assert found.setdefault(kind, boxes[first]) == boxes[first] == boxes[first + 1]
        assert sum(box is not None for box in boxes) == 4
    return found


RULES: dict[str, Callable[[Box, Box], bool]] = {
    "left of": lambda one, other: one[2] <= other[0],
    "right of": lambda one, other: one[0] >= other[2],
    "above": lambda one, other: one[3] <= other[1],
    "below": lambda one, other: one[1] >= other[3],
}


@pytest.mark.parametrize("size", [24, 48, 64, 100])
def test_what_is_true_is_what_the_boxes_show(size: int) -> None:
    made = items(size=size)
    assert made.truths is not None
    assert tuple(RULES) == RELATIONS
    counts = set()
    for truth, references in zip(made.truths, made.references, strict=True):
        found = things(dict(truth.boxes))
        true = {
            f"a {one} {relation} a {other}"
            for one, other in permutations(found, 2)
            for relation, holds in RULES.items()
            if holds(found[one], found[other])
        }
        assert set(references) == set(truth.boxes) == true
        assert len(references) == len(set(references))
        counts.add(len(found))
        for left, top, right, bottom in found.values():
            assert 0 <= left < right <= 1
            assert 0 <= top < bottom <= 1
            assert 0.02 < (right - left) * (bottom - top) <= 0.1, "at most a tenth of the image"
    assert counts == {2, 3}


def test_the_boxes_hold_what_they_name_and_nothing_lies_outside() -> None:
    size = 64
    made = items(size=size)
    assert made.pixels is not None
    assert made.truths is not None
    for pixels, truth in zip(made.pixels, made.truths, strict=True):
        outside = np.ones((size, size), dtype=bool)
        for kind, box in things(dict(truth.boxes)).items():
            left, top, right, bottom = (round(edge * size) for edge in box)
            part = pixels[:, top:bottom, left:right].astype(int)
            colour, shape = kind.split()
            middle = part[:, part.shape[1] // 2, part.shape[2] // 2]
            true = np.array(COLOURS[colour])
            assert (abs(middle - true * middle.max() / true.max()) < 3).all()
            covered = (abs(part - middle[:, None, None]) == 0).all(axis=0)
            assert covered.any(axis=0).all(), "as wide as its box"
            assert covered.any(axis=1).all(), "as high as its box"
            share = {"square": (1, 1), "circle": (0.7, 0.9), "triangle": (0.4, 0.65), "cross": (0.4, 0.7)}[
                shape
            ]
            assert share[0] <= covered.mean() <= share[1], kind
            outside[top:bottom, left:right] = False
        assert len(np.unique(pixels[:, outside])) == 1


def test_what_is_learned_names_the_largest_first() -> None:
    made = items(split="train")
    assert made.truths is not None
    relations = set()
    for sentence, truth in zip(made.sentences, made.truths, strict=True):
        text = Scenes.sentences[sentence]
        boxes = truth.boxes[text]
        widths = sorted((box[2] - box[0] for box in things(dict(truth.boxes)).values()), reverse=True)
        assert len({round(48 * width) for width in widths}) == len(widths), "no two are of one size"
        first, second = boxes[1], boxes[-1]
        assert first is not None
        assert second is not None
        assert [first[2] - first[0], second[2] - second[0]] == pytest.approx(widths[:2])
        relations.add(next(relation for relation in RELATIONS if relation in text))
    assert relations == set(RELATIONS)


def test_a_scene_depends_on_its_key_alone() -> None:
    whole = items(60, split="train", epoch=3)
    made = Shapes(train=100).splits(Wanted(48, Path("unused"), 1))["train"]
    some = made.items(Part(3, np.array([41, 7])), pixels=True)
    assert whole.pixels is not None
    assert some.pixels is not None
    assert (some.pixels == whole.pixels[[41, 7]]).all()
    assert some.references == [whole.references[41], whole.references[7]]
    assert some.sentences.tolist() == whole.sentences[[41, 7]].tolist()
    assert some.names == ["train 41", "train 7"]


def test_only_scenes_to_train_on_depend_on_seed_and_epoch() -> None:
    first = items(split="train").references
    assert items(split="train", seed=2).references != first
    assert items(split="train", epoch=1).references != first
    assert items(seed=2).references == items().references != items(split="test").references


def test_the_pixels_never_change() -> None:
    made = Shapes(test=40).splits(Wanted(48, Path("unused"), 9))["test"]
    assert made.content_hash()[:16] == "b11eccffb8bb343d"


def module(**options: Any) -> CaptionData:
    settings: dict[str, Any] = {"image_size": 24, "batch_size": 10, "maximum_length": 12, "seed": 1}
    captions = Shapes(train=103, validation=20, test=33)
    made = CaptionData(captions=captions, tokenizer=Words(), cache_dir="unused", **settings | options)
    made.prepare_data()
    made.setup("fit")
    return made


def test_every_scene_once_also_where_processes_share_them() -> None:
    assert_every_item_once(module(num_workers=1), list(SIZES.values()))
    shared(module, 2, list(SIZES.values()))


def test_batches() -> None:
    data = module()
    target = data.spec.text("target")
    assert target.size == 4 + 16
    assert data.spec.image().height == 24
    batches: list[CaptionBatch] = list(data.train_dataloader())
    drawn = []
    for batch in batches:
        assert batch.images is not None
        assert (batch.images.dtype, batch.images.shape[1:]) == (torch.float32, (3, 24, 24))
        assert batch.truths is not None
        for ids, length, references in zip(*batch.captions, batch.references, strict=True):
            words = [word_of(target.tokenizer, i) for i in ids[1 : length - 1].tolist()]
            assert " ".join(words) in references
            drawn.append(references.index(" ".join(words)) / len(references))
    assert 0.3 < np.mean(drawn) < 0.6, "any of the true captions"
    assert data.report["train"] == {"images": 103, "dropped": 0, "unknown": 0}
    assert data.references("test") == [r for batch in data.test_dataloader()[0] for r in batch.references]


def word_of(tokenizer: str, token: int) -> str:
    return str(Tokenizer.from_str(tokenizer).id_to_token(token)).removeprefix("▁")


def test_senseless_settings() -> None:
    with pytest.raises(ValueError, match="validation must be at least 1, got 0"):
        Shapes(validation=0)
    with pytest.raises(ValueError, match="image_size must be at least 24, got 20"):
        module(image_size=20)
    with pytest.raises(
        ValueError, match=r"1152 of 2304 .* \(the longest of 9 tokens, data.maximum_length=8\)"
    ):
        module(maximum_length=8)
    with pytest.raises(ValueError, match="features must be null"):
        module(features=lambda: None)
