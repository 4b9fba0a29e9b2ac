"""The image data module."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from through_loaders import assert_every_item_once, loaders, shared, trained_on
from torch import Tensor

from data.images.augmentation import Warp
from data.images.canvas import Cluttered, Translated
from data.images.image_set import ImageSet, LabelledImages, Split, numbered
from data.images.images import ImageData
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.tasks.recognition.batch import ImageBatch

SIZES = {"train": 103, "val": 20, "test": 33}


@dataclass(kw_only=True)
class Noise(ImageSet):
    """Images that all differ."""

    name = "noise"
    size = (6, 5)
    changed: int = 0
    classes: tuple[str, ...] = ("a", "b", "c")

    def load(self) -> LabelledImages:
        generator = np.random.default_rng(0)
        splits = {}
        for split, count in SIZES.items():
            images = generator.integers(1, 255, (count, 1, *self.size), dtype=np.uint8)
            splits[split] = Split(images, np.arange(count) % 4 % 3, numbered(split, count))
        splits["test"].images[17, 0, 2, 3] += self.changed
        return LabelledImages(self.classes, splits)


def module(images: ImageSet | None = None, **options: Any) -> ImageData:
    defaults: dict[str, Any] = {"canvas": Translated(size=9), "batch_size": 10, "seed": 1}
    return ImageData(images=images or Noise(), **defaults | options)


def ready(images: ImageSet | None = None, **options: Any) -> ImageData:
    made = module(images, **options)
    made.prepare_data()
    made.setup("fit")
    made.setup("test")
    return made


def epochs(data: ImageData, count: int = 1) -> list[ImageBatch]:
    loader = data.train_dataloader()
    seen = []
    for epoch in range(count):
        loader.batches.set_epoch(epoch)
        seen += list(loader)
    return seen


def by_index(batches: list[ImageBatch]) -> Tensor:
    """All images of an epoch, in the order of the split."""
    images, index = (torch.cat([batch[part] for batch in batches]) for part in (1, 0))
    return images[index.argsort()]


def test_batches_hold_the_images_with_their_labels_and_names() -> None:
    data, split = ready(canvas=None), Noise().load().splits["train"]
    batches = epochs(data)
    assert [len(batch.index) for batch in batches] == [10] * 10 + [3]
    for batch in batches:
        rows = batch.index.numpy()
        assert (batch.images.dtype, batch.labels.dtype) == (torch.float32, torch.int64)
        assert torch.equal(batch.images, torch.from_numpy(split.images[rows]) / 255)
        assert batch.labels.tolist() == split.labels[rows].tolist()
        assert batch.names == [f"train {row}" for row in rows]
    assert all(type(name) is str for name in batches[0].names)


@pytest.mark.parametrize("workers", [0, 1])
def test_every_image_once(workers: int) -> None:
    assert_every_item_once(ready(num_workers=workers), list(SIZES.values()))


@pytest.mark.parametrize("replicas", [2, 3])
def test_processes_share_every_split_and_train_on_equally_many_batches(replicas: int) -> None:
    train, *_ = shared(ready, replicas, list(SIZES.values()))
    alone, together = by_index(epochs(ready())), by_index(train)
    assert torch.equal(alone, together), "an image does not depend on who places it"


@pytest.mark.parametrize("canvas", [Translated(size=9), Cluttered(size=9, pieces=2, piece_size=3)])
def test_training_images_are_placed_anew_in_every_epoch_others_never(canvas: Translated) -> None:
    data = ready(canvas=canvas)
    batches = epochs(data, 2)
    half = len(batches) // 2
    first, second = by_index(batches[:half]), by_index(batches[half:])
    assert (first != second).flatten(1).any(dim=1).float().mean() > 0.8
    assert torch.equal(by_index(epochs(ready(canvas=canvas, batch_size=7, num_workers=1))), first)
    assert not torch.equal(by_index(epochs(ready(canvas=canvas, seed=2))), first)
    for one, other in (
        (data.val_dataloader(), ready(canvas=canvas, seed=2, batch_size=7).val_dataloader()),
        (data.test_dataloader()[0], ready(canvas=canvas, seed=3).test_dataloader()[0]),
    ):
        assert torch.equal(by_index(list(one)), by_index(list(other)))
        one.batches.set_epoch(5)
        assert torch.equal(by_index(list(one)), by_index(list(other)))


def test_splits_are_placed_differently() -> None:
    data = ready(Same(), canvas=Translated(size=40))
    val, test = (by_index(list(loader)) for loader in (data.val_dataloader(), data.test_dataloader()[0]))
    assert not torch.equal(val, test[: len(val)])


class Same(Noise):
    """One image, again and again."""

    def load(self) -> LabelledImages:
        loaded = super().load()
        for split in loaded.splits.values():
            split.images[:] = 9
        return loaded


def test_the_specification_says_what_a_model_sees() -> None:
    spec = ready().spec
    assert spec.name == "translated_noise"
    assert spec.fields == {
        "image": ImageSpec(1, 9, 9, placed=True),  # on something larger
        "label": LabelSpec(("a", "b", "c")),
    }
    assert DataSpec.from_dict(spec.to_dict()) == spec
    plain = ready(canvas=None).spec
    assert (plain.name, plain.image()) == ("noise", ImageSpec(1, 6, 5))


def test_the_hashes_follow_pixels_canvas_and_classes() -> None:
    spec = ready().spec
    assert ready(seed=7, batch_size=3).spec == spec
    others = [
        ready(Noise(changed=1)).spec,
        ready(canvas=None).spec,
        ready(canvas=Translated(size=10)).spec,
        ready(canvas=Cluttered(size=9, piece_size=2)).spec,
    ]
    assert len({spec.test_hash, *(other.test_hash for other in others)}) == 5
    assert {spec.vocabulary_hash} == {other.vocabulary_hash for other in others}
    assert ready(Noise(classes=("a", "b", "d"))).spec.vocabulary_hash != spec.vocabulary_hash


def test_baselines_and_report() -> None:
    data = ready()
    assert data.test_splits == ["test"]
    assert data.baselines == {"test": {"majority_error": pytest.approx(1 - 17 / 33)}}  # a b c a, a b c a, ...
    assert {split: counted["images"] for split, counted in data.report.items()} == SIZES
    assert data.report["test"] == {"images": SIZES["test"], "in_train": 0, "in_val": 0}


def test_images_of_another_split_are_counted_and_said(caplog: pytest.LogCaptureFixture) -> None:
    class Leaky(Noise):
        def load(self) -> LabelledImages:
            loaded = super().load()
            loaded.splits["test"].images[2:5] = loaded.splits["train"].images[3:6]
            return loaded

    data = ready(Leaky())
    assert (data.report["test"]["in_train"], data.report["test"]["in_val"]) == (3, 0)
    assert data.report["val"] == {"images": SIZES["val"], "in_train": 0}
    (said,) = (record.getMessage() for record in caplog.records if "copies" in record.message)
    assert "of split test have copies, 3 in train; for example" in said


def test_a_checkpoint_of_other_data_is_refused() -> None:
    spec = ready().spec
    assert ready(spec=spec).spec == spec
    with pytest.raises(ValueError, match=r"other data; test split: "):
        ready(Noise(changed=1), spec=spec)
    with pytest.raises(ValueError, match=r"other data; classes: "):
        ready(Noise(classes=("a", "b", "d")), spec=spec)
    with pytest.raises(
        ValueError,
        match=r"name: translated_noise in the checkpoint, noise in the data;"
        r" image: 1 x 9 x 9 pixels in the checkpoint, 1 x 6 x 5 pixels in the data; test split",
    ):
        ready(canvas=None, spec=spec)


def test_images_and_a_batch_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = (sum(SIZES.values()) + 4 * 100) * 6 * 5
    monkeypatch.setattr("data.images.images.machine_memory", lambda: needed)
    ready(canvas=None, batch_size=100)
    monkeypatch.setattr("data.images.images.machine_memory", lambda: needed - 1)
    with pytest.raises(ValueError, match=r"6 x 5 pixels and a batch of 100 need .*data\.batch_size"):
        ready(canvas=None, batch_size=100)


def test_senseless_settings() -> None:
    for name, value in (("batch_size", 0), ("seed", -1), ("num_workers", -1), ("worker_timeout", -1)):
        with pytest.raises(ValueError, match=rf"{name} must be at least \d, got {value}"):
            module(**{name: value})
    with pytest.raises(ValueError, match="size must be at least 6, got 5"):
        module(canvas=Translated(size=5))

    with pytest.raises(ValueError, match=r"300000 x 300000 pixels, which needs 90,000 GB for the 1,000"):
        module(canvas=Translated(size=300_000))

    class Unknown(Noise):
        size = None  # type: ignore[assignment]

        def load(self) -> LabelledImages:
            return Noise().load()

    with pytest.raises(ValueError, match="size must be at least 6, got 5"):
        ready(Unknown(), canvas=Translated(size=5))
    with pytest.raises(RuntimeError, match=r"setup\(\)"):
        _ = module().spec


def test_loading_leaves_global_random_numbers_alone() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # type: ignore[index]
    data = ready()
    for loader in loaders(data):
        list(loader)
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]  # type: ignore[index]
    assert torch.equal(torch.get_rng_state(), before[2])


@pytest.mark.filterwarnings(
    "ignore:.*does not have many workers",
    "ignore:The dirpath has changed",  # the resumed run must not write into the whole one's folder
)
def test_training_goes_on_with_the_very_next_batch_placed_as_before(tmp_path: Path) -> None:
    def fit(name: str, checkpoint: Path | None = None, workers: int = 0) -> list[Any]:
        def note(batch: ImageBatch) -> tuple[list[int], float]:
            return batch.index.tolist(), float((batch.images * torch.arange(81).view(9, 9)).sum())

        data = module(num_workers=workers)
        return trained_on(data, note, tmp_path / name, checkpoint, epochs=2, every_n_train_steps=1)

    whole = fit("whole")
    assert len(whole) == 22
    for taken, workers in ((3, 0), (11, 0), (15, 1)):
        assert fit(f"from{taken}", tmp_path / "whole" / f"{taken}.ckpt", workers) == whole[taken:]


def test_a_batch_is_moved_only_where_it_is_not() -> None:
    data = ready()
    given = epochs(data)[0]
    assert data.transfer_batch_to_device(given, torch.device("cpu"), 0) is given
    moved = data.transfer_batch_to_device(given, torch.device("meta"), 0)
    assert moved.images.is_meta
    assert moved.names == given.names


@pytest.mark.parametrize("canvas", [None, Translated(size=9)])
@pytest.mark.parametrize("change", [{"shift": 1}, {"warp": Warp(rotation=90)}], ids=["shifted", "warped"])
def test_training_images_are_moved_anew_in_each_epoch_and_no_others(
    change: dict[str, Any], canvas: Translated | None
) -> None:
    still, moved = (ready(canvas=canvas, **settings) for settings in ({}, change))
    first, second = (by_index(batches) for batches in (epochs(moved), epochs(moved, 2)[11:]))
    original = by_index(epochs(still))
    for one, other in ((first, original), (second, original), (first, second)):
        assert 0.7 < (one != other).flatten(1).any(1).double().mean() <= 1
    other_batches = ready(canvas=canvas, **change, batch_size=7)
    assert torch.equal(by_index(epochs(other_batches)), first)
    assert not torch.equal(by_index(epochs(ready(canvas=canvas, **change, seed=2))), first)
    assert moved.spec == still.spec
    for split, count in (("val", 20), ("test", 33)):
        rows = range(count)
        assert torch.equal(moved.batch(split, rows).images, still.batch(split, rows).images)


def test_a_shift_does_not_follow_from_the_place_on_the_canvas() -> None:
    """Each shift goes with each place: a stream of random numbers of its own decides about it."""
    still, moved = (by_index(epochs(ready(canvas=Translated(size=9), shift=shift))) for shift in (0, 1))
    seen = set()
    for before, after in zip(still, moved, strict=True):
        top = int(before[0].any(1).nonzero()[0])
        shifts = [by for by in (-1, 0, 1) if torch.equal(before[0].any(1).roll(by), after[0].any(1))]
        seen |= {(top, by) for by in shifts} if top in (1, 2) else set()
    assert seen >= {(top, by) for top in (1, 2) for by in (-1, 0, 1)}


@pytest.mark.parametrize(
    ("shift", "canvas", "message"),
    [
        (-1, None, "shift must be at least 0, got -1"),
        (9, Translated(size=9), "shift must be below 9, got 9: images of 9 x 9 pixels"),
        (5, None, "shift must be below 5, got 5: images of 6 x 5 pixels"),
    ],
)
def test_shifts_that_leave_nothing_are_refused(shift: int, canvas: Translated | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        module(shift=shift, canvas=canvas)


def test_a_shift_is_refused_where_the_size_is_known_only_when_images_are_read() -> None:
    class Unsized(Noise):
        def load(self) -> LabelledImages:
            return Noise().load()

    images = Unsized()
    images.size = None  # type: ignore[assignment]
    data = module(images, shift=6, canvas=None)
    with pytest.raises(ValueError, match="shift must be below 5, got 6"):
        data.setup("fit")
