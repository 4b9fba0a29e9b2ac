"""Compares groups of runs with a baseline: differences, their intervals and p-values."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zoo.core.plugins import VARIABLE
from zoo.core.problems import similar, unknown
from zoo.metrics import ITEM_SCORES, SummedScore
from zoo.metrics.measure import MetricRecord
from zoo.reports.columns import Column, cost_columns, metric_column
from zoo.reports.comparison.items import Items, language_of, read_items
from zoo.reports.comparison.refusal import comparability_errors, require_comparable
from zoo.reports.groups import Group, group, mixed
from zoo.reports.records import item_score, merged
from zoo.reports.runs import VALIDATION, Run
from zoo.reports.seeds import SeedDifference, Summary
from zoo.reports.significance import Difference, paired_bootstrap
from zoo.runs.status import State
from zoo.runs.typed import special

_FEW_ROWS = 20
"""A message names so many rows; more would hide what it says."""


@dataclass(frozen=True)
class Question:
    """What is asked of the runs.

    Attributes:
        metrics: by what they are compared, the first in full; empty: by what picked their checkpoints.
        split: a test split, or `val` for runs that need not be tested.
        baseline: the name of a group, or a path of one of its runs; None: the first recipe as it stands, else
            the first group.
        samples: test sets that the bootstrap draws.
        seed: of the draw.
        language: of the text, for scores that depend on it; None: as the runs were scored.
    """

    metrics: tuple[str, ...] = ()
    split: str = "test"
    baseline: str | None = None
    samples: int = 1000
    seed: int = 12345
    language: str | None = None


@dataclass(frozen=True)
class Row:
    """What a group measured.

    Attributes:
        group: the runs.
        scores: every metric that may be compared, by its name.
        costs: by their names in results.json, as far as they are known.
        seeds: how the first metric differs from the baseline's, beyond other seeds or folds; None of the
            baseline.
        items: the same beyond other test items; None of the baseline, and of metrics that no sum gives.
    """

    group: Group
    scores: Mapping[str, Summary]
    costs: Mapping[str, Summary]
    seeds: SeedDifference | None = None
    items: Difference | None = None


@dataclass(frozen=True)
class Comparison:
    """The answer.

    Attributes:
        question: with metrics and baseline filled in.
        rows: one for each group, in the order given.
        left_out: runs that are in no mean, with the reason.
        notes: what a reader has to know.
        one_machine: whether all ran on machines of one kind: only then do times compare.
        metrics: how each metric is shown, by its name.
        costs: the same of what runs cost.
        settings: keys in which configurations differ.
    """

    question: Question
    rows: tuple[Row, ...]
    left_out: tuple[Run, ...]
    notes: tuple[str, ...]
    one_machine: bool
    metrics: Mapping[str, Column]
    costs: Mapping[str, Column]
    settings: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """By which the rows are compared in full."""
        return self.question.metrics[0]

    @property
    def data_set(self) -> str:
        """The name of what the runs were tested on; empty where no results say it."""
        results = (run.results for row in self.rows for run in row.group.runs)
        return next((str(one["data_set"]) for one in results if "data_set" in one), "")

    @property
    def unit(self) -> str:
        """What means are means of: `fold` of data that is cross-validated, else `seed`."""
        return self.rows[0].group.unit

    @property
    def baseline(self) -> Row:
        """The row that the others are compared with."""
        return next(row for row in self.rows if row.group.label == self.question.baseline)

    @property
    def named_shortly(self) -> "Comparison":
        """The same of rows with short names, which `--baseline` takes, too."""
        rows = tuple(
            replace(row, group=replace(row.group, label=row.group.short or row.group.label))
            for row in self.rows
        )
        baseline = rows[self.rows.index(self.baseline)].group.label
        return replace(self, rows=rows, question=replace(self.question, baseline=baseline))

    def best(self, name: str) -> list[Row]:
        """The rows with the best mean of a metric or cost; of costs that do not compare none."""
        if name in self.metrics:
            marks = self.metrics[name].best([row.scores.get(name) for row in self.rows])
        elif self.one_machine or name == "parameters":
            marks = self.costs[name].best([row.costs.get(name) for row in self.rows])
        else:
            return []
        return [row for row, best in zip(self.rows, marks, strict=True) if best]


def _nothing_to_compare(left_out: Sequence[Run]) -> str:
    """Why no run can be compared; what holds of several that were not tested is said once."""
    untested = [run for run in left_out if run.is_untested]
    pruned = sum(run.state is State.PRUNED for run in left_out)
    reasons = [
        f"{run.path}: {run.left_out}"
        for run in left_out
        if run.state is not State.PRUNED and (not run.is_untested or len(untested) == 1)
    ]
    if len(untested) > 1:
        remedies = "`--split val` compares without, `zoo test RUN` tests one"
        reasons.insert(0, f"{len(untested)} runs were not tested: {remedies}")
    if pruned:
        reasons.append(f"{pruned} pruned")
    what = "no finished run was tested" if untested else "there is no finished run to compare"
    return f"{what} ({'; '.join(reasons)})"


def compare(runs: Sequence[Run], question: Question) -> Comparison:
    """Compares runs.

    Args:
        runs: of any state; those that did not finish are left out and named.
        question: what is asked.

    Raises:
        ValueError: there is nothing to compare, or runs of other test items or other metrics, or the question
            names a metric, split or baseline that none of them has.
    """
    if question.split == VALIDATION:
        runs = [replace(run, left_out=None) if run.is_untested else run for run in runs]
    left_out = [run for run in runs if run.left_out]
    candidates = [run for run in runs if not run.left_out]
    if not candidates:
        raise ValueError(_nothing_to_compare(left_out))
    metrics = _metrics(candidates, question)
    metric, split = metrics[0], question.split
    require_comparable(candidates, metrics)
    records = merged(run.metrics for run in candidates)
    name = records[metric].items if metric in records else metric if metric in ITEM_SCORES else ""
    name = "" if split == VALIDATION else name  # of which no predictions are kept
    declared = item_score(name, (run.results.get("task") for run in candidates)) if name else None
    scorer, items = None, Items({}, [], "")
    if question.language and not (declared and declared.takes_language):
        raise ValueError(_no_language(metric))
    if declared:
        language = question.language or language_of(candidates)
        scorer = declared.scorer(language)
        items = read_items(candidates, declared, scorer, split, metric, language)
    elif name:
        items.notes.append(
            f"no p over test items: nothing declares {name!r}, by which the results score single items; if a"
            f" package of your own does, name it: {VARIABLE}=my_zoo"
        )
    scored = [_scored(run, items, scorer, split, metric) for run in candidates]
    left_out += [run for run in scored if run.left_out]
    kept = [run for run in scored if not run.left_out]
    if not kept:
        reasons = "; ".join(f"{run.path}: {run.left_out}" for run in left_out)
        raise ValueError(f"there is nothing to compare ({reasons}; {'; '.join(items.notes)})")
    groups = group(kept)
    baseline = _baseline(groups, question.baseline)
    others = {name: None for run in kept for name in run.measured(split)}
    columns = {
        # a table of one split needs no head that names it
        name: replace(metric_column(name, records.get(name) or _undeclared(name, scorer), split), head=name)
        for name in others
        if name in metrics or not comparability_errors(kept, name)
    }
    costs, measured = cost_columns(kept), columns[metric].value
    rows = [
        Row(
            of,
            {name: found for name, column in columns.items() if (found := column.summary(of.runs))},
            {name: found for name, column in costs.items() if (found := column.summary(of.runs))},
            None if of is baseline else of.difference(baseline, measured),
        )
        for of in groups
    ]
    if scorer is not None:
        rows = _with_items(rows, groups.index(baseline), scorer, items, question)
    notes = _notes(kept, items, question, any(row.items for row in rows)) + mixed(groups) + _folds(groups)
    return Comparison(
        question=replace(question, metrics=metrics, baseline=baseline.label),
        rows=tuple(rows),
        left_out=(*left_out, *(run for of in groups for run in of.repeated)),
        notes=tuple(notes),
        one_machine=len({_machine(run) for run in kept if run.results}) < 2,
        metrics=columns,
        costs=costs,
        settings=tuple(groups[0].settings),
    )


def _metrics(runs: Sequence[Run], question: Question) -> tuple[str, ...]:
    """The metrics asked for, or what picked the first run's checkpoint.

    Raises:
        ValueError: no run has such a split, or such a metric.
    """
    splits = {name: None for run in runs for name in (*run.splits, VALIDATION)}
    if any(run.splits for run in runs) and question.split not in splits:
        raise ValueError(f"no run has the split {question.split!r}{unknown(question.split, splits)}")
    measured = list({name: None for run in runs for name in run.measured(question.split)})
    if any(not run.results for run in runs):  # of predictions anything that follows from them can be had
        measured += [name for name in ITEM_SCORES if name not in measured]
    if not measured:
        raise ValueError(f"no run measured anything on {question.split}: the results hold no metric of it")
    for name in question.metrics:
        if name not in measured:
            raise ValueError(f"no run has the metric {name!r} of {question.split}{unknown(name, measured)}")
    if question.metrics:
        return question.metrics
    picked = str((runs[0].results.get("checkpoint") or {}).get("metric", "")).partition("/")[2]
    return (picked if picked in measured else measured[0],)


def _no_language(metric: str) -> str:
    names = [name for name, one in ITEM_SCORES.items() if one.takes_language]
    known = f"--language changes {' and '.join(names)} alone, not {metric}"
    return f"{known}: leave it out, or give --metric {names[0]}"


def _scored(run: Run, items: Items, scorer: SummedScore | None, split: str, metric: str) -> Run:
    """The run, with the score of its predictions where it has no results; left out where it has no score."""
    if scorer is not None and not run.results and run.path in items.statistics:
        value = scorer.score(items.statistics[run.path].sum(axis=0).tolist())
        run = replace(run, scored={split: {metric: value}})
    if run.value(split, metric) is not None:
        return run
    given = run.measured(split).get(metric)
    reason = f"no {metric} of {split}" if given is None else f"its {split} {metric} is {given}"
    return replace(run, left_out=reason)


def _baseline(groups: Sequence[Group], wanted: str | None) -> Group:
    """The group that is meant; by default the first recipe as it stands, else the first group."""
    if wanted is None:
        recipes = (of for of in groups if any(run.results and not special(run.overrides) for run in of.runs))
        return next(recipes, groups[0])
    folder = Path(wanted)
    for meant in (
        [of for of in groups if of.label == wanted],
        [of for of in groups if wanted in of.names],
        [of for of in groups if any(_is_below(run.path, folder) for run in (*of.runs, *of.repeated))][:1],
    ):
        if len(meant) > 1:
            raise ValueError(f"{wanted!r} may be {' or '.join(of.short for of in meant)}: give one of these")
        if meant:
            return meant[0]
    names = [name for of in groups for name in dict.fromkeys((of.short, of.label, *of.names))]
    few = len(groups) <= _FEW_ROWS
    listed = f"{similar(wanted, names)}; without --baseline all {len(groups)} rows are listed"
    known = unknown(wanted, names) if few else listed
    raise ValueError(f"no group is called {wanted!r}, nor is a run of one there{known}")


def _is_below(path: Path, folder: Path) -> bool:
    # unlike `Path.exists`, for names of any length
    return os.path.exists(folder) and path.resolve().is_relative_to(folder.resolve())


def _undeclared(name: str, scorer: SummedScore | None) -> MetricRecord:
    """Of a metric that no results declare: what scores predictions knows which way it gets better."""
    higher = getattr(scorer, "higher_is_better", None) if name in ITEM_SCORES else None
    return MetricRecord(better=None if higher is None else "max" if higher else "min")


def _with_items(
    rows: Sequence[Row], baseline: int, scorer: SummedScore, items: Items, question: Question
) -> list[Row]:
    """Adds what the paired bootstrap says, of groups of which every run that counts has predictions."""
    known = items.statistics
    pairs = {}
    for number, row in enumerate(rows):
        if number != baseline:
            sides = row.group.paired(rows[baseline].group)
            if all(of.runs and all(run.path in known for run in of.runs) for of in sides):
                pairs[number] = sides
    if not pairs:
        return list(rows)
    # by fold, each run once
    sets: dict[int | None, dict[Path, None]] = {}
    for run in (run for sides in pairs.values() for of in sides for run in of.runs):
        sets.setdefault(run.fold, {})[run.path] = None
    places = {path: place for place, path in enumerate(path for paths in sets.values() for path in paths)}
    statistics = [np.stack([known[path] for path in paths], axis=1) for paths in sets.values()]
    numbers = [
        ([places[run.path] for run in own.runs], [places[run.path] for run in base.runs])
        for own, base in pairs.values()
    ]
    found = paired_bootstrap(scorer, statistics, numbers, samples=question.samples, seed=question.seed)
    added = dict(zip(pairs, found, strict=True))
    return [replace(row, items=added.get(number)) for number, row in enumerate(rows)]


def _notes(runs: Sequence[Run], items: Items, question: Question, resampled: bool) -> list[str]:
    notes = []
    if resampled:
        sizes = {run.fold: len(items.statistics[run.path]) for run in runs if run.path in items.statistics}
        size = sum(sizes.values())
        of = question.split if None in sizes else f"{len(sizes)} folds, each drawn by itself"
        notes.append(
            f"p (items): paired bootstrap over {size:,} items of {of}, "
            f"{question.samples:,} samples, seed {question.seed}; one-sided: 0.025 here is 0.05 two-sided"
        )
    notes += [items.signature] if items.signature else []
    notes += items.notes
    unknown = [run.path for run in runs if run.path not in items.statistics]
    if question.split == VALIDATION:
        notes.append("val picked each checkpoint, so these values are too good: report those of a test split")
    elif unknown and question.split != "test":
        notes.append(
            f"that all were tested on the same {question.split} is not known: test_hash is of test alone"
        )
    elif len(unknown) > 1 and not any(run.results.get("test_hash") for run in runs):
        notes.append("that all were tested on the same items is not known: no results.json has a test_hash")
    machines = {_machine(run) for run in runs if run.results}
    if len(machines) > 1:
        notes.append(f"{len(machines)} kinds of machines: seconds, speeds and memory do not compare")
    torches = {str((run.results.get("versions") or {}).get("torch")) for run in runs if run.results}
    if len(torches) > 1:
        notes.append(f"several versions of torch: {', '.join(sorted(torches))}")
    return notes


def _folds(groups: Sequence[Group]) -> list[str]:
    """A line for each group that lacks folds: a mean over some must not pass for one over all."""
    return [
        f"{of.short}: {len(of.folds)} of {len(of.folds) + len(of.missing_folds)} folds; missing:"
        f" {', '.join(map(str, of.missing_folds))}"
        for of in groups
        if of.missing_folds and of.folds
    ]


def _machine(run: Run) -> str:
    about = run.results.get("machine") or {}
    known = (str(about.get(key)) for key in ("processor", "cores", "threads", "gpus"))
    return "|".join([*known, str(about.get("bfloat16", True))])
