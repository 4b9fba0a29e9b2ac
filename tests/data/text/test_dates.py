"""The dates corpus."""

import random
import re
from datetime import date

import pytest

from data.text.dates import FIRST, LAST, LOCALES, Dates, formats


@pytest.fixture(scope="module")
def splits() -> dict[str, list[tuple[str, str]]]:
    loaded = Dates(seed=3, train=4_000, validation=200, test=300).load()
    return {
        split: list(zip(pairs[:]["source"], pairs[:]["target"], strict=True))
        for split, pairs in loaded.items()
    }


def test_sizes_and_splits(splits: dict[str, list[tuple[str, str]]]) -> None:
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        "train": 4_000,
        "val": 200,
        "test": 300,
        "test_unseen_formats": 300,
    }


def test_targets_are_iso_dates_of_the_range(splits: dict[str, list[tuple[str, str]]]) -> None:
    for pairs in splits.values():
        for _, target in pairs:
            assert FIRST <= date.fromisoformat(target) <= LAST
            assert len(target) == 10


def test_no_date_is_in_two_splits(splits: dict[str, list[tuple[str, str]]]) -> None:
    days = {split: {target for _, target in pairs} for split, pairs in splits.items()}
    for split, others in days.items():
        assert all(others.isdisjoint(days[other]) for other in days if other != split)


def test_every_input_names_one_date(splits: dict[str, list[tuple[str, str]]]) -> None:
    """Among what is generated, and among all formats with the spellings that they are varied to."""
    meaning: dict[str, str] = {}
    for source, target in (pair for pairs in splits.values() for pair in pairs):
        assert meaning.setdefault(source, target) == target
    days = [
        date(year, month, day)
        for year in (1950, 1999, 2049)
        for month in range(1, 13)
        for day in (1, 2, 12, 28)
    ]
    for style in formats(held_out=False) + formats(held_out=True):
        for day in days:
            text = style.write(day)
            for written in (text, re.sub(r"(?<=[^\W\d])\.", "", text)):
                for cased in (written, written.lower(), written.upper()):
                    assert meaning.setdefault(cased, day.isoformat()) == day.isoformat()


def test_figures_for_months_stand_behind_a_locale(splits: dict[str, list[tuple[str, str]]]) -> None:
    for source, _ in (pair for pairs in splits.values() for pair in pairs):
        tag, _, written = source.rpartition(": ")
        assert tag in ("", *LOCALES)
        assert len(re.findall(r"\d+", written)) == (3 if tag else 2), source


def test_held_out_formats_are_in_no_other_split() -> None:
    seen, unseen = formats(held_out=False), formats(held_out=True)
    assert {(str(style.locale), style.pattern.pattern) for style in seen}.isdisjoint(
        (str(style.locale), style.pattern.pattern) for style in unseen
    )
    assert {str(style.locale) for style in unseen} == set(LOCALES)
    day = date(2021, 9, 4)
    assert "Sat, Sep 4, 2021" in [style.write(day) for style in unseen]
    assert "en_US: 9/4/2021" in [style.write(day) for style in unseen]
    written = [style.write(day) for style in seen]
    assert {"September 4, 2021", "4 September 2021", "en_US: 9/4/21", "de_DE: 04.09.2021"} <= set(written)
    assert "sv_SE: 2021-09-04" in written  # known by a held-out name, too, but also as the short format


def test_test_unseen_formats_holds_only_unseen_formats(splits: dict[str, list[tuple[str, str]]]) -> None:
    def spellings(day: date, held_out: bool) -> set[str]:
        texts = {style.write(day) for style in formats(held_out)}
        return {re.sub(r"(?<=[^\W\d])\.", "", text).lower() for text in texts}

    for split, held_out in (("test", False), ("val", False), ("test_unseen_formats", True)):
        for source, target in splits[split]:
            plain = re.sub(r"(?<=[^\W\d])\.", "", source).lower()
            assert plain in spellings(date.fromisoformat(target), held_out), (split, source)


def test_the_seed_is_the_data() -> None:
    small = {"train": 50, "validation": 5, "test": 5}
    state = random.getstate()
    first, again, other = (Dates(seed=seed, **small).load() for seed in (1, 1, 2))
    assert random.getstate() == state
    assert first["train"][:] == again["train"][:]
    assert first["train"][:] != other["train"][:]
    assert Dates(seed=1, **small).fingerprint() != Dates(seed=2, **small).fingerprint()


def test_more_lines_than_days_write_days_twice() -> None:
    pairs = Dates(seed=1, train=40_000, validation=1, test=18_000).load()["train"][:]["target"]
    assert len(pairs) == 40_000
    assert len(set(pairs)) == (LAST - FIRST).days + 1 - 1 - 2 * 18_000


@pytest.mark.parametrize(
    "sizes", [{"train": 0}, {"test": 0}, {"validation": -1}, {"test": 18_200, "validation": 200}]
)
def test_senseless_sizes(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(sizes))}.*{next(iter(sizes.values()))}"):
        Dates(seed=1, **{"train": 10, "validation": 10, "test": 10} | sizes)
