"""Images with captions whose pictures lie in files."""

import hashlib
import logging
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.captions.caption_set import CaptionSet, CaptionSplit, Items, Wanted, image_spec
from data.captions.feature_store import stored_features
from data.captions.picture_files import PictureFiles, file_digests
from data.core.batching import Part
from data.core.copies import copies, counts, hashes, say_copies
from data.core.mapped_rows import MappedRows

_log = logging.getLogger(__name__)

_SHOWN = 5

Rows = NDArray[np.int64]


class Picture(NamedTuple):
    """A picture and its captions.

    Attributes:
        path: of the file.
        name: what to call it.
        captions: raw, at least one.
    """

    path: Path
    name: str
    captions: list[str]


@dataclass(kw_only=True)
class PictureCaptions(CaptionSet):
    """Pictures in files, each with captions.

    Pictures are decoded once, and training never opens a file. What has captions but no file, or cannot be
    read, is named in the log and counted.

    Attributes:
        skip_broken: whether such pictures are left out; otherwise they end the run before it begins.
    """

    skip_broken: bool = True

    @abstractmethod
    def read(self) -> dict[str, list[Picture]]:
        """The pictures of each split, in order.

        Raises:
            FileNotFoundError: a file of captions is missing.
            ValueError: a file cannot be used; names file and line.
        """

    def splits(self, wanted: Wanted) -> dict[str, CaptionSplit]:
        """See `CaptionSet`."""
        read = self.read()
        _check_apart(read)
        pictures = list(chain.from_iterable(read.values()))
        memory = wanted.cache_dir.expanduser() / "digests" / f"{self.name}.json"
        found = file_digests([picture.path for picture in pictures], memory)
        digests = dict(zip((picture.path for picture in pictures), found, strict=True))
        present = [path for path, digest in digests.items() if digest]
        missing = [
            f"{path} {'cannot be read' if os.path.exists(path) else 'does not exist'}"
            for path, digest in digests.items()
            if not digest
        ]
        if not present:
            raise FileNotFoundError(f"{self.name}: none of {len(missing)} pictures is there; {missing[0]}")
        self._left_out(missing)
        files = PictureFiles(present, [str(digests[path]) for path in present], image_spec(wanted.image_size))
        if wanted.encoder:
            store = stored_features(files, wanted.encoder(), wanted.cache_dir, self.name)
        else:
            store = files.pixels(wanted.cache_dir, self.name)
        self._left_out([f"{present[row]} {why}" for row, why in store.broken.items()])
        rows = {path: row for row, path in enumerate(present)}
        copied = copies(
            {
                split: hashes(digests[one.path] or str(one.path) for one in some)
                for split, some in read.items()
            }
        )
        say_copies(f"{self.name} pictures", copied, lambda split, number: str(read[split][number].path))
        splits: dict[str, CaptionSplit] = {}
        for split, some in read.items():
            there = [picture for picture in some if picture.path in rows]
            whole = [picture for picture in there if rows[picture.path] not in store.broken]
            if not whole:
                raise ValueError(f"split {split} of {self.name} has no picture that can be read")
            splits[split] = PictureSplit(
                whole,
                np.array([rows[picture.path] for picture in whole]),
                files,
                store,
                encoded=wanted.encoder is not None,
                counted={
                    "missing": len(some) - len(there),
                    "broken": len(there) - len(whole),
                    **counts(copied, split),
                },
            )
        return splits

    def _left_out(self, messages: list[str]) -> None:
        """Names the pictures that are missing or cannot be read.

        Raises:
            ValueError: there are such, and none may be left out.
        """
        if not messages:
            return
        more = f"; and {len(messages) - _SHOWN} more" if len(messages) > _SHOWN else ""
        message = f"{self.name}: {'; '.join(messages[:_SHOWN])}{more}"
        if not self.skip_broken:
            raise ValueError(f"{message} (skip_broken=true leaves such pictures out)")
        _log.warning("%s", message)


def _check_apart(splits: Mapping[str, list[Picture]]) -> None:
    for (split, some), (other, others) in combinations(splits.items(), 2):
        if shared := {picture.path for picture in some} & {picture.path for picture in others}:
            raise ValueError(
                f"{len(shared)} pictures are in {split} and in {other}, for example {min(shared)}:"
                " what is learned by heart would be tested"
            )


class PictureSplit(CaptionSplit):
    """Pictures of one split, as they lie in a store."""

    def __init__(
        self,
        pictures: Sequence[Picture],
        rows: Rows,
        files: PictureFiles,
        store: MappedRows,
        *,
        encoded: bool,
        counted: dict[str, int],
    ) -> None:
        """Reads nothing.

        Args:
            pictures: with their captions.
            rows: `(N,)`, where each is in files and store.
            files: the pictures of all splits.
            store: what they look like, or their features.
            encoded: whether it has features.
            counted: numbers of pictures that are not there, or in other splits as well.
        """
        self.sentences = [caption for picture in pictures for caption in picture.captions]
        self.has_features = encoded
        self._pictures, self._rows, self._files, self._store = pictures, rows, files, store
        self._counted = counted
        counts = np.array([len(picture.captions) for picture in pictures])
        # By item, the picture and one of its captions: for evaluation each picture once with its first.
        self._items = np.stack([np.arange(len(pictures)), np.cumsum(counts) - counts], axis=1)
        self._owners = np.repeat(np.arange(len(pictures)), counts)

    @property
    def images(self) -> Rows:
        """See `CaptionSplit`."""
        return self._items[:, 0]

    def __len__(self) -> int:
        return len(self._items)

    def items(self, chosen: Part, *, pixels: bool) -> Items:
        """See `CaptionSplit`."""
        numbers, sentences = self._items[chosen.rows].T
        rows = self._rows[numbers]
        shown = None
        if pixels:
            shown = self._files[rows.tolist()].rows if self.has_features else self._store[rows]
        return Items(
            pixels=shown,
            features=self._store[rows] if self.has_features else None,
            sentences=sentences,
            references=[self._pictures[number].captions for number in numbers],
            names=[self._pictures[number].name for number in numbers],
            truths=None,
        )

    def sentences_of(self, chosen: Part) -> Rows:
        """See `CaptionSplit`; reads no features."""
        sentences: Rows = self._items[chosen.rows, 1]
        return sentences

    def to_train_on(self, usable: NDArray[np.bool_]) -> "PictureSplit":
        """See `CaptionSplit`."""
        if not usable.any():
            why = "each is longer than data.maximum_length or has no word"
            raise ValueError(f"none of {len(usable)} captions can be trained on: {why}")
        pairs = copy(self)
        pairs._items = np.stack([self._owners, np.arange(len(usable))], axis=1)[usable]
        return pairs

    def content_hash(self) -> str:
        """See `CaptionSplit`; files are hashed as they are, before anything is done to them."""
        digest = hashlib.sha256()
        for picture, row in zip(self._pictures, self._rows, strict=True):
            digest.update(repr((self._files.digests[row], picture.captions)).encode())
        return digest.hexdigest()

    def references(self) -> list[list[str]]:
        """See `CaptionSplit`."""
        return [picture.captions for picture in self._pictures]

    @property
    def report(self) -> dict[str, int]:
        """See `CaptionSplit`."""
        return {"images": len(self._pictures), "captions": len(self.sentences)} | self._counted
