"""Pictures in files: what is in them, by hash, and what they look like, some at a time."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from data.core.cache import write_whole
from data.core.mapped_rows import Chunk, MappedRows, RowMaker, mapped_rows
from data.images.image_set import Pixels
from zoo.core.image import read_image
from zoo.core.reading import require_regular
from zoo.core.spec import ImageSpec

CHUNK = 256
"""Pictures that are decoded together."""


class PictureFiles:
    """Pictures, all read as one specification says.

    Attributes:
        paths: of the files.
        digests: hashes of their contents, see `file_digests`.
        spec: channels, size, and how a picture is brought to it.
    """

    def __init__(self, paths: Sequence[Path], digests: Sequence[str], spec: ImageSpec) -> None:
        """Reads nothing yet; arguments as the attributes."""
        self.paths, self.digests, self.spec = paths, digests, spec

    def __len__(self) -> int:
        return len(self.paths)

    def fingerprint(self) -> str:
        """Says all that the pixels depend on."""
        return repr((self.spec, *self.digests))

    def __getitem__(self, rows: Sequence[int]) -> Chunk:
        """Decodes some pictures."""
        return next(self._chunks(list(rows), len(rows)))

    def chunks(self, first: int, size: int = CHUNK) -> Iterator[Chunk]:
        """Decodes all pictures from `first` on, `size` at a time, on every core."""
        return self._chunks(range(first, len(self)), size)

    def pixels(self, cache_dir: Path, name: str) -> MappedRows:
        """`(N, C, H, W)` uint8, decoded once and kept below the cache folder.

        Args:
            cache_dir: where.
            name: of the data set.

        Raises:
            RuntimeError: the folder cannot be written, or the disk is too full.
        """
        shape = (self.spec.channels, self.spec.height, self.spec.width)
        key = hashlib.sha256(self.fingerprint().encode()).hexdigest()[:20]
        what = f"decoding {len(self):,} pictures of {name} to {self.spec.width} x {self.spec.height} pixels"
        maker = RowMaker(len(self), shape, np.dtype(np.uint8), self.chunks, what)
        return mapped_rows(cache_dir.expanduser() / "pictures" / f"{name}-{key}", maker)

    def _chunks(self, rows: Sequence[int], size: int) -> Iterator[Chunk]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for start in range(0, len(rows), max(size, 1)):
                some = [self.paths[row] for row in rows[start : start + size]]
                pixels = np.zeros(
                    (len(some), self.spec.channels, self.spec.height, self.spec.width), dtype=np.uint8
                )
                read = pool.map(self._read, some)
                broken = {}
                for position, result in enumerate(read):
                    if isinstance(result, str):
                        broken[position] = result
                    else:
                        pixels[position] = result
                yield Chunk(pixels, broken)

    def _read(self, path: Path) -> Pixels | str:
        """The pixels, or what is wrong with the picture, which is remembered, so without where it lies.

        Raises:
            RuntimeError: the machine could not read the file, which may pass.
        """
        try:
            pixels: Pixels = read_image(path, self.spec).numpy()
        except ValueError as error:
            if getattr(error.__cause__, "errno", None):
                raise RuntimeError(str(error)) from error
            return str(error).removeprefix(f"{path} ")
        return pixels


def file_digests(paths: Sequence[Path], memory: Path) -> list[str | None]:
    """The sha256 of each file's content; None where there is no file, or none that may be read.

    What was hashed once is known by the file's size and time of change, so that a start need not read a whole
    data set.

    Args:
        paths: of the files.
        memory: a file in the cache folder that remembers.

    Raises:
        RuntimeError: it cannot be written.
    """
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    stamps = {str(path): stamp for path in paths if (stamp := _stamp(path))}
    news = [path for path, stamp in stamps.items() if known.get(path, [None])[0] != stamp]
    if news:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            digests = dict(zip(news, pool.map(_digest, news), strict=True))
        known |= {path: [stamps[path], digest] for path, digest in digests.items()}
        _remember(memory, {path: entry for path, entry in known.items() if entry[1]})
    return [known[path][1] or None if path in stamps else None for path in map(str, paths)]


def _stamp(path: Path) -> str | None:
    try:
        require_regular(path)
        found = path.stat()
    except (OSError, ValueError):
        return None
    return f"{found.st_size} {found.st_mtime_ns}"


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _remember(memory: Path, known: dict[str, list[str]]) -> None:
    try:
        write_whole(memory, json.dumps(known).encode())
    except OSError as error:
        raise RuntimeError(f"cannot write below {memory.parent} (paths.cache_dir): {error}") from error
