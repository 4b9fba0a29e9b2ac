"""Human-written dates in several languages to ISO 8601: a small, real translation task without a download."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import cycle, islice
from typing import TYPE_CHECKING

import babel
from babel import Locale
from babel.dates import DateTimePattern, parse_pattern

from data.text.corpus import GeneratedCorpus, PairCorpus

if TYPE_CHECKING:
    from datasets import Dataset

LOCALES = ("en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pt_BR", "sv_SE")

FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)
"""Exactly a hundred years, so that even a year of two digits names one year."""

DAYS = (LAST - FIRST).days + 1

HELD_OUT = ("yMMMEd", "yMd")
"""Never trained on: weekday with abbreviated month ("Sat, Sep 4, 2021"), and figures with the whole year."""


@dataclass(frozen=True)
class Format:
    """One way to write a date in one place of the world."""

    locale: Locale
    pattern: DateTimePattern

    def write(self, day: date) -> str:
        """The date in this format; a month in figures only behind the locale that says which figure it is."""
        text = " ".join(self.pattern.apply(day, self.locale).split())
        return text if "MMM" in self.pattern.pattern else f"{self.locale}: {text}"


def formats(held_out: bool) -> list[Format]:
    """All formats of `babel`'s locale data: full, long, medium, short, and what its skeletons add.

    Args:
        held_out: those that training never sees instead of those that it does.
    """
    return [
        Format(locale, parse_pattern(pattern))
        for locale in map(Locale.parse, LOCALES)
        for pattern, names in _patterns(locale).items()
        if held_out == (names <= set(HELD_OUT))
    ]


def _patterns(locale: Locale) -> dict[str, set[str]]:
    """Each distinct pattern with a full date, and the names it goes by."""
    named = dict(locale.date_formats) | {
        name: pattern
        for name, pattern in locale.datetime_skeletons.items()
        if {"y", "M", "d"} <= set(name) <= {"y", "M", "d", "E"}
    }
    patterns: dict[str, set[str]] = {}
    for name, pattern in named.items():
        patterns.setdefault(pattern.pattern, set()).add(name)
    return patterns


def _vary(text: str, generator: random.Random) -> str:
    """As people write: sometimes all small, all capital, or with the dots of abbreviations left out."""
    if generator.random() < 0.25:
        text = re.sub(r"(?<=[^\W\d])\.", "", text)
    tag, colon, written = text.rpartition(": ")
    cases: list[Callable[[str], str]] = [str, str.lower, str.upper]
    return tag + colon + generator.choices(cases, weights=[8, 3, 1])[0](written)


@dataclass(kw_only=True)
class Dates(GeneratedCorpus, PairCorpus):
    """Dates between 1950 and 2049 as people write them, and in ISO 8601.

    Splits are made by date, not by line: no date of `val`, `test` or `test_unseen_formats` is trained on in
    any format. `test` has the formats of training, `test_unseen_formats` has others.

    Attributes: those of `GeneratedCorpus`.
    """

    name: str = field(default="dates", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validation + 2 * self.test >= DAYS:
            raise ValueError(
                f"validation + 2 x test must leave some of the {DAYS} days to train on,"
                f" got {self.validation} + 2 x {self.test}"
            )

    def fingerprint(self) -> str:
        """The parameters, and the version of the locale data."""
        return f"{super().fingerprint()} babel {babel.__version__}"

    def load(self) -> dict[str, Dataset]:
        """Writes the lines of all splits."""
        from datasets import Dataset  # here, because it takes long

        generator = random.Random(self.seed)
        days = [FIRST + timedelta(days=number) for number in range(DAYS)]
        generator.shuffle(days)
        shuffled = iter(days)
        seen, unseen = formats(held_out=False), formats(held_out=True)

        def lines(days: Iterator[date], count: int, styles: list[Format]) -> Dataset:
            chosen = list(islice(days, count))
            source = [_vary(generator.choice(styles).write(day), generator) for day in chosen]
            return Dataset.from_dict({"source": source, "target": [day.isoformat() for day in chosen]})

        return {
            "val": lines(shuffled, self.validation, seen),
            "test": lines(shuffled, self.test, seen),
            "test_unseen_formats": lines(shuffled, self.test, unseen),
            "train": lines(cycle(shuffled), self.train, seen),
        }
