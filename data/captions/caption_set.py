"""What a set of images with captions must offer to `data.captions.captions.CaptionData`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from data.core.batching import Part
from data.images.image_set import Pixels
from zoo.core.batch import TrueCaptions
from zoo.core.spec import ImageSpec


class Encoder(Protocol):
    """A frozen network that turns images into grids of features.

    Attributes:
        name: after `identify` another one for other features, e.g. `vgg19-dcbb9e9d`.
        feature_size: D.
    """

    name: str
    feature_size: int

    def identify(self) -> None:
        """Says in `name` which weights it has or will read, without reading them."""

    def load_published(self) -> None:
        """Reads its weights, where these are not its own."""

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """The grids' h and w, of images of this size."""
        ...

    def __call__(self, images: Tensor) -> Tensor:
        """`(B, C, H, W)` in [0, 1] to `(B, D, h, w)`."""
        ...


class Wanted(NamedTuple):
    """How a set's splits are to be made.

    Attributes:
        image_size: pixels along each side.
        cache_dir: what is made once is kept below it.
        seed: of what differs between trainings.
        encoder: makes the frozen encoder whose features are wanted instead of pixels; None: pixels.
    """

    image_size: int
    cache_dir: Path
    seed: int
    encoder: Callable[[], Encoder] | None = None


class Items(NamedTuple):
    """Some items of a split, side by side.

    Attributes:
        pixels: `(B, C, H, W)`; None where they were not asked for.
        features: `(B, D, h, w)` half precision; None without a store.
        sentences: `(B,)`, the number of one caption of each image among the split's `sentences`.
        references: all raw captions of each image.
        names: what to call each image.
        truths: where it is known, all that may be said of each image.
    """

    pixels: Pixels | None
    features: NDArray[Any] | None
    sentences: NDArray[np.int64]
    references: list[list[str]]
    names: list[str]
    truths: list[TrueCaptions] | None


class CaptionSplit(ABC):
    """Images of one split with captions: an item is an image, or in training an image with one caption.

    Attributes:
        sentences: every raw caption that an item may have.
        has_features: whether features take the place of pixels in training.
    """

    sentences: Sequence[str]
    has_features = False

    @abstractmethod
    def __len__(self) -> int:
        """Number of items."""

    @property
    @abstractmethod
    def images(self) -> NDArray[np.int64]:
        """`(N,)`, the number of each item's image."""

    @abstractmethod
    def items(self, chosen: Part, *, pixels: bool) -> Items:
        """Some items, as they are in an epoch.

        Args:
            chosen: which.
            pixels: whether those are wanted; features are always given where there are any.
        """

    def sentences_of(self, chosen: Part) -> NDArray[np.int64]:
        """The `sentences` of some items."""
        return self.items(chosen, pixels=False).sentences

    @abstractmethod
    def to_train_on(self, usable: NDArray[np.bool_]) -> "CaptionSplit":
        """The split whose items are pairs of image and caption.

        Args:
            usable: `(S,)`, for each of `sentences` whether it may be one's caption.

        Raises:
            ValueError: too few are.
        """

    @abstractmethod
    def content_hash(self) -> str:
        """sha256 over raw images and references, in order."""

    @abstractmethod
    def references(self) -> list[list[str]]:
        """All raw captions of each image."""

    @property
    def report(self) -> dict[str, int]:
        """Numbers of what it has and of what was left out."""
        return {"images": len(self)}


class CaptionSet(ABC):
    """Images with captions in the splits `train`, `val` and `test`.

    Attributes:
        name: the set in results, e.g. `flickr8k`.
        knows_truths: whether it knows all that may truly be said of an image.
    """

    name: str
    knows_truths: ClassVar[bool] = False

    def check_files(self) -> None:  # noqa: B027  # some sets need no file
        """Sees before a run that all files are there; reads nothing.

        Raises:
            FileNotFoundError: a file is missing; says which, and where it comes from.
        """

    def check(self, wanted: Wanted) -> None:  # noqa: B027  # most sets can be made in every way
        """Refuses what cannot be made; reads nothing.

        Raises:
            ValueError: names the setting.
        """

    @abstractmethod
    def splits(self, wanted: Wanted) -> dict[str, CaptionSplit]:
        """Reads the captions, and makes once what is kept of the images.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file cannot be used; names it.
            RuntimeError: the cache folder cannot be written.
        """


def image_spec(size: int) -> ImageSpec:
    """Square colour images.

    Pictures are stretched onto the square, not cut or framed: nothing that a caption names is lost, the grid
    of an encoder is spent on the picture alone, and a place in it is the same share of the picture's sides.
    """
    return ImageSpec(channels=3, height=size, width=size, stretched=True)
