"""Downloads published files: checked against their hash, and in place whole or not at all."""

import hashlib
import http.client
import logging
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from data.core.cache import write_whole

_log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class PublishedFile:
    """A file on the net.

    Attributes:
        urls: where it lies; tried in this order.
        size: bytes.
        sha256: of its content.
    """

    urls: tuple[str, ...]
    size: int
    sha256: str


def download(file: PublishedFile, place: Path) -> None:
    """Puts the file in its place.

    Raises:
        FileNotFoundError: no address gave it; names file, size, sources and place, and why each failed.
    """
    failures = []
    for url in file.urls:
        try:
            _fetch(url, file, place)
        except (OSError, http.client.HTTPException, ValueError) as error:
            failures.append(f"  {url}: {error}")
        else:
            _log.info("downloaded %s to %s", url, place)
            return
    raise FileNotFoundError(
        f"{place.name} ({file.size:,} bytes) is neither at {place} nor could it be downloaded:\n"
        + "\n".join(failures)
        + f"\nGet it from there by other means and put it at {place}"
    )


def _fetch(url: str, file: PublishedFile, place: Path) -> None:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:
        content = answer.read(file.size + 1)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ValueError("what came is not the published file (its sha256 differs)")
    write_whole(place, content)
