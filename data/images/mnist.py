"""MNIST (LeCun et al. 1998) and Fashion-MNIST (Xiao et al. 2017): 28 x 28 grey pixels, ten classes."""

import gzip
import math
import zlib
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from data.core.download import PublishedFile, download
from data.core.paths import packed_or_not
from data.images.image_set import ImageSet, LabelledImages, Split, numbered
from zoo.core.reading import require_regular

VALIDATION = 5_000
"""The last so many training images are for validation."""

_LARGEST = 2**30
"""Bytes of a file; the published ones have 47 million at most."""

_IMAGES, _LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"


@dataclass(kw_only=True)
class IdxImages(ImageSet):
    """Four files where torchvision has them, `<folder>/raw/{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz`.

    Unpacked files of the same names without `.gz` serve as well; torchvision itself reads those alone, and
    writes them beside packed ones, which a shared folder may forbid. What is missing is downloaded.

    Attributes:
        data_dir: the folder that holds the set's.
    """

    data_dir: str | Path
    folder: ClassVar[str]
    classes: ClassVar[tuple[str, ...]]
    size = (28, 28)

    @property
    @abstractmethod
    def published(self) -> dict[str, PublishedFile]:
        """The packed files, by name."""

    def load(self) -> LabelledImages:
        """See `ImageSet`."""
        train, test = (self._read(part, split) for part, split in (("train", "train"), ("t10k", "test")))
        if len(train) <= VALIDATION:
            raise ValueError(
                f"{self._raw} has {len(train)} training images, the last {VALIDATION} being for validation"
            )
        return LabelledImages(
            self.classes, {"train": train[:-VALIDATION], "val": train[-VALIDATION:], "test": test}
        )

    def _read(self, part: str, split: str) -> Split:
        paths = [self._file(f"{part}-{kind}") for kind in (_IMAGES, _LABELS)]
        images, labels = (_read_idx(path, dimensions) for path, dimensions in zip(paths, (3, 1), strict=True))
        if images.shape[1:] != self.size:
            shape = " x ".join(map(str, images.shape[1:]))
            raise ValueError(f"the images in {paths[0]} must be of 28 x 28 pixels, not {shape}")
        if len(images) != len(labels):
            raise ValueError(f"{paths[0]} has {len(images)} images, but {paths[1]} has {len(labels)} labels")
        if labels.size and labels.max() >= len(self.classes):
            raise ValueError(f"labels in {paths[1]} must be 0 to {len(self.classes) - 1}, got {labels.max()}")
        return Split(images[:, None], labels.astype(np.int64), numbered(split, len(labels)))

    def _file(self, name: str) -> Path:
        """The file, packed or not; downloaded where there is neither."""
        if found := packed_or_not(self._raw, name):
            return found
        packed = self._raw / f"{name}.gz"
        download(self.published[packed.name], packed)
        return packed

    @property
    def _raw(self) -> Path:
        return Path(self.data_dir).expanduser() / self.folder / "raw"


def _read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """Reads an array of bytes: two zeros, 8 (bytes), the number of dimensions, each as 32 bits, the bytes.

    Raises:
        ValueError: the file is damaged or of another kind.
    """
    length = 4 * (1 + dimensions)
    try:
        require_regular(path)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(length)
            if head[:4] != bytes((0, 0, 8, dimensions)) or len(head) < length:
                raise ValueError(f"{path} is no idx file of bytes in {dimensions} dimensions")
            shape = [int(side) for side in np.frombuffer(head, dtype=">u4", offset=4)]
            size = math.prod(shape)
            if size > _LARGEST:
                raise ValueError(f"{path} is damaged: it claims {size:,} bytes, and may have {_LARGEST:,}")
            content = file.read(size + 1)  # no more, however much a packed file may hold
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if len(content) != size:
        held = f"more than {size}" if len(content) > size else len(content)
        raise ValueError(f"{path} is damaged: {held} bytes instead of {size}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _published(urls: tuple[str, ...], *files: tuple[str, int, str]) -> dict[str, PublishedFile]:
    return {
        name: PublishedFile(tuple(url + name for url in urls), size, sha256) for name, size, sha256 in files
    }


@dataclass(kw_only=True)
class MNIST(IdxImages):
    """Handwritten digits: 55,000 to train on, 5,000 for validation, 10,000 to test."""

    name = "mnist"
    folder = "MNIST"
    classes = tuple("0123456789")

    @property
    def published(self) -> dict[str, PublishedFile]:
        """See `IdxImages`."""
        return _MNIST


@dataclass(kw_only=True)
class FashionMNIST(IdxImages):
    """Pieces of clothing: 55,000 to train on, 5,000 for validation, 10,000 to test."""

    name = "fashion_mnist"
    folder = "FashionMNIST"
    classes = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )

    @property
    def published(self) -> dict[str, PublishedFile]:
        """See `IdxImages`."""
        return _FASHION_MNIST


_MNIST = _published(
    ("https://ossci-datasets.s3.amazonaws.com/mnist/",),
    (
        "train-images-idx3-ubyte.gz",
        9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    (
        "train-labels-idx1-ubyte.gz",
        28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    (
        "t10k-images-idx3-ubyte.gz",
        1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    (
        "t10k-labels-idx1-ubyte.gz",
        4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)

_FASHION_MNIST = _published(
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    (
        "train-images-idx3-ubyte.gz",
        26_421_880,
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    ),
    (
        "train-labels-idx1-ubyte.gz",
        29_515,
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    ),
    (
        "t10k-images-idx3-ubyte.gz",
        4_422_102,
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    ),
    (
        "t10k-labels-idx1-ubyte.gz",
        5_148,
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
)
