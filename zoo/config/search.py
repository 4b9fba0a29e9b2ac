"""What a study searches: settings with an interval or several values, as Hydra's grammar writes them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.override_parser.types import (
    ChoiceSweep,
    Glob,
    IntervalSweep,
    Override,
    QuotedString,
    RangeSweep,
)

from zoo.config.alternatives import KEY, parted
from zoo.config.overrides import parsed
from zoo.core.problems import ConfigError, Problem

if TYPE_CHECKING:  # an extra
    from optuna.trial import Trial

STUDY = "optuna"
"""The choice of `hydra/sweeper` that is a study."""


class Searched(NamedTuple):
    """A setting that each trial draws.

    Attributes:
        name: in the study.
        key: as it was typed, perhaps with a `+`.
        values: all that it may be.
        typed: the whole override.
    """

    name: str
    key: str
    values: ChoiceSweep | RangeSweep | IntervalSweep
    typed: str

    def draw(self, trial: "Trial") -> str:
        """The override of one trial."""
        return f"{self.key}={self._drawn(trial)}"

    def samples(self) -> list[str]:
        """Overrides with every value of a choice, and both ends of anything else."""
        if isinstance(self.values, ChoiceSweep):
            texts = [text for _, text in _choices(self.values)]
        else:
            texts = [repr(value) for value in _bounds(self.values)[:2]]
        return [f"{self.key}={text}" for text in dict.fromkeys(texts)]

    def _drawn(self, trial: "Trial") -> str:
        values = self.values
        if isinstance(values, ChoiceSweep):
            choices = _choices(values)
            value = trial.suggest_categorical(self.name, [plain for plain, _ in choices])
            return next(text for plain, text in choices if plain == value and type(plain) is type(value))
        low, high, steps = _bounds(values)
        suggest: Any = trial.suggest_int if isinstance(low, int) else trial.suggest_float
        return repr(suggest(self.name, low, high, **steps))


class Alternatives(NamedTuple):
    """What `either=(...),(...)` leaves open.

    Attributes:
        name: in the study.
        searches: what each pair of parentheses holds, by its text.
    """

    name: str
    searches: dict[str, "Search"]


class Search(NamedTuple):
    """A command line of a study.

    Attributes:
        fixed: overrides of every trial.
        settings: what each trial draws.
        alternatives: of which each trial takes one.
    """

    fixed: list[str]
    settings: list[Searched]
    alternatives: list[Alternatives]

    def draw(self, trial: "Trial") -> list[str]:
        """The overrides of one trial that not all have."""
        drawn = [setting.draw(trial) for setting in self.settings]
        for name, searches in self.alternatives:
            search = searches[trial.suggest_categorical(name, list(searches))]
            drawn += [*search.fixed, *search.draw(trial)]
        return drawn

    def samples(self) -> Iterator[list[str]]:
        """Lines of overrides in which every sample of every setting occurs: not their product."""
        columns = [[[text] for text in setting.samples()] for setting in self.settings]
        for _, searches in self.alternatives:
            columns.append([line for search in searches.values() for line in search.samples()])
        first = [column[0] for column in columns]
        yield [*self.fixed, *chain(*first)]
        for place, column in enumerate(columns):
            for other in column[1:]:
                yield [*self.fixed, *chain(*first[:place], other, *first[place + 1 :])]

    def described(self) -> Iterator[tuple[str, str]]:
        """Every setting that is searched, and what it may be, as typed."""
        for setting in self.settings:
            yield setting.name, setting.typed.partition("=")[2]
        for name, searches in self.alternatives:
            yield name, ", ".join(f"({text})" for text in searches)


def read_search(overrides: Sequence[str]) -> Search:
    """Reads a command line.

    Raises:
        ConfigError: an override cannot be read, an interval is empty, or nothing is searched.
    """
    plain, alternatives = parted(overrides)
    search = _read(plain)
    for number, several in enumerate(alternatives, 1):
        name = f"{KEY} {number}" if len(alternatives) > 1 else KEY
        search.alternatives.append(
            Alternatives(name, _apart({" ".join(texts): _read(texts) for texts in several}))
        )
    if not search.settings and not search.alternatives:
        problem = "has nothing to search: give a setting an interval or several values"
        raise ConfigError([Problem(f"hydra/sweeper={STUDY}", problem)])
    return search


def _read(overrides: Sequence[str]) -> Search:
    read, problems = parsed(overrides)
    search = Search([], [], [])
    for override in read:
        typed = str(override.input_line)
        if not override.is_sweep_override():
            search.fixed.append(typed)
            continue
        setting = _searched(override, typed)
        if reason := _impossible(setting.values):
            problems.append(Problem(typed, reason))
        search.settings.append(setting)
    if problems:
        raise ConfigError(problems)
    return search


def _searched(override: Override, typed: str) -> Searched:
    values: Any = override.value()
    if isinstance(values, Glob):
        values = ChoiceSweep(list=list(override.sweep_iterator()))
    key = override.get_key_element()
    return Searched(key.lstrip("+"), key, values, typed)


def _impossible(values: ChoiceSweep | RangeSweep | IntervalSweep) -> str | None:
    """What is wrong with values, beyond what Hydra's grammar finds."""
    if isinstance(values, RangeSweep):
        return None if any(True for _ in values.range()) else "has no value: the range is empty"
    if isinstance(values, ChoiceSweep) and not values.list:
        return "has no value: no file has such a name"
    if isinstance(values, IntervalSweep):
        assert values.start is not None
        assert values.end is not None
        if not values.start < values.end:
            return f"must begin below its end, got {values.start} and {values.end}"
        if "log" in values.tags and values.start <= 0:
            return f"has no logarithm at its beginning, {values.start}"
    return None


def _apart(searches: dict[str, Search]) -> dict[str, Search]:
    """Gives settings of one key whose values differ between alternatives names of their own."""
    kinds = defaultdict(set)
    for search in searches.values():
        for setting in search.settings:
            kinds[setting.name].add(setting.typed)
    return {
        text: search._replace(
            settings=[
                one if len(kinds[one.name]) == 1 else one._replace(name=f"{one.name} in ({text})")
                for one in search.settings
            ]
        )
        for text, search in searches.items()
    }


def _choices(values: ChoiceSweep) -> list[tuple[bool | int | float | str | None, str]]:
    """Each choice as a study keeps it, and as it is typed."""
    found = []
    for one in values.list:
        text = Override._get_value_element_as_str(one)
        plain = one.text if isinstance(one, QuotedString) else one
        known = plain is None or isinstance(plain, bool | int | float | str)
        found.append((plain if known else text, text))
    return found  # type: ignore[return-value]


def _bounds(values: RangeSweep | IntervalSweep) -> tuple[Any, Any, dict[str, Any]]:
    """The smallest and the largest value, both whole numbers or neither, and how the ones between lie."""
    if isinstance(values, RangeSweep):
        numbers: Any = values.range()
        if not isinstance(numbers, range):  # which has ends, however long it is
            numbers = list(numbers)
        ends = (numbers[0], numbers[-1])
        return min(ends), max(ends), {"step": abs(values.step)}
    low: Any = values.start
    high: Any = values.end
    if not (isinstance(low, int) and isinstance(high, int)):
        low, high = float(low), float(high)
    return low, high, {"log": "log" in values.tags}
