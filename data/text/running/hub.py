"""Any set of texts that `datasets` reads, as running text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.text.columns import Column, Text
from data.text.corpus import Corpus
from data.text.hub_set import HubSet
from data.text.labelled.holding_out import require_share, with_held_out
from data.text.running.corpora import Document
from zoo.core.text import is_blank

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(kw_only=True)
class HubRunningText(HubSet, Corpus):
    """A set of `datasets` with a column of texts, each row a document; see `HubSet`.

    Blank rows are left out. Splits that the set lacks are held out of its `train`, a share of its rows.

    Attributes:
        text: name of the column of texts.
        held_out: which share; above 0 and below 0.5.
    """

    text: str = "text"
    held_out: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_share(self.held_out)

    @property
    def columns(self) -> dict[str, Column]:
        """The text."""
        return {"text": Text(self.language)}

    def fingerprint(self) -> str:
        """How it is read, and its content."""
        return self.content(self.text, self._splits, self.held_out, self.configuration)

    def load(self) -> Mapping[str, Iterator[Document]]:
        """Finds or downloads the set; see `HubSet.tables`."""
        tables = self.tables(self.text)
        rows = with_held_out(
            self.name,
            tables,
            lambda split: ((text, "document") for text in self._texts(tables[split], split)),
            self.held_out,
        )
        return {split: ((str(text),) for text, _ in found) for split, found in rows.items()}

    def _texts(self, table: Dataset, split: str) -> Iterator[str]:
        for rows in table.iter(1000):
            for text in rows[self.text]:
                if not isinstance(text or "", str):
                    raise ValueError(f"split {split} of {self.where}: {self.text} is no text: {text!r}")
                if not is_blank(text or ""):
                    yield text
