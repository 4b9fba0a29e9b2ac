"""SICK: sentences that involve compositional knowledge (Marelli et al. 2014)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.text.columns import Column, Degree, Label, Text
from data.text.corpus import Corpus
from data.text.text_files import content_hash, read_lines

_FILES = {"train": "SICK_train.txt", "val": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_HEADER = ["pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"]


@dataclass(kw_only=True)
class Sick(Corpus):
    """Pairs of sentences, with a label or with a degree: 4,500, 500 and 4,927 of them.

    Attributes:
        data_dir: the folder that holds `sick/`.
        degrees: asks how related two sentences are, from 1 to 5; else whether one entails the other.
    """

    data_dir: str | Path
    degrees: bool = False
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = "sick_degrees" if self.degrees else "sick"

    @property
    def columns(self) -> dict[str, Column]:
        """Two sentences, and what they are to each other."""
        texts = {"left": Text("en"), "right": Text("en")}
        if self.degrees:
            return {**texts, "degree": Degree(1.0, 5.0)}
        return {**texts, "label": Label(("contradiction", "entailment", "neutral"))}

    def fingerprint(self) -> str:
        """The hashes of the files, and what is asked."""
        return f"{self.degrees} {content_hash(list(self._paths().values()))}"

    def check_files(self) -> None:
        """See `Corpus`."""
        for path in self._paths().values():
            if not path.is_file():
                raise FileNotFoundError(
                    f"sick needs {path}: get the files of SemEval-2014 task 1 (1 MB) from"
                    f" https://alt.qcri.org/semeval2014/task1/ and put them into {path.parent}"
                )

    def load(self) -> dict[str, Iterator[tuple[Any, ...]]]:
        """Reads the files as they are needed."""
        self.check_files()
        return {split: self._read(path) for split, path in self._paths().items()}

    def _paths(self) -> dict[str, Path]:
        folder = Path(self.data_dir).expanduser() / "sick"
        return {split: folder / name for split, name in _FILES.items()}

    def _read(self, path: Path) -> Iterator[tuple[Any, ...]]:
        """The pairs of a file.

        Raises:
            ValueError: it cannot be used; names the line.
        """
        for number, line in enumerate(read_lines(path), start=1):
            cells = line.split("\t")
            if number == 1 and cells != _HEADER:
                raise ValueError(f"{path}, line 1: must name the columns {', '.join(_HEADER)}, got {line!r}")
            if len(cells) != len(_HEADER):
                raise ValueError(f"{path}, line {number}: {len(cells)} columns, must be {len(_HEADER)}")
            if number == 1:
                continue
            _, left, right, degree, label = cells
            try:
                yield left, right, float(degree) if self.degrees else label.lower()
            except ValueError:
                raise ValueError(f"{path}, line {number}: {degree!r} is no number") from None
