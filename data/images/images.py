"""The data module of every image task: a set of labelled images, perhaps on a canvas, in batches."""

import hashlib

import numpy as np
import torch
from torch.utils.data import Dataset

from data.core.batching import Layout, Part, ShuffledBatches
from data.core.copies import copies, counts, hashes, say_copies
from data.core.data_module import DataModule, check_same_data, require_at_least
from data.core.keyed_random import keys, split_key
from data.images.augmentation import Warp, shifted
from data.images.canvas import Canvas
from data.images.image_set import ImageSet, LabelledImages, Pixels, Split, machine_memory
from zoo.core.image import as_float
from zoo.core.spec import DataSpec, FieldSpec, ImageSpec, LabelSpec
from zoo.tasks.recognition.batch import ImageBatch

_HASHED_AT_ONCE = 1_000


class ImageData(DataModule):
    """Labelled images in batches, which are made whole from images in memory.

    A training image, warped, placed and shifted, is a function of seed, epoch and index alone, whatever
    batch, worker or process makes it; one of another split of its index alone, and never warped or shifted.

    After `setup`:

    Attributes:
        spec: what a task must know of the data.
        test_splits: `test` first, then the set's other test splits.
        baselines: for each test split, `majority_error` in [0, 1]: always answering the most frequent class
            of the train split.
        report: for each split the number of `images`; of those to evaluate on, how many are `in_train` or
            `in_val` as well, before they are placed on a canvas.
    """

    batch_type = ImageBatch

    def __init__(
        self,
        *,
        images: ImageSet,
        canvas: Canvas | None,
        batch_size: int,
        seed: int,
        shift: int = 0,
        warp: Warp | None = None,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet.

        Args:
            images: the labelled images.
            canvas: how they are placed on something larger; None leaves them as they are.
            batch_size: images in a batch, in each process; the last batch of an epoch may have fewer.
            seed: of the order of training batches, and of the places of training images.
            shift: pixels by which a training image is moved at most in each direction, on a canvas all of it.
            warp: how a training image is turned and stretched before it is placed; None leaves it as it is.
            num_workers: see `DataModule`.
            worker_timeout: see there.
            spec: the specification in a checkpoint, with which the data must agree.

        Raises:
            ValueError: a number is too small, the images do not fit onto the canvas, or that not into memory,
                or they could be moved out of sight.
        """
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        require_at_least(("batch_size", batch_size, 1), ("shift", shift, 0))
        if canvas and images.size:
            canvas.check_room(*images.size)
        if canvas:
            _check_memory(canvas, batch_size)
        self.images, self.canvas, self.batch_size, self.shift = images, canvas, batch_size, shift
        self.warp = warp
        if size := (canvas.height, canvas.width) if canvas else images.size:
            self._check_shift(*size)
        self._given = spec
        self._loaded: LabelledImages | None = None
        self._splits: dict[str, PlacedImages] = {}  # type: ignore[assignment]

    def placeholder(self) -> dict[str, FieldSpec]:
        """See `DataModule`."""
        placed = (self.canvas.height, self.canvas.width) if self.canvas else self.images.size
        height, width = placed or (28, 28)
        return {"image": ImageSpec(1, height, width), "label": LabelSpec(tuple("0123456789"))}

    def check_files(self) -> None:
        """Sees before a run that what cannot be downloaded is there.

        Raises:
            FileNotFoundError: a file is missing.
        """
        self.images.check_files()

    def prepare_data(self) -> None:
        """Downloads what is missing; under several processes, only one calls this."""
        self._load()

    def setup(self, stage: str | None = None) -> None:
        """Reads the images into memory.

        Raises:
            ValueError: a file cannot be used, the images do not fit onto the canvas, could be moved out of
                sight, or are not those of the given specification.
            FileNotFoundError: files are missing and cannot be downloaded.
        """
        if self._spec is not None:
            return
        loaded = self._load()
        train = loaded.splits["train"]
        channels, height, width = train.images.shape[1:]
        name = self.images.name
        if self.canvas:
            self.canvas.check_room(height, width)
            height, width = self.canvas.height, self.canvas.width
            name = f"{self.canvas.name}_{name}"
        else:
            batch = min(self.batch_size, len(train))
            needed = sum(split.images.nbytes for split in loaded.splits.values())
            needed += 4 * batch * channels * height * width  # floats, where images are kept as bytes
            if needed > (memory := machine_memory()):
                raise ValueError(
                    f"all images of {height} x {width} pixels and a batch of {batch:,} need"
                    f" {needed / 1e9:,.1f} GB, and this machine has {memory / 1e9:,.1f}: give smaller images"
                    " or a smaller data.batch_size"
                )
        self._check_shift(height, width)
        splits = {
            split: PlacedImages(
                images,
                canvas=self.canvas,
                training=train.images,
                key=split_key(split, self.seed),
                shift=self.shift if split == "train" else 0,
                warp=self.warp if split == "train" else None,
            )
            for split, images in loaded.splits.items()
        }
        spec = DataSpec(
            name=name,
            fields={
                "image": ImageSpec(channels, height, width, placed=self.canvas is not None),
                "label": LabelSpec(loaded.classes),
            },
            test_hash=splits["test"].content_hash(),
            vocabulary_hash=hashlib.sha256(repr(loaded.classes).encode()).hexdigest(),
        )
        if self._given is not None:
            check_same_data(self._given, spec)
        found = copies({name: hashes(map(bytes, split.images)) for name, split in loaded.splits.items()})
        say_copies(
            f"{self.images.name} images",
            found,
            lambda split, number: str(loaded.splits[split].names[number]),
        )
        self.report = {
            name: {"images": len(split), **counts(found, name)} for name, split in loaded.splits.items()
        }
        majority = np.bincount(train.labels).argmax()
        self._splits = splits
        self.baselines = {
            name: {"majority_error": float((loaded.splits[name].labels != majority).mean())}
            for name in self.test_splits
        }
        self._spec = spec

    def _check_shift(self, height: int, width: int) -> None:
        """Sees that something of each image is left.

        Raises:
            ValueError: an image could be moved out of sight.
        """
        if self.shift >= (side := min(height, width)):
            raise ValueError(
                f"shift must be below {side}, got {self.shift}: images of {height} x {width} pixels could be"
                " moved out of sight"
            )

    def _load(self) -> LabelledImages:
        if self._loaded is None:
            self._loaded = self.images.load()
        return self._loaded

    def _batches(self, split: str, seed: int | None, layout: Layout) -> ShuffledBatches:
        count = len(self._splits[split])
        return ShuffledBatches(count, self.batch_size, seed=seed, layout=layout)


def _check_memory(canvas: Canvas, batch_size: int) -> None:
    """Refuses a canvas of which not even a batch fits into memory.

    Raises:
        ValueError: says how much memory it needs, and how much there is.
    """
    # While they are placed a pixel is a byte, in a batch a float.
    needed = max(_HASHED_AT_ONCE, 4 * batch_size) * canvas.height * canvas.width
    if needed > (memory := machine_memory()):
        raise ValueError(
            f"size is {canvas.height} x {canvas.width} pixels, which needs {needed / 1e9:,.0f} GB for the"
            f" {max(_HASHED_AT_ONCE, batch_size):,} images that are made at once, and this machine has"
            f" {memory / 1e9:,.0f}: give a smaller data.canvas.size or data.batch_size"
        )


class PlacedImages(Dataset[ImageBatch]):
    """Images of one split, on a canvas if there is one; indexed by `Part`, it makes whole batches."""

    def __init__(
        self,
        split: Split,
        *,
        canvas: Canvas | None,
        training: Pixels,
        key: tuple[int, int],
        shift: int = 0,
        warp: Warp | None = None,
    ) -> None:
        """Takes the images as they are.

        Args:
            split: the images.
            canvas: how they are placed.
            training: `(N, C, h, w)` the images to train on.
            key: begins the keys of the random numbers.
            shift: pixels by which they are moved at most in each direction.
            warp: how they are turned and stretched.
        """
        self._split, self._canvas, self._training, self._key = split, canvas, training, key
        self._shift, self._warp = shift, warp

    def __len__(self) -> int:
        return len(self._split)

    def __getitem__(self, chosen: Part) -> ImageBatch:
        return ImageBatch(
            index=torch.from_numpy(chosen.rows),
            images=as_float(torch.from_numpy(self.pixels(chosen))),
            labels=torch.from_numpy(self._split.labels[chosen.rows]),
            names=self._split.names[chosen.rows].tolist(),
            loss_weight=chosen.loss_weight,
        )

    def pixels(self, chosen: Part) -> Pixels:
        """`(B, C, H, W)`, as a model sees them but for their range."""
        images = self._split.images[chosen.rows]
        key = (*self._key, chosen.epoch, chosen.rows)
        if self._warp:
            images = self._warp.views(images, keys(*key, 2))
        if self._canvas:
            images = self._canvas.place(images, keys(*key), self._training)
        return shifted(images, keys(*key, 1), self._shift) if self._shift else images

    def content_hash(self) -> str:
        """sha256 over all images as a model sees them in epoch 0, their shape, and the labels, in order."""
        digest = hashlib.sha256()
        for rows in np.split(np.arange(len(self)), range(_HASHED_AT_ONCE, len(self), _HASHED_AT_ONCE)):
            pixels = self.pixels(Part(0, rows))
            digest.update(repr(pixels.shape).encode() + pixels.tobytes())
        digest.update(self._split.labels.astype("<i8").tobytes())
        return digest.hexdigest()
