"""Any set that `datasets` reads, from a folder of files or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.text.text_files import content_hash
from zoo.core.text import check_language

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(kw_only=True)
class HubSet:
    """Where a set of `datasets` lies, and which of its splits are ours.

    Files in `<data_dir>/<name>` are used where they lie, whatever `datasets.load_dataset` reads; otherwise
    the set comes from the hub.

    Attributes:
        data_dir: the folder that may hold a folder of the set's name.
        hub: the set's id on the hub; its last part, or all of it with `_` for `/`, is the folder's name.
        configuration: which of the set's configurations; None where it has one.
        revision: which version of it: a commit, a branch or a tag; None: the newest.
        train: name of the split to train on.
        val: that to validate on; None holds some of `train` out.
        test: that to test on; None holds some of `train` out.
        language: ISO 639 code; may be empty.
    """

    data_dir: str | Path
    hub: str | None
    configuration: str | None = None
    revision: str | None = None
    train: str = "train"
    val: str | None = None
    test: str | None = "test"
    language: str = ""

    def __post_init__(self) -> None:
        if not self.hub:
            raise ValueError(f"hub must be the id of a set, for example data.corpus.hub={self._example}")
        if self.language:
            check_language(self.language)
        splits = {"train": self.train, "val": self.val, "test": self.test}
        self._splits = {ours: theirs for ours, theirs in splits.items() if theirs is not None}
        if len(set(self._splits.values())) < len(self._splits):
            raise ValueError(
                f"train, val and test must be different splits, got {', '.join(self._splits.values())}"
            )
        self.name = self.hub.replace("/", "_")
        places = [
            Path(self.data_dir).expanduser() / name for name in (self.name, self.hub.rpartition("/")[2])
        ]
        self._place = next((place for place in places if place.is_dir()), places[0])

    _example = "stanfordnlp/imdb"

    def content(self, *read: object) -> str:
        """Says how the set is read, and the hash of every file, or which published version it is."""
        if not self._place.is_dir():
            return repr((read, self.hub, self.revision))
        return repr((read, *names_and_hash(self._place)))

    def tables(self, *columns: str) -> dict[str, Dataset]:
        """Finds or downloads the set.

        Args:
            columns: those to keep.

        Returns:
            A table for each of our splits that the set has.

        Raises:
            FileNotFoundError: it is neither there nor could be downloaded; says what was tried.
            ValueError: it lacks a split or a column; says what it has.
        """
        found = self._found()
        kept = {}
        for ours, split in self._splits.items():
            require_there(self.where, "split", split, list(map(str, found)))
            for column in columns:
                require_there(f"split {split} of {self.where}", "column", column, found[split].column_names)
            kept[ours] = found[split].select_columns(list(columns))
        return kept

    @property
    def where(self) -> str:
        """The folder, or the set's id."""
        return str(self._place) if self._place.is_dir() else str(self.hub)

    def _found(self) -> Mapping[str, Dataset]:
        assert self.hub
        absent = (
            f"{self.hub} is neither in {self._place} (Parquet, CSV or JSON lines, a file or folder for"
            f" each of {', '.join(self._splits.values())}), nor could it be had from the Hugging Face hub"
        )
        if self._place.is_dir():
            return load_tables(self._place, absent, name=self.configuration)
        return load_tables(self.hub, absent, name=self.configuration, revision=self.revision)


def load_tables(place: Path | str, absent: str, **options: Any) -> Mapping[str, Dataset]:
    """The tables of a set by split, as `datasets.load_dataset` reads them.

    Args:
        place: a folder of files, or an id on the hub.
        absent: what is said where a set of the hub could not be had.
        options: what `load_dataset` is told further.

    Raises:
        FileNotFoundError: the hub's set could not be downloaded.
        ValueError: the folder cannot be read.
    """
    from datasets import load_dataset  # here, because it takes long

    try:
        tables: Mapping[str, Dataset] = load_dataset(str(place), **options)
    except Exception as error:  # of many libraries: of the hub, the network, the file formats
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(place, Path):
            raise ValueError(f"{place} cannot be read: {reason}") from error
        raise FileNotFoundError(f"{absent}: {reason}") from error
    return tables


def names_and_hash(folder: Path) -> tuple[list[str], str]:
    """The names of all files in a folder and the folders in it, and the hash of what they hold."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files], content_hash(files)


def named(feature: Any, value: Any) -> str:
    """The name of a label; empty for rows without one, whose class is -1 in published sets.

    Args:
        feature: what `datasets` knows of the column.
        value: a number of one of its classes, or whatever else stands there.
    """
    if value is None:
        return ""
    if not hasattr(feature, "int2str"):
        return str(value)
    return str(feature.int2str(value)) if value >= 0 else ""


def require_there(where: str, what: str, name: str, there: list[str]) -> None:
    """Refuses a name that is not there.

    Args:
        where: what lacks it.
        what: what it is, such as `column`.
        name: the name.
        there: those that are there.

    Raises:
        ValueError: names the nearest one and all that are there.
    """
    if name not in there:
        near = get_close_matches(name, there, n=1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"{where} has no {what} {name!r}{meant}; it has {', '.join(there)}")
