"""SNLI: does one sentence entail another (Bowman et al. 2015)?"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.core.paths import packed_or_not
from data.text.columns import Column, Label, Text
from data.text.corpus import Corpus
from data.text.text_files import content_hash, read_json_line, read_lines

_CLASSES = ("contradiction", "entailment", "neutral")

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Snli(Corpus):
    """Pairs of a premise and a hypothesis. Those whose annotators did not agree (label `-`) are left out.

    Attributes:
        data_dir: the folder that holds `snli/`, with `snli_1.0_{train,dev,test}.jsonl` or the same as `.gz`.
        sample: trains on `train_sample_18000.jsonl` of that folder, 3.6 % of train drawn by others; its
            figures do not compare with published ones, so the set has another name.
    """

    data_dir: str | Path
    sample: bool = False
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = "snli_sample" if self.sample else "snli"

    @property
    def columns(self) -> dict[str, Column]:
        """Premise, hypothesis and label."""
        return {"left": Text("en"), "right": Text("en"), "label": Label(_CLASSES)}

    def fingerprint(self) -> str:
        """The hashes of the files."""
        return content_hash(list(self._paths().values()))

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def load(self) -> dict[str, Iterator[tuple[Any, ...]]]:
        """Reads the files as they are needed.

        Raises:
            FileNotFoundError: a file is missing.
        """
        return {split: self._read(split, path) for split, path in self._paths().items()}

    def _paths(self) -> dict[str, Path]:
        folder = Path(self.data_dir).expanduser() / "snli"
        train = "train_sample_18000.jsonl" if self.sample else "snli_1.0_train.jsonl"
        names = {"train": train, "val": "snli_1.0_dev.jsonl", "test": "snli_1.0_test.jsonl"}
        paths = {}
        for split, name in names.items():
            if (path := packed_or_not(folder, name)) is None:
                raise FileNotFoundError(
                    f"{self.name} needs {folder / name}, or {name}.gz: unpack snli_1.0.zip (95 MB) of"
                    f" https://nlp.stanford.edu/projects/snli/ into {folder}"
                )
            paths[split] = path
        return paths

    def _read(self, split: str, path: Path) -> Iterator[tuple[str, str, str]]:
        """The pairs of a file.

        Raises:
            ValueError: it cannot be used; names the line.
        """
        undecided = 0
        for number, line in enumerate(read_lines(path), start=1):
            try:
                row = read_json_line(line)
                label, left, right = (row[key] for key in ("gold_label", "sentence1", "sentence2"))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: no pair with a gold_label: {error}") from error
            if label == "-":
                undecided += 1
            else:
                yield left.strip(), right.strip(), label
        if undecided:
            _log.info("%s, split %s: %d pairs without a gold label are left out", self.name, split, undecided)
