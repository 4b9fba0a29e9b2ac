"""Published sets of photographs with captions: Flickr8k, Flickr30k and COCO, where you have put them.

None may be passed on, so none is downloaded: what is missing is named with its source.
"""

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from data.captions.caption_files import Captions, read_coco, read_karpathy, read_names, read_tokens
from data.captions.picture_captions import Picture, PictureCaptions

_log = logging.getLogger(__name__)

_SPLITS = (
    "the splits of Karpathy and Fei-Fei (2015): caption_datasets.zip (36 MB) from"
    " https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"
)

_HELD_OUT = 5_000
"""Pictures of COCO for validation, and as many to test on, as is usual."""


class Layout(NamedTuple):
    """A way in which a set's captions are published.

    Attributes:
        files: below the set's folder; all are needed.
        read: given their paths, the captions of each split.
    """

    files: tuple[str, ...]
    read: Callable[..., dict[str, Captions]]


@dataclass(kw_only=True)
class PublishedCaptions(PictureCaptions):
    """A set in its published layout, in a folder of its own name.

    Attributes:
        data_dir: the folder that holds the set's.
    """

    data_dir: str | Path
    scattered: ClassVar[bool] = False
    """Whether pictures lie in all of the folders, not in any one."""

    @property
    @abstractmethod
    def layouts(self) -> tuple[Layout, ...]:
        """How captions may lie there; the first whose files are there is read."""

    @property
    @abstractmethod
    def pictures(self) -> tuple[str, ...]:
        """Folders that pictures may lie in."""

    @property
    @abstractmethod
    def source(self) -> str:
        """Where the files come from, with their sizes."""

    def check_files(self) -> None:
        """See `CaptionSet`."""
        self._found()

    def read(self) -> dict[str, list[Picture]]:
        """See `PictureCaptions`.

        Raises:
            ValueError: a split is empty.
        """
        layout, folders = self._found()
        splits = layout.read(*(self._root / name for name in layout.files))
        empty = [split for split in ("train", "val", "test") if not splits.get(split)]
        if empty:
            raise ValueError(
                f"{self._root / layout.files[0]}: there are no captions of split {', '.join(empty)}"
            )
        return {
            split: [
                Picture(_inside(folders, name), Path(name).name, sentences)
                for name, sentences in captions.items()
            ]
            for split, captions in splits.items()
        }

    def _found(self) -> tuple[Layout, list[Path]]:
        """The layout, and the folders of pictures.

        Raises:
            FileNotFoundError: says all that is missing, and where it comes from.
        """
        root = self._root
        whole = [one for one in self.layouts if all((root / name).is_file() for name in one.files)]
        folders = [root / name for name in self.pictures if (root / name).is_dir()]
        missing = []
        if not whole:
            missing.append(" or ".join(", ".join(one.files) for one in self.layouts))
        lacking = [name for name in self.pictures if root / name not in folders]
        if self.scattered and lacking:
            missing.append("the pictures' folder " + " and ".join(lacking))
        elif not folders:
            missing.append("a folder of pictures, " + " or ".join(self.pictures))
        if missing:
            raise FileNotFoundError(
                f"{root} lacks {'; and '.join(missing)}. Get {self.source}, and put it there"
            )
        return whole[0], folders

    @property
    def _root(self) -> Path:
        return Path(self.data_dir).expanduser() / self.name


def _inside(folders: list[Path], name: str) -> Path:
    """Where a picture lies: in the folder of its name, or in the only one."""
    path = Path(name)
    if len(path.parts) > 1:
        return folders[0].parent / path
    matching = [folder for folder in folders if f"_{folder.name}_" in name]
    return (matching or folders)[0] / name


def _listed(tokens: Path, *lists: Path) -> dict[str, Captions]:
    """Captions of all pictures in one file, the names of each split in another.

    Raises:
        ValueError: a listed picture has no caption.
    """
    captions = read_tokens(tokens)
    splits: dict[str, Captions] = {}
    for split, path in zip(("train", "val", "test"), lists, strict=True):
        names = read_names(path)
        if silent := [name for name in names if name not in captions]:
            raise ValueError(f"{path} lists {silent[0]}, of which {tokens} says nothing ({len(silent)} such)")
        splits[split] = {name: captions[name] for name in names}
    if others := captions.keys() - {name for some in splits.values() for name in some}:
        _log.info(
            "%s: %d pictures, such as %s, are in no split and left out", tokens, len(others), min(others)
        )
    return splits


def _own(train: Path, val: Path) -> dict[str, Captions]:
    """COCO's own files: pictures of the second are shared out."""
    captions = read_coco(val)
    names = sorted(captions, key=lambda name: hashlib.sha256(name.encode()).digest())
    count = min(_HELD_OUT, len(names) // 3)
    bounds = {"val": names[:count], "test": names[count : 2 * count]}
    splits = {split: {name: captions[name] for name in some} for split, some in bounds.items()}
    return {"train": read_coco(train) | {name: captions[name] for name in names[2 * count :]}} | splits


@dataclass(kw_only=True)
class Flickr8k(PublishedCaptions):
    """Flickr8k (Hodosh et al. 2013): 6,000 / 1,000 / 1,000 photographs with five captions each."""

    name = "flickr8k"
    pictures = ("Flicker8k_Dataset", "Flickr8k_Dataset", "Images")
    layouts = (
        *(
            Layout(
                (
                    f"{folder}Flickr8k.token.txt",
                    *(f"{folder}Flickr_8k.{split}Images.txt" for split in ("train", "dev", "test")),
                ),
                _listed,
            )
            for folder in ("Flickr8k_text/", "")
        ),
        Layout(("dataset_flickr8k.json",), read_karpathy),
    )
    source = (
        "Flickr8k_text.zip (2 MB) and Flickr8k_Dataset.zip (1.1 GB) from"
        " https://github.com/jbrownlee/Datasets/releases/tag/Flickr8k"
    )


@dataclass(kw_only=True)
class Flickr30k(PublishedCaptions):
    """Flickr30k (Young et al. 2014): 31,000 photographs with five captions each, in the usual splits."""

    name = "flickr30k"
    pictures = ("flickr30k-images", "flickr30k_images", "Images")
    layouts = (
        Layout(("dataset_flickr30k.json",), read_karpathy),
        Layout(("results_20130124.token", "train.txt", "val.txt", "test.txt"), _listed),
    )
    source = (
        "flickr30k-images.tar.gz (4.4 GB) by the form at https://shannon.cs.illinois.edu/DenotationGraph, and"
        f" {_SPLITS}"
    )


@dataclass(kw_only=True)
class Coco(PublishedCaptions):
    """COCO (Lin et al. 2014): 123,000 photographs with five captions each.

    By Karpathy's file, or by COCO's own: of the pictures that it gives for validation, some thousand are then
    held out for validation and as many to test on, by a hash of their names, and the rest is trained on.
    """

    name = "coco"
    pictures = ("train2014", "val2014")
    scattered = True
    layouts = (
        Layout(("dataset_coco.json",), read_karpathy),
        *(
            Layout((f"{folder}captions_train2014.json", f"{folder}captions_val2014.json"), _own)
            for folder in ("annotations/", "")
        ),
    )
    source = (
        "train2014.zip (13 GB) and val2014.zip (6 GB) from http://images.cocodataset.org/zips/, and"
        " annotations_trainval2014.zip (241 MB) from http://images.cocodataset.org/annotations/ or"
        f" {_SPLITS}"
    )
