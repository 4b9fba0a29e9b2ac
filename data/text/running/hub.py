"""Any set of texts that `datasets` reads, as running text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from data.text.columns import Column, Text
from data.text.labelled.holding_out import with_held_out
from data.text.labelled.hub_texts import HubTexts, require_there
from data.text.running.corpora import Document
from zoo.core.text import is_blank


@dataclass(kw_only=True)
class HubRunningText(HubTexts):
    """A set of `datasets` with a column of texts, each row a document; see `HubTexts`.

    Blank rows are left out. Splits that the set lacks are held out of its `train`, a share of its rows.
    """

    label: str = field(default="", init=False)
    documents: bool = field(default=False, init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """The text."""
        return {"text": Text(self.language)}

    def load(self) -> Mapping[str, Iterator[Document]]:  # type: ignore[override]  # without labels
        """See `HubTexts`."""
        tables = self._tables()
        for split in self._splits.values():
            require_there(self._where(), "split", split, list(map(str, tables)))
            where = f"split {split} of {self._where()}"
            require_there(where, "column", self.text, tables[split].column_names)
        rows = with_held_out(
            self.name,
            self._splits,
            lambda split: ((text, "document") for text in self._texts(tables[self._splits[split]], split)),
            self.held_out,
        )
        return {split: ((str(text),) for text, _ in found) for split, found in rows.items()}

    def _texts(self, table: object, split: str) -> Iterator[str]:
        for rows in table.select_columns([self.text]).iter(1000):  # type: ignore[attr-defined]
            for text in rows[self.text]:
                if not isinstance(text or "", str):
                    raise ValueError(f"split {split} of {self._where()}: {self.text} is no text: {text!r}")
                if not is_blank(text or ""):
                    yield text
