"""Any set of pairs of texts with an answer each that `datasets` reads."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from data.text.answered_pairs import AnsweredPairs, Found, Row
from data.text.hub_set import HubSet, named
from data.text.tables import as_text
from zoo.core.text import is_blank

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class HubPairs(HubSet, AnsweredPairs):
    """A set of `datasets` with two columns of texts and one of answers; see `HubSet` and `AnsweredPairs`.

    Rows that lack a text or an answer are left out and counted in the log.
    """

    _example = "nyu-mll/glue"

    def __post_init__(self) -> None:
        HubSet.__post_init__(self)
        AnsweredPairs.__post_init__(self)

    def fingerprint(self) -> str:
        """How it is read, and its content."""
        return self.content(
            self._names, self.labels, self.degrees, self._splits, self.held_out, self.configuration
        )

    def load(self) -> Mapping[str, Iterator[Row]]:
        """Finds or downloads the set; see `HubSet.tables`."""
        self._tables = self.tables(*dict.fromkeys(self._names))
        return super().load()

    def given(self) -> Collection[str]:
        """See `AnsweredPairs`."""
        return self._splits

    def rows(self, split: str) -> Iterator[Found]:
        """See `AnsweredPairs`."""
        table, left_out = self._tables[split], 0
        feature = table.features[self.answer]
        where = f"split {self._splits[split]} of {self.where}"
        for rows in table.iter(1000):
            for left, right, answer, *group in zip(*(rows[name] for name in self._names), strict=True):
                values = left, right, answer if self.degrees else named(feature, answer), *group
                if any(one is None or is_blank(str(one)) for one in values):
                    left_out += 1
                else:
                    texts = as_text(where, self.left, left), as_text(where, self.right, right)
                    yield where, (*texts, *values[2:])
        if left_out:
            _log.warning("%s: %d rows lack a text or an answer and are left out", where, left_out)
