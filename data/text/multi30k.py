"""Multi30k (Elliott et al. 2016), task 1: descriptions of pictures in several languages."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from data.core.download import PublishedFile, download
from data.core.paths import packed_or_not
from data.text.corpus import Pair, PairCorpus, two_languages
from data.text.text_files import content_hash, read_pairs

FILES = {"train": "train", "val": "val", "test": "test_2016_flickr"}

FURTHER = ("test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
"""Test sets of later years, which are splits of these names where both of their files lie."""

_URLS = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/",
    "https://github.com/multi30k/dataset/raw/master/data/task1/raw/",
)

_PUBLISHED = {
    name: PublishedFile(tuple(url + name for url in _URLS), size, sha256)
    for name, size, sha256 in (
        ("train.en.gz", 568_929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
        ("train.de.gz", 637_044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
        ("val.en.gz", 21_650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
        ("val.de.gz", 24_681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
        (
            "test_2016_flickr.en.gz",
            21_077,
            "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        ),
        (
            "test_2016_flickr.de.gz",
            22_890,
            "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        ),
    )
}


@dataclass(kw_only=True)
class Multi30k(PairCorpus):
    """29,000 / 1,014 / 1,000 pairs in their published layout, `multi30k/raw/<split>.<language>.gz`.

    Unpacked files of the same names without `.gz` serve as well. What is missing is downloaded, English and
    German; other languages' files (French and Czech are published) are used where they lie, and so are the
    test sets of later years (`FURTHER`).

    Attributes:
        data_dir: the folder that holds `multi30k/`.
        source: language to translate from.
        target: language to translate to.
    """

    data_dir: str | Path
    source: str = "en"
    target: str = "de"
    name: str = field(default="multi30k", init=False)

    def __post_init__(self) -> None:
        self.languages = two_languages(self.source, self.target)

    def fingerprint(self) -> str:
        """The hash of every file, sources before targets."""
        return content_hash([path for pair in self._files().values() for path in pair])

    def check_files(self) -> None:
        """See `Corpus`; what is published is downloaded when it is needed."""
        self._found()

    def load(self) -> dict[str, Iterator[Pair]]:
        """Reads the files as they are needed.

        Raises:
            FileNotFoundError: a file is missing and cannot be downloaded.
            ValueError: a file cannot be used; names file and line.
        """
        return {split: read_pairs(*pair) for split, pair in self._files().items()}

    def _files(self) -> dict[str, tuple[Path, Path]]:
        """Source and target of each split; what is missing is downloaded first.

        Raises:
            FileNotFoundError: files are missing and cannot be downloaded; names all of them.
        """
        paths = {name: path or self._raw / f"{name}.gz" for name, path in self._found().items()}
        missing = [name for name, path in paths.items() if not path.is_file()]
        for number, name in enumerate(missing, start=1):
            try:
                download(_PUBLISHED[f"{name}.gz"], paths[name])
            except FileNotFoundError as error:
                others = ", ".join(f"{other}.gz" for other in missing[number:])
                raise FileNotFoundError(f"{error}{others and f'; likewise {others}'}") from error
        source, target = self.languages
        splits = {
            split: (paths[f"{stem}.{source}"], paths[f"{stem}.{target}"]) for split, stem in FILES.items()
        }
        for stem in FURTHER:
            pair = [packed_or_not(self._raw, f"{stem}.{language}") for language in self.languages]
            if pair[0] and pair[1]:
                splits[stem] = (pair[0], pair[1])
        return splits

    def _found(self) -> dict[str, Path | None]:
        """The file of each name; None where it is missing and can be downloaded.

        Raises:
            FileNotFoundError: files are missing that are not published; names all of them.
        """
        raw = self._raw
        names = [f"{stem}.{language}" for stem in FILES.values() for language in self.languages]
        found = {name: packed_or_not(raw, name) for name in names}
        unpublished = [name for name, path in found.items() if not path and f"{name}.gz" not in _PUBLISHED]
        if unpublished:
            known = sorted({path.name.removesuffix(".gz").rpartition(".")[2] for path in raw.glob("train.*")})
            raise FileNotFoundError(
                f"{raw} lacks {', '.join(unpublished)} (each may end in .gz), and only English (en) and"
                f" German (de) are downloaded; there is a train file for {', '.join(known) or 'no language'}"
            )
        return found

    @property
    def _raw(self) -> Path:
        return Path(self.data_dir).expanduser() / "multi30k" / "raw"
