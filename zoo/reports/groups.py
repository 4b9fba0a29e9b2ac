"""Runs of one configuration, and what sets configurations apart."""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoo.core.flat import flat
from zoo.core.reading import read_yaml
from zoo.reports.names import label, recipe_of
from zoo.reports.runs import Run
from zoo.reports.seeds import SeedDifference, seed_difference
from zoo.reports.short_names import RowName, short_names
from zoo.runs.results import hashed_config
from zoo.runs.typed import special

_SHORT = 6
"""Characters of a hash that tell two groups of one name apart."""
_UNHASHED = (
    *("data.train=", "data.images.path=", "+callbacks"),
    *("trainer.val_check_interval=", "trainer.check_val_every_n_epoch="),
)
"""Beginnings of what may change a result without changing a config_hash."""


@dataclass(frozen=True)
class Group:
    """The runs of one configuration: one for each seed and, of data that is cross-validated, for each fold.

    Attributes:
        label: what was typed beyond the recipe and beyond what was typed in all groups, else the recipe;
            where several words led to the same, each of them. No two groups of a comparison share one.
        runs: in order of their folds and seeds.
        settings: what the configuration says where the groups of a comparison differ, by key.
        names: what else it may be called: each of several words, and all that was typed for a run.
        short: the label where there is little room; no two groups share one either.
        repeated: further runs of these folds and seeds, which count in no mean.
    """

    label: str
    runs: tuple[Run, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    short: str = ""
    repeated: tuple[Run, ...] = ()

    @property
    def seeds(self) -> list[int]:
        """Those that are known."""
        return sorted({run.seed for run in self.runs if run.seed is not None})

    @property
    def folds(self) -> list[int]:
        """Those that were tested; none of data that has a test split."""
        return sorted({run.fold for run in self.runs if run.fold is not None})

    @property
    def missing_folds(self) -> list[int]:
        """Those that were not tested."""
        several = max((run.results.get("folds") or 0 for run in self.runs), default=0)
        return sorted({*range(several)} - {*self.folds})

    @property
    def unit(self) -> str:
        """What its mean is a mean of: `fold` or `seed`."""
        return "fold" if self.folds else "seed"

    def paired(self, other: "Group") -> tuple["Group", "Group"]:
        """What of this group and another is compared: all of both or, of folds, the same folds and seeds.

        Where they share no seed, it is all runs of the folds that both have.
        """
        if not self.folds or not other.folds:
            return self, other
        shared = {run.place for run in self.runs} & {run.place for run in other.runs}
        folds = {*self.folds} & {*other.folds}
        own, base = (
            replace(of, runs=tuple(run for run in of.runs if run.place in shared))
            if shared
            else replace(of, runs=tuple(run for run in of.runs if run.fold in folds))
            for of in (self, other)
        )
        return own, base

    def by_unit(self, value: Callable[[Run], float | None]) -> dict[int, float]:
        """What was measured by seed or, of folds, by fold: the mean of its seeds."""
        found: dict[int, list[float]] = defaultdict(list)
        for run in self.runs:
            number = run.fold if self.folds else run.seed
            if number is not None and (measured := value(run)) is not None:
                found[number].append(measured)
        return {number: statistics.fmean(values) for number, values in found.items()}

    def difference(self, other: "Group", value: Callable[[Run], float | None]) -> SeedDifference | None:
        """How far what was measured lies from another group's, see `seed_difference`; folds are pairs."""
        own, base = self.paired(other)
        if self.folds and not {*own.folds} & {*base.folds}:
            return None
        return seed_difference(own.by_unit(value), base.by_unit(value))


def group(runs: Sequence[Run], *, in_full: bool = False) -> list[Group]:
    """Groups runs that differ in nothing but seed and fold.

    The paths of a user's own files are no part of a config_hash, so vocabulary_hash and test_hash tell runs
    on other files apart. Of folds they differ, and so do they of other files; see `require_comparable`.

    Args:
        runs: all of which may be compared.
        in_full: whether labels name what was typed in all groups, too, in the order in which it was typed.

    Returns:
        Groups in the order of their first runs. Of runs that repeat a fold and a seed the one with the fewest
        overrides counts, of those the last.
    """
    together: dict[tuple[str, ...], dict[Any, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        together[_key(run)][run.place].append(run)
    counted, repeated = [], []
    for places in together.values():
        ordered = [places[place] for place in sorted(places, key=lambda place: [part or 0 for part in place])]
        chosen = tuple(min(reversed(same), key=lambda run: len(special(run.overrides))) for same in ordered)
        counted.append(chosen)
        repeated.append(
            tuple(
                _repeating(run, one)
                for one, same in zip(chosen, ordered, strict=True)
                for run in same
                if run is not one
            )
        )
    everyone = [(*of, *more) for of, more in zip(counted, repeated, strict=True)]
    names, keys = _names(everyone, in_full), list(together)
    labels = _told_apart([" or ".join(dict.fromkeys(of.values())) for of in names], keys)
    shorts = _told_apart(_short_names(labels, everyone), keys)
    return [
        Group(label, of, settings, frozenset({short, *typed, *typed.values()}), short, more)
        for label, short, of, settings, typed, more in zip(
            labels, shorts, counted, _varying(counted), names, repeated, strict=True
        )
    ]


def _repeating(run: Run, counted: Run) -> Run:
    fold = "" if run.fold is None else f"fold {run.fold}, "
    return replace(run, left_out=f"it repeats {fold}seed {run.seed} of {counted.path}")


def mixed(groups: Sequence[Group]) -> list[str]:
    """A line for each group whose runs differ in overrides that are no part of a config_hash.

    A user's own files may have moved or be others; other validation steps may pick another checkpoint.
    """
    lines = []
    for one in groups:
        typed = dict.fromkeys(
            " ".join(text for text in run.overrides if text.startswith(_UNHASHED)) for run in one.runs
        )
        if len(typed) > 1:
            said = "; ".join(text or "(nothing)" for text in typed)
            lines.append(f"{one.short}: counted as one configuration, but typed as: {said}")
    return lines


def _key(run: Run) -> tuple[str, ...]:
    if not run.results:
        return (str(run.path),)
    if run.fold is not None:  # each fold has a vocabulary and test items of its own
        return (str(run.results.get("config_hash")), "folds")
    hashes = ("config_hash", "vocabulary_hash", "test_hash")
    return tuple(str(run.results.get(name)) for name in hashes)


def _names(groups: Sequence[Sequence[Run]], in_full: bool) -> list[dict[str, str]]:
    """What tells each group's runs from other groups', by all that was typed for them.

    What was typed in all groups tells none apart, and is left out; so is the order in which it was typed.
    """
    everywhere = _typed_everywhere(groups) if len(groups) > 1 else set()

    def named(typed: Sequence[str]) -> Sequence[str]:
        return typed if in_full else sorted({*typed} - everywhere)

    recipes = {run.results.get("experiment") for of in groups for run in of}
    only = recipes.pop() if len(recipes) == 1 else ""
    return [
        {
            _label(run, only, special(run.overrides)): _label(run, only, named(special(run.overrides)))
            for run in of
        }
        for of in groups
    ]


def _typed_everywhere(groups: Sequence[Sequence[Run]]) -> set[str]:
    """The overrides that can change a result and were typed for every run."""
    return set.intersection(*(set(special(run.overrides)) for of in groups for run in of))


def _short_names(labels: Sequence[str], groups: Sequence[Sequence[Run]]) -> list[str]:
    """Of each group, by the run for which least was typed."""
    everywhere = _typed_everywhere(groups) if groups else set()
    rows = []
    for whole, of in zip(labels, groups, strict=True):
        run = min(of, key=lambda run: len(special(run.overrides)))
        recipe = recipe_of(run.results)
        rows.append(RowName(whole, recipe, {*special(run.overrides)} - everywhere))
    return short_names(rows)


def _label(run: Run, recipe: str | None, typed: Sequence[str]) -> str:
    return label({**run.results, "overrides": typed}, of=recipe) if run.results else str(run.path)


def _told_apart(labels: Sequence[str], keys: Sequence[tuple[str, ...]]) -> list[str]:
    """Adds to each name that several groups share as much of its key as it takes."""
    names = list(labels)
    for length in (_SHORT, None):
        for parts in (1, 2):
            shared = {name for name, count in Counter(names).items() if count > 1}
            names = [
                f"{label} ({', '.join(part[:length] for part in key[:parts])})" if name in shared else name
                for name, label, key in zip(names, labels, keys, strict=True)
            ]
    return names


def _varying(groups: Sequence[Sequence[Run]]) -> list[dict[str, str]]:
    """The settings in which the groups' configurations differ; of keys with the same values only the first.

    Keys that were typed come first. Kept results and predictions have no configuration, so a setting that
    they do not name is unknown: beside configurations they add no key.
    """
    typed = [_typed(runs[0]) for runs in groups]
    configs = [next(filter(None, (_config(run.path) for run in runs)), {}) for runs in groups]
    texts = [config or one for config, one in zip(configs, typed, strict=True)]
    deciding = [config for config in configs if config]
    if len(deciding) < 2:  # nothing to set a configuration against but what was typed
        texts, deciding = typed, [one for one in typed if one]
    first = {key for one in typed for key in one}
    keys = {key: None for one in deciding for key in one}
    chosen: dict[tuple[str, ...], str] = {}
    for key in sorted(keys, key=lambda key: (key not in first, key.count("."))):
        values = tuple(one.get(key, "") for one in deciding)
        if len(set(values)) > 1:
            chosen.setdefault(values, key)
    return [{key: one.get(key, "") for key in chosen.values()} for one in texts]


def _config(path: Path) -> dict[str, str]:
    """The values of a run's config.yaml as text, by full key; nothing where the file is damaged."""
    try:
        config = read_yaml(path / "config.yaml")
        values = flat(hashed_config(config), ".")
        return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values}
    except (OSError, AttributeError, KeyError, TypeError, ValueError):
        return {}


def _typed(run: Run) -> dict[str, str]:
    settings = {"experiment": str(run.results.get("experiment"))} if run.results else {}
    for text in special(run.overrides):
        key, _, value = text.partition("=")
        settings[key.lstrip("+")] = value
    return settings
