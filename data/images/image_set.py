"""What a set of labelled images must offer to `data.images.images.ImageData`."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Images with labels.

    Attributes:
        images: `(N, C, H, W)`, 0 is black.
        labels: `(N,)`, the position of each image's class in the names of the classes.
        names: `(N,)` texts, what to call each image.
    """

    images: Pixels
    labels: Labels
    names: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> "Split":
        return Split(self.images[rows], self.labels[rows], self.names[rows])


@dataclass(frozen=True)
class LabelledImages:
    """A set as it lies in memory.

    Attributes:
        classes: their names, in the order of the labels.
        splits: `train`, `val`, `test` and any number of further `test_...` splits; none is empty.
    """

    classes: tuple[str, ...]
    splits: dict[str, Split]


class ImageSet(ABC):
    """Labelled images in named splits, all of one size.

    Attributes:
        name: the set in results, e.g. `mnist`.
        size: height and width in pixels; None where they are known only when the images are read.
    """

    name: str
    size: tuple[int, int] | None

    def check_files(self) -> None:  # noqa: B027  # some sets need no file, or download it
        """Sees before a run that what cannot be downloaded is there; reads nothing.

        Raises:
            FileNotFoundError: a file is missing; says which, and where it comes from.
        """

    @abstractmethod
    def load(self) -> LabelledImages:
        """Reads all images, after downloading what is missing.

        Raises:
            FileNotFoundError: a file is missing and cannot be downloaded.
            ValueError: a file cannot be used; names it.
        """


def numbered(split: str, count: int) -> NDArray[np.object_]:
    """Names for images that have none: the split and the number in it."""
    return np.array([f"{split} {number}" for number in range(count)], dtype=object)


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
