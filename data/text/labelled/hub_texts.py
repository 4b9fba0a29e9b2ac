"""Any set of texts with a label that `datasets` reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.text.columns import Column, Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.hub_set import HubSet, named
from data.text.labelled.folds import Example
from data.text.labelled.holding_out import require_share, with_held_out
from zoo.core.sentences import split_sentences
from zoo.core.text import is_blank

if TYPE_CHECKING:
    from datasets import Dataset

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class HubTexts(HubSet, Corpus):
    """A set of `datasets` with a column of texts and one of labels; see `HubSet`.

    Splits that it lacks are held out of its `train`, see `data.text.labelled.holding_out`. Rows without a
    text or a label are left out and counted in the log.

    Attributes:
        text: name of the column of texts.
        label: name of the column of labels: names, or numbers of classes.
        held_out: share of each label to hold out; above 0 and below 0.5.
        documents: whether texts are cut into sentences.
    """

    text: str = "text"
    label: str = "label"
    held_out: float = 0.1
    documents: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_share(self.held_out)

    @property
    def columns(self) -> dict[str, Column]:
        """A text or a document, and its label."""
        kind: Column = Sentences(self.language) if self.documents else Text(self.language)
        return {"text": kind, "label": Label()}

    def fingerprint(self) -> str:
        """How it is read, and its content."""
        return self.content(
            self.text, self.label, self._splits, self.held_out, self.documents, self.configuration
        )

    def load(self) -> Mapping[str, Iterator[Example]]:
        """Finds or downloads the set; see `HubSet.tables`."""
        tables = self.tables(self.text, self.label)
        return with_held_out(self.name, tables, lambda split: self._read(split, tables[split]), self.held_out)

    def _read(self, split: str, table: Dataset) -> Iterator[Example]:
        feature, left_out = table.features[self.label], 0
        for rows in table.iter(1000):
            for text, value in zip(rows[self.text], rows[self.label], strict=True):
                label = named(feature, value)
                if not isinstance(text or "", str):
                    raise ValueError(f"split {split} of {self.where}: {self.text} is no text: {text!r}")
                if is_blank(text or "") or is_blank(label):
                    left_out += 1
                else:
                    yield (split_sentences(text) if self.documents else text), label
        if left_out:
            _log.warning(
                "%s, split %s: %d rows lack a text or a label and are left out", self.name, split, left_out
            )
