"""Markdown tables of measured results: runs by data set, recipes in short, mechanisms over data sets."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from zoo.metrics.measure import MetricRecord
from zoo.reports.columns import Column, cost_columns, interval, markdown, metric_column, spread, written
from zoo.reports.controls import controls_said
from zoo.reports.groups import Group, group
from zoo.reports.names import label
from zoo.reports.records import merged
from zoo.reports.runs import Run


def tables(published: Sequence[Run]) -> str:
    """For each data set a row per configuration, mean ± standard deviation over its seeds, or folds.

    Below the table one line says what controls score, others what overrides change of their recipe.
    """
    return "".join(_table(runs) for runs in by_data(published).values())


def by_data(published: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs that can stand side by side: of one task and the same test items, by the data's name.

    Folds of data that is cross-validated stand together, as long as those of one number have the same items.
    """
    found: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    folded: dict[tuple[str, str], list[dict[int, str]]] = defaultdict(list)
    for run in published:
        of, items = (run.results["data_set"], run.results["task"]), str(run.results.get("test_hash"))
        if run.fold is not None:
            alike = (one for one in folded[of] if one.get(run.fold, items) == items)
            if (folds := next(alike, None)) is None:
                folded[of].append(folds := {})
            folds[run.fold] = items
            items = next(iter(folds.values()))
        found[*of, items].append(run)
    names = [name for name, *_ in found]
    shown = [name if names.count(name) == 1 else f"{name} ({test[:6]})" for name, _, test in found]
    return dict(zip(shown, found.values(), strict=True))


def summary(published: Sequence[Run]) -> str:
    """One row for each recipe as it stands, or typed in full, with the one number that says most about it."""
    lines = [["`experiment=`", "test split", "seeds", "parameters", "minutes"]]
    for of in filter(_is_recipe, group(published)):
        first = of.runs[0]
        score = _headline([first])
        # Of several machines, some of them busy: their mean would be of none of them.
        minutes = [written(run.results["seconds"] / 60, 1) for run in of.runs]
        ends = " to ".join(dict.fromkeys((min(minutes, key=float), max(minutes, key=float))))
        cell = f"{score.head} {cell_of(score, of.runs)}"
        parameters = written(first.results["parameters"], 0)
        lines.append([f"`{first.results['experiment']}`", cell, seeds_of(of.runs), parameters, ends])
    return f"\n{markdown(lines)}\n" if len(lines) > 1 else ""


def matrix(published: Sequence[Run]) -> str:
    """Mechanisms as rows; for each data set how good they are, where they looked and what they cost.

    Bold is the best mean of a column, n the seeds in each mean where a cell does not say otherwise. Rows are
    named by what was typed, so two names of one mechanism are two rows.
    """
    sets = {name: (mechanisms(runs), _matrix_columns(runs)) for name, runs in by_data(published).items()}
    names = list(dict.fromkeys(name for found, _ in sets.values() for name in found))
    lines = [["mechanism"], *([f"`{name}`"] for name in names)]
    for data, (found, columns) in sets.items():
        most = max(len({run.place if run.fold is None else run.fold for run in of}) for of in found.values())
        for place, column in enumerate(columns):
            summaries = [column.summary(found.get(name, ())) for name in names]
            lines[0].append(column.head if place else f"{data}, n = {most}: {column.head}")
            digits = column.places(summaries)
            for line, one, best in zip(lines[1:], summaries, column.best(summaries), strict=True):
                cell = spread(one, digits, column.scale)
                cell += f" (n = {one.n})" if place == 0 and one and one.n < most else ""
                line.append(f"**{cell}**" if best else cell)
    shown = [run for found, _ in sets.values() for runs in found.values() for run in runs]
    return f"\n{markdown(lines)}\n{machines(shown)}.\n\n"


def mechanisms(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each way to attend, by what was typed to get it.

    A recipe whose runs are the same as those of something typed adds its seeds to that, and of a seed that
    both have it is the recipe's run that counts, as in all tables. Runs that trained longer or shorter than
    their recipe are left out: what more steps do is not what a mechanism does.
    """
    runs = [run for run in runs if not any(word.startswith("trainer.") for word in run.overrides)]
    experiments = {run.results["experiment"] for run in runs}
    only = next(iter(experiments)) if len(experiments) == 1 else ""
    typed: dict[str, str] = {}
    for run in runs:
        if run.overrides:
            typed.setdefault(run.results["config_hash"], label(run.results, of=only))
    found: dict[str, dict[tuple[int | None, int | None], Run]] = defaultdict(dict)
    for run in sorted(runs, key=lambda run: bool(run.overrides)):
        name = label(run.results, of=only)
        found[name if run.overrides else typed.get(run.results["config_hash"], name)].setdefault(
            run.place, run
        )
    return {name: list(places.values()) for name, places in sorted(found.items())}


def quality_columns(runs: Sequence[Run]) -> list[Column]:
    """The headline on each test split."""
    name, record = _headline_of(runs)
    return [metric_column(name, record, split) for split in splits_of(runs)]


def _matrix_columns(runs: Sequence[Run]) -> list[Column]:
    """How good runs on one data set are, where they looked and what they cost; no cost is best."""
    records = merged(run.metrics for run in runs)
    shown = [name for name, one in records.items() if one.headline or one.role == "attention"]
    columns = [metric_column(name, records[name], split) for split in splits_of(runs) for name in shown]
    costs = [replace(cost, better=None) for name, cost in cost_columns(runs).items() if name != "parameters"]
    return [column for column in (*columns, *costs) if column.summary(runs)]


def splits_of(runs: Iterable[Run]) -> list[str]:
    """The test splits, `test` first."""
    return sorted({split for run in runs for split in run.splits if split != "test_hash"})


def machines(runs: Sequence[Run]) -> str:
    """Each machine that one of the runs was made on, once."""
    found = dict.fromkeys(
        f"{machine['processor']}, {machine['cores']} core{'s' if machine['cores'] > 1 else ''},"
        f" threads: {machine['threads']}{'' if machine.get('bfloat16', True) else ', without bfloat16'}"
        for machine in (run.results["machine"] for run in runs)
    )
    return "; ".join(found)


def fault_table(faults: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: what was done to trainings, how often, and what it cost, as `tests/faults` measures it."""
    rows = [[row["fault"], str(row["times"]), row["lost"]] for row in faults]
    return f"\n{markdown([['fault', 'times tried', 'what was lost'], *rows])}\n"


def _table(runs: Sequence[Run]) -> str:
    experiments = ",".join(dict.fromkeys(run.results["experiment"] for run in runs))  # what `-m` would take
    groups = group(runs, in_full=True)
    records = merged(run.metrics for run in runs)
    scores = {
        (split, name): metric_column(name, one, split)
        for split in splits_of(runs)
        for name, one in records.items()
        if one.role != "detail" and any(run.value(split, name) is not None for run in runs)
    }
    costs = cost_columns(runs)
    heads = [*(column.head for column in scores.values()), "parameters", "minutes", costs["per_second"].head]
    lines = [["run", "seeds", *heads]]
    lines += [
        [
            of.label,
            seeds_of(of.runs),
            *(cell_of(column, of.runs) for column in scores.values()),
            written(of.runs[0].results["parameters"], 0),
            cell_of(minutes_column(runs), of.runs),
            written(one.mean, 0) if (one := costs["per_second"].summary(of.runs)) else "0",
        ]
        for of in groups
    ]
    tested = [
        column
        for (split, name), column in scores.items()
        if split == "test" and records[name].role == "quality"
    ]
    controls = "; ".join(controls_said([of.runs for of in groups], scores))
    text = f"\n**`experiment={experiments}`** ({machines(runs)})\n\n{markdown(lines)}"
    if controls:
        text += f"\nControls: {controls}.\n"
    return text + _effects(groups, tested)


def _effects(groups: Sequence[Group], columns: Sequence[Column]) -> str:
    """What the overrides of each group change of its recipe, by seed or by fold: mean and 95 % interval.

    The interval is Student's for pairs, so it is wide for few seeds, as it should be.
    """
    recipes: dict[str, list[Group]] = defaultdict(list)
    for of in filter(_is_recipe, groups):
        recipes[of.runs[0].results["experiment"]].append(of)
    lines = []
    for of in groups:
        recipe = recipes[of.runs[0].results["experiment"]]
        if len(recipe) != 1 or of is recipe[0]:
            continue
        parts = []
        for column in columns:
            found = of.difference(recipe[0], column.value)
            if found is None or not found.seeds:
                continue
            seeds, digits = found.seeds, column.places([column.summary(of.runs)])
            ends = interval(found.low, found.high, digits, "+")
            parts.append(f"{column.head} {written(found.difference, digits, '+')} {ends}")
        if parts:
            over = f"{of.unit}s {', '.join(map(str, seeds))}"
            lines.append(f"- `{of.label}` against the recipe, over {over}: {'; '.join(parts)}\n")
    return f"\n{''.join(lines)}" if lines else ""


def _is_recipe(of: Group) -> bool:
    """Whether nothing was typed but what the recipe says."""
    return any(not run.overrides or run.results.get("recipe") for run in of.runs)


def _headline_of(runs: Sequence[Run]) -> tuple[str, MetricRecord]:
    name = runs[0].headline
    assert name is not None, "what has none is not published"
    return name, runs[0].metrics[name]


def _headline(runs: Sequence[Run]) -> Column:
    return metric_column(*_headline_of(runs))


def minutes_column(runs: Sequence[Run]) -> Column:
    """Wall time of a training."""
    return replace(cost_columns(runs)["seconds"], digits=1, scale=1 / 60)


def cell_of(column: Column, runs: Sequence[Run]) -> str:
    """Mean and standard deviation, as far as they are known."""
    found = column.summary(runs)
    return spread(found, column.places([found]), column.scale)


def seeds_of(runs: Sequence[Run]) -> str:
    """Those of the runs; of data that is cross-validated how many folds there are, and which are missing."""
    seeds = ", ".join(map(str, sorted({run.seed for run in runs if run.seed is not None})))
    folds = {run.fold for run in runs if run.fold is not None}
    if not folds:
        return seeds
    missing = sorted({*range(max(run.results.get("folds") or 0 for run in runs))} - folds)
    without = f" without {', '.join(map(str, missing))}" if missing else ""
    return f"{seeds} ({len(folds)} folds{without})"
