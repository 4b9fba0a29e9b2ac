"""Anyone's own pictures: a folder for each class."""

import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from data.core.paths import did_you_mean
from data.images.image_set import ImageSet, LabelledImages, Split, machine_memory
from zoo.core.image import Head, read_head, read_image
from zoo.core.spec import ImageSpec

_GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N", "F")
_SLOW = 2_000
"""Reading so many pictures takes seconds, so that a bar is shown."""

_SHOWN = 5

_LOOKED_AT = 1000
"""Heads of pictures that are read before a run begins: a few tenths of a second."""

_TINY = 8
"""Pixels. Smaller images come from an icon among the pictures rather than from a wish."""

_log = logging.getLogger(__name__)

_Files = dict[str, list[Path]]
"""The pictures of each class."""


@dataclass(kw_only=True)
class ImageFolder(ImageSet):
    """Pictures of any format that Pillow reads, of any size and colours, in folders named by their class.

    Either `path` has the folders `train` and perhaps `val` and `test`, each with a folder for every class, or
    it has a folder for every class itself. A split that is not given is held out of the training pictures: a
    hash of a file's content decides, so copies of a picture are in one split, and names do not matter.
    Splits that are given are taken as they are, with a warning where they share pictures. Files and folders
    whose names begin with a dot are left out.

    A picture of another size than the first one is scaled until it fits, whole and undistorted; the log says
    how many are. If the files of all pictures are grey, images have one channel, else three; a palette counts
    as colours.

    Attributes:
        path: the folder.
        height: pixels; None takes the height of the first training picture.
        width: pixels; None takes the width of the first training picture.
        held_out: share of the training pictures to hold out for each split that is not given.
    """

    path: str | None
    height: int | None = None
    width: int | None = None
    held_out: float = 0.1
    name: str = field(default="image_folder", init=False)

    def __post_init__(self) -> None:
        for side in ("height", "width"):
            if (value := getattr(self, side)) is not None and value < 1:
                raise ValueError(f"{side} must be at least 1, got {value}")
        if not 0 < self.held_out <= 0.4:
            raise ValueError(f"held_out must be above 0 and at most 0.4, got {self.held_out}")
        if self.path is None:
            raise ValueError(
                "path must name the folder of your pictures, for example data.images.path=pictures; it has a"
                " folder for each class, or train/, val/ and test/ with these"
            )
        root = Path(self.path).expanduser()
        if not root.is_dir():
            what = "is no folder" if root.exists() else f"does not exist{did_you_mean(root)}"
            raise ValueError(f"path must name a folder; {root} {what}")
        given = [split for split in ("train", "val", "test") if (root / split).is_dir()]
        if given and "train" not in given:
            raise ValueError(
                f"path must hold train/ where it holds val/ or test/; {root} has {', '.join(_names(root))}:"
                " put what is to be trained on into train/, a folder for each class"
            )
        others = [path.name for path in map(Path, _folders(root)) if path.name not in given]
        if others and 0 < len(given) < 3:
            raise ValueError(
                f"beside {' and '.join(given)}, {root} has {', '.join(others)}: call what is to validate on"
                " val, what is to be tested on test, and move the rest elsewhere"
            )
        folders = {split: root / split for split in given} if given else {"train": root}
        self._files = {split: _pictures(folder) for split, folder in folders.items()}
        _check_classes(folders, self._files)
        first = next(self._heads(), None)
        self.size = (self.height or first.height, self.width or first.width) if first else None

    def check_files(self) -> None:
        """See `ImageSet`; reads the heads of some pictures of all classes.

        Raises:
            ValueError: names those that are none.
        """
        problems, paths = [], self._paths()
        for path in paths[:: 1 + len(paths) // _LOOKED_AT]:
            try:
                read_head(path)
            except ValueError as error:
                problems.append(str(error))
        _raise(problems)

    def load(self) -> LabelledImages:
        """See `ImageSet`.

        Raises:
            ValueError: pictures cannot be read, or are too few to hold some out.
        """
        heads = list(self._heads())
        coloured = any(head.mode not in _GREY for head in heads)
        height, width = self.size or (1, 1)
        spec = ImageSpec(3 if coloured else 1, height, width)
        classes = tuple(self._files["train"])
        self._check_memory(spec)
        self._say_size(spec, heads)
        splits = {split: _read(split, files, spec) for split, files in self._files.items()}
        missing = [split for split in ("val", "test") if split not in splits]
        if missing:
            train, places = splits["train"], self._places()
            kept = np.ones(len(train), dtype=bool)
            for number, split in enumerate(missing):
                chosen = (number * self.held_out <= places) & (places < (number + 1) * self.held_out)
                if not chosen.any():
                    raise ValueError(
                        f"{self.path}: of {len(train)} pictures a share of {self.held_out:g} leaves none for"
                        f" {split}: give the folder {split}/, or raise data.images.held_out"
                    )
                splits[split] = train[np.flatnonzero(chosen)]
                kept &= ~chosen
            splits["train"] = train[np.flatnonzero(kept)]
            untrained = set(range(len(classes))) - set(splits["train"].labels.tolist())
            if untrained:
                names = ", ".join(classes[label] for label in sorted(untrained))
                raise ValueError(f"{self.path}: no picture to train on is left of {names}, after holding out")
        return LabelledImages(classes, splits)

    def _check_memory(self, spec: ImageSpec) -> None:
        """Refuses pictures that together do not fit into memory, before any is read."""
        count = len(self._paths())
        needed = count * spec.channels * spec.height * spec.width
        if needed > (memory := machine_memory()):
            raise ValueError(
                f"{self.path}: {count} pictures, each of {spec.height} x {spec.width} pixels, need"
                f" {needed / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f}: give a smaller"
                " data.images.height and data.images.width"
            )

    def _say_size(self, spec: ImageSpec, heads: Sequence[Head]) -> None:
        """Says what all pictures become, and warns where the first picture makes that tiny."""
        scaled = sum((head.height, head.width) != (spec.height, spec.width) for head in heads)
        taken = self.height is None or self.width is None
        tiny = taken and min(spec.height, spec.width) < _TINY
        _log.log(
            logging.WARNING if tiny else logging.INFO,
            "%s: images are %s, %d x %d pixels (height x width%s); %d of %d pictures have another size and"
            " are scaled%s",
            *(self.path, "coloured" if spec.channels == 3 else "grey", spec.height, spec.width),
            f", taken from the first picture, {heads[0].path}" if taken and heads else "",
            *(scaled, len(heads)),
            ": give data.images.height and data.images.width" if tiny else "",
        )

    def _heads(self) -> Iterator[Head]:
        """Of the pictures that can be opened, those to train on first; reading names the others."""
        for path in self._paths():
            with suppress(ValueError):
                yield read_head(path)

    def _paths(self) -> list[Path]:
        """The pictures of all splits, those to train on first."""
        return [path for files in self._files.values() for path in _all(files)]

    def _places(self) -> np.ndarray:
        """`(N,)` a place in [0, 1) for each training picture, by the content of its file."""
        digests = (
            hashlib.blake2b(path.read_bytes(), digest_size=8).digest() for path in _all(self._files["train"])
        )
        return np.array([int.from_bytes(digest, "big") / 2**64 for digest in digests])


def _all(files: _Files) -> list[Path]:
    """The pictures of all classes, in order."""
    return [path for paths in files.values() for path in paths]


def _pictures(folder: Path) -> _Files:
    """What lies in each folder below, sorted, so that no order of the disk matters."""
    return {name: [folder / name / file for file in _names(folder / name)] for name in _names(folder)}


def _names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith(".")) if folder.is_dir() else []


def _folders(folder: Path) -> list[str]:
    """The folders below a folder, without a look at each of its files."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _check_classes(folders: dict[str, Path], files: dict[str, _Files]) -> None:
    """Sees that every split has the same classes, at least two, each with pictures and nothing else.

    Raises:
        ValueError: names the folders and files.
    """
    problems = []
    for split, folder in folders.items():
        for name, paths in files[split].items():
            if not (folder / name).is_dir():
                problems.append(f"{folder / name} is no folder of a class")
            elif not paths:
                problems.append(f"{folder / name} holds no picture")
            problems += [
                f"{below} is a folder, but what lies in {folder / name} must be its pictures"
                for below in _folders(folder / name)
            ]
    classes = set(files["train"])
    if len(classes) < 2:
        found = f"only {next(iter(classes))}" if classes else "none"
        problems.append(f"{folders['train']} must have a folder for each of two classes or more, has {found}")
    for split in folders:
        if lacking := sorted(classes - files[split].keys()):
            problems.append(f"{folders[split]} lacks the classes {', '.join(lacking)} of {folders['train']}")
        if unknown := sorted(files[split].keys() - classes):
            problems.append(f"{folders[split]} has {', '.join(unknown)}, which {folders['train']} lacks")
    _raise(problems)


def _read(split: str, files: _Files, spec: ImageSpec) -> Split:
    """Reads the pictures of a split, under a bar where that takes long.

    Raises:
        ValueError: names the pictures that cannot be read.
    """
    paths = _all(files)
    shape = (len(paths), spec.channels, spec.height, spec.width)
    images = np.empty(shape, dtype=np.uint8)
    problems = []
    for row, path in enumerate(_shown(paths, f"reading {split}")):
        try:
            images[row] = read_image(path, spec).numpy()
        except ValueError as error:
            problems.append(str(error))
    _raise(problems)
    labels = np.repeat(np.arange(len(files)), [len(paths) for paths in files.values()])
    names = np.array([f"{path.parent.name}/{path.name}" for path in paths], dtype=object)
    return Split(images, labels, names)


def _shown(paths: Sequence[Path], what: str) -> Iterator[Path]:
    console = Console(stderr=True)
    hidden = len(paths) < _SLOW or not console.is_terminal
    return iter(track(paths, what, console=console, transient=True, disable=hidden))


def _raise(problems: list[str]) -> None:
    if problems:
        more = len(problems) - _SHOWN
        rest = [f"and {more} more"] if more > 0 else []
        raise ValueError("; ".join([*problems[:_SHOWN], *rest]))
