"""Markdown tables of measured results: runs by recipe, recipes in short, mechanisms over data sets."""

import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from zoo.metrics import METRICS
from zoo.reports.anchors import Anchor
from zoo.reports.comparison.names import label, speed_unit
from zoo.reports.seeds import seed_difference, summarise

Results = Mapping[str, Any]
"""What a results.json says, with the run's special `overrides`, and whether they only repeat the `recipe`."""

_METRICS = (
    "bleu",
    "bleu_tok_lc",
    "chrf",
    "tf_perplexity",
    "cider_d",
    "bleu_1",
    "bleu_2",
    "bleu_3",
    "bleu_4",
    "rouge_l",
    "exact_match",
    "alignment_accuracy",
    "pointing_accuracy",
    "error",
    "error_1_sample",
    "error_10_samples",
    "catch_rate",
    "catch_rate_standard_error",
)
_OF_LANGUAGE = ("bleu", "bleu_tok_lc", "chrf", "tf_perplexity")
_OF_EFFECTS = ("bleu", "bleu_tok_lc", "cider_d", "bleu_4", "exact_match", "error", "catch_rate")
_TO_100 = (*_OF_LANGUAGE, "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l")
"""Those that go up to 100, or beyond."""
_HEADLINES = ("bleu_tok_lc", "cider_d", "catch_rate", "error", "exact_match")
"""The one number of a run: the first that it has."""
_WHERE = ("alignment_accuracy", "pointing_accuracy")
"""Whether a run looked where it should, for data that know."""
_OTHER_ANSWERS = {
    "shuffled": "its captions, of other images",
    "uniform": "all places alike",
    "centre": "the centre of the image",
    "random": "its maps, of other images",
}
"""What stands below a model, to be beaten by it: what was said or looked at, by its name in results.json."""
_WITHOUT_MODEL = {"majority": "the most frequent answer", "constant": "the best constant caption"}
"""The same, below all models of a table."""
_STEP = re.compile(r"(?P<chain>\w+?)_\d+_\w+")
"""The name of a recipe that adds one thing to the one before it."""
_RECOGNITION = re.compile(r"(?:ram|fc|conv)_(?P<data>[a-z]+)(?:_\d+)?")
"""The name of a recipe that recognises images: one table for each data set, as in the paper."""
_CAPTIONS = re.compile(r"(?P<data>shapes|flickr8k|flickr30k|coco)_(?:soft|hard|none)(?P<encoder>_\w+)?")
"""The name of a recipe that writes captions: kinds of attention stand side by side."""


def tables(published: Sequence[Results]) -> str:
    """For each experiment one row per configuration, mean ± standard deviation over its seeds.

    Recipes named `<chain>_<number>_<what>` are rows of one table, in their order; so are those that recognise
    the same images, and those that describe them with the same encoder. Below the models stand the controls.
    """
    return "".join(_table(rows) for rows in compared(published).values())


def compared(published: Sequence[Results]) -> dict[str, list[Results]]:
    """The results whose recipes can stand side by side, by what these have in common."""
    found: dict[str, list[Results]] = defaultdict(list)
    for results in published:
        name = results["experiment"]
        if step := _STEP.fullmatch(name):
            name = step["chain"]
        elif recognition := _RECOGNITION.fullmatch(name):
            name = recognition["data"]
        elif captions := _CAPTIONS.fullmatch(name):
            name = captions["data"] + (captions["encoder"] or "")
        found[name].append(results)
    return dict(found)


def summary(published: Sequence[Results]) -> str:
    """One row for each recipe as it stands, or typed in full, with the one number that says most about it."""
    lines = []
    for group in _by_configuration(published).values():
        if not _repeats_recipe(group[0]):
            continue
        metric = headline(group)
        cell = f"{metric} {_spread([row['test'][metric] for row in group], digits=_digits(metric))}"
        # Of several machines, some of them busy: their mean would be of none of them.
        minutes = [row["seconds"] / 60 for row in group]
        ends = " to ".join(dict.fromkeys(f"{end:.1f}" for end in (min(minutes), max(minutes))))
        name = f"`{group[0]['experiment']}`"
        lines.append([name, cell, _seeds(group), f"{group[0]['parameters']:,}", ends])
    head = ["`experiment=`", "test split", "seeds", "parameters", "minutes"]
    return f"\n{markdown([head, *lines])}\n" if lines else ""


def beside(published: Sequence[Results], anchors: Sequence[Anchor]) -> str:
    """What was measured here beside what others published: a row for each configuration, sources below."""
    sources = list(dict.fromkeys((anchor.source, anchor.seen) for anchor in anchors))
    rows: dict[str, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        rows[" ".join([anchor.experiment, *anchor.overrides])].append(anchor)
    lines = [["`experiment=`", "here", "seeds", "minutes", "published"]]
    for typed, same in rows.items():
        experiment, overrides = same[0].experiment, sorted(same[0].overrides)
        metrics = dict.fromkeys(metric for anchor in same for metric in anchor.numbers)
        of_recipe = [row for row in published if row["experiment"] == experiment]
        group = [row for row in of_recipe if sorted(row.get("overrides", [])) == overrides]
        if not group and not overrides:  # what was typed may be what the recipe says
            group = [row for row in of_recipe if _repeats_recipe(row)]
        values = {metric: [row.get("test", {}).get(metric) for row in group] for metric in metrics}
        here = [f"{metric} {_spread(values[metric], _digits(metric))}" for metric in metrics if group]
        there = [
            ", ".join(f"{metric} {_published(metric, number)}" for metric, number in anchor.numbers.items())
            + (f" ({anchor.differs})" if anchor.differs else "")
            + f" [{sources.index((anchor.source, anchor.seen)) + 1}]"
            for anchor in same
        ]
        minutes = _spread([row["seconds"] / 60 for row in group], digits=1)
        lines.append(
            [f"`{typed}`", ", ".join(here) or "not measured", _seeds(group), minutes, "; ".join(there)]
        )
    notes = [f"- [{number}] {source}; {seen}\n" for number, (source, seen) in enumerate(sources, 1)]
    return f"\n{markdown(lines)}\n{''.join(notes)}\n" if anchors else ""


def matrix(published: Sequence[Results]) -> str:
    """Mechanisms as rows; for each data set how good they are, where they looked and what they cost.

    Bold is the best mean of a column, n the seeds in each mean where a cell does not say otherwise. Rows are
    named by what was typed, so two names of one mechanism are two rows.
    """
    sets = {name: (mechanisms(rows), _columns(rows)) for name, rows in compared(published).items()}
    names = list(dict.fromkeys(name for found, _ in sets.values() for name in found))
    lines = [["mechanism"], *([f"`{name}`"] for name in names)]
    for data, (found, columns) in sets.items():
        most = max(map(len, found.values()))
        for place, column in enumerate(columns):
            values = {name: [column.value(row) for row in found.get(name, [])] for name in names}
            means = {name: statistics.fmean(known) for name in names if (known := _known(values[name]))}
            best = column.best(means.values()) if column.best and means else None
            lines[0].append(f"{data}, n = {most}: {column.head}" if place == 0 else column.head)
            for line, name in zip(lines[1:], names, strict=True):
                cell = _spread(values[name], digits=column.digits)
                fewer = len(_known(values[name]))
                cell += f" (n = {fewer})" if place == 0 and 0 < fewer < most else ""
                line.append(f"**{cell}**" if cell and means[name] == best else cell)
    shown = [row for found, _ in sets.values() for rows in found.values() for row in rows]
    return f"\n{markdown(lines)}\n{machines(shown)}.\n\n"


def mechanisms(rows: Sequence[Results]) -> dict[str, list[Results]]:
    """The results of each way to attend, by what was typed to get it.

    A recipe whose runs are the same as those of something typed adds its seeds to that, and of a seed that
    both have it is the recipe's run that counts, as in all tables. Runs that trained longer or shorter than
    their recipe are left out: what more steps do is not what a mechanism does.
    """
    rows = [row for row in rows if not any(word.startswith("trainer.") for word in row.get("overrides", []))]
    experiments = {row["experiment"] for row in rows}
    only = next(iter(experiments)) if len(experiments) == 1 else ""
    typed: dict[str, str] = {}
    for row in rows:
        if not _is_recipe(row):
            typed.setdefault(row["config_hash"], label(row, of=only))
    found: dict[str, dict[int, Results]] = defaultdict(dict)
    for row in sorted(rows, key=_is_recipe, reverse=True):
        name = label(row, of=only)
        name = typed.get(row["config_hash"], name) if _is_recipe(row) else name
        found[name].setdefault(row["seed"], row)
    return {name: list(seeds.values()) for name, seeds in sorted(found.items())}


def headline(rows: Sequence[Results]) -> str:
    """The metric that says most about these runs.

    Raises:
        ValueError: they have none that is known here.
    """
    for metric in _HEADLINES:
        if all(metric in row["test"] for row in rows):
            return metric
    allowed = ", ".join(_HEADLINES)
    raise ValueError(f"{label(rows[0])}: its test has none of the metrics that say most: {allowed}")


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table whose first line is the head."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


class _Column(NamedTuple):
    """A number of a run, in a table.

    Attributes:
        head: what stands above.
        value: of a run; None where it was not measured.
        digits: behind the point.
        best: which of the values is; None where none is better.
    """

    head: str
    value: Callable[[Results], float | None]
    digits: int
    best: Callable[[Iterable[float]], float] | None


def _columns(rows: Sequence[Results]) -> list[_Column]:
    """How good runs on one data set are, where they looked and what they cost."""

    def measured(split: str, metric: str) -> _Column:
        head = metric if split == "test" else f"{metric} ({split})"
        best = max if METRICS[metric].higher_is_better else min
        return _Column(head, lambda row: row.get(split, {}).get(metric), _digits(metric), best)

    unit = speed_unit(rows[0]["per_second"])
    return [
        *(
            measured(split, metric)
            for split in splits_of(rows)
            for metric in (headline(rows), *_WHERE)
            if any(metric in row.get(split, {}) for row in rows)
        ),
        _Column("seconds", lambda row: row["seconds"], 0, None),
        _Column(f"{unit}/s", lambda row: row["per_second"].get(unit), 0, None),
        _Column("GB", lambda row: row["peak_memory_bytes"] / 1000**3, 2, None),
    ]


def splits_of(rows: Iterable[Results]) -> list[str]:
    """The test splits, `test` first."""
    return sorted({name for row in rows for name in row if name.startswith("test") and name != "test_hash"})


def _by_configuration(rows: Iterable[Results]) -> dict[tuple[Any, ...], list[Results]]:
    """The runs of each configuration, no seed twice; the recipe as it stands comes first."""
    groups: dict[tuple[Any, ...], list[Results]] = defaultdict(list)
    for row in rows:
        groups[_configuration(row)].append(row)
    for key, group in groups.items():
        group.sort(key=_is_recipe, reverse=True)
        first = {row["seed"]: row for row in reversed(group)}
        groups[key] = [row for row in group if row is first[row["seed"]]]
    return dict(groups)


def _configuration(row: Results) -> tuple[Any, ...]:
    return row["config_hash"], row.get("test_hash"), row.get("vocabulary_hash")


def _is_recipe(row: Results) -> bool:
    return not row.get("overrides")


def _repeats_recipe(row: Results) -> bool:
    """Whether nothing was typed but what the recipe says."""
    return _is_recipe(row) or bool(row.get("recipe"))


def _seeds(group: Sequence[Results]) -> str:
    return ", ".join(str(row["seed"]) for row in sorted(group, key=lambda row: int(row["seed"])))


def machines(rows: Sequence[Results]) -> str:
    """Each machine that one of the runs was made on, once."""
    found = dict.fromkeys(
        f"{machine['processor']}, {machine['cores']} core{'s' if machine['cores'] > 1 else ''},"
        f" threads: {machine['threads']}{'' if machine.get('bfloat16', True) else ', without bfloat16'}"
        for machine in (row["machine"] for row in rows)
    )
    return "; ".join(found)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def fault_table(faults: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: what was done to trainings, how often, and what it cost, as `tests/faults` measures it."""
    rows = [[row["fault"], str(row["times"]), row["lost"]] for row in faults]
    return f"\n{markdown([['fault', 'times tried', 'what was lost'], *rows])}\n"


def _table(rows: Sequence[Results]) -> str:
    experiment = ",".join(dict.fromkeys(row["experiment"] for row in rows))  # what `-m` would take
    groups = _by_configuration(rows)
    columns = [
        (split, metric)
        for split in splits_of(group[0] for group in groups.values())
        for metric in _METRICS
        if any(metric in group[0].get(split, {}) for group in groups.values())
        and (metric in _OF_LANGUAGE) == any("bleu_tok_lc" in group[0][split] for group in groups.values())
    ]
    heads = [metric if split == "test" else f"{metric} ({split})" for split, metric in columns]
    speed = speed_unit(next(iter(groups.values()))[0]["per_second"])
    lines = [["run", "seeds", *heads, "parameters", "minutes", f"{speed}/s"]]
    names: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for row in rows:
        names[_configuration(row)].add(label(row, of=experiment))
    for key, group in groups.items():
        name = label(group[0], of=experiment)
        # Two words may say the same; what says what the recipe says needs no word.
        others = [] if _is_recipe(group[0]) else sorted(names[key] - {name})
        lines.append(
            [
                ", ".join([name, *others]),
                _seeds(group),
                *_cells(group, columns),
                f"{group[0]['parameters']:,}",
                _spread([row["seconds"] / 60 for row in group], digits=1),
                f"{statistics.fmean(row['per_second'].get(speed, 0.0) for row in group):,.0f}",
            ]
        )
        lines += _controls(group, columns, _OTHER_ANSWERS)
    # One seed of each: these hardly depend on it, and are alike in most groups.
    without = [line for group in groups.values() for line in _controls(group[:1], columns, _WITHOUT_MODEL)]
    lines += [line for number, line in enumerate(without) if line not in without[:number]]
    effects = _effects(list(groups.values()), columns, experiment)
    return f"\n**`experiment={experiment}`** ({machines(rows)})\n\n{markdown(lines)}{effects}"


def _cells(
    group: Sequence[Results], columns: Sequence[tuple[str, str]], control: str | None = None
) -> list[str]:
    """What a group scores, or one of its controls, by column; empty where that was not measured."""
    cells = []
    for split, metric in columns:
        name = metric if control is None else _of_control(control, metric)
        values = [row.get(split, {}).get(name) for row in group]
        cells.append(_spread(values, digits=_digits(metric)))
    return cells


def _of_control(control: str, metric: str) -> str:
    """What results.json calls a metric of a control."""
    return f"pointing_{control}" if metric == "pointing_accuracy" else f"{control}_{metric}"


def _controls(
    group: Sequence[Results], columns: Sequence[tuple[str, str]], wanted: Mapping[str, str]
) -> list[list[str]]:
    """A line for each control that was measured."""
    found = [(name, _cells(group, columns, control)) for control, name in wanted.items()]
    return [[f"*{name}*", "", *cells, "", "", ""] for name, cells in found if any(cells)]


def _digits(metric: str) -> int:
    return 1 if metric.removesuffix("_nobp") in _TO_100 else 4 if metric.startswith("error") else 3


def _published(metric: str, number: float) -> str:
    """With all the digits that were published, and no fewer than ours have."""
    return f"{number:,.{max(_digits(metric), len(str(number).partition('.')[2]))}f}"


def _effects(groups: Sequence[Sequence[Results]], columns: Sequence[tuple[str, str]], experiment: str) -> str:
    """What the overrides of each group change of its recipe, seed by seed: mean and 95 % interval.

    The interval is Student's for pairs, so it is wide for few seeds, as it should be.
    """
    recipes = defaultdict(list)
    for group in groups:
        if _repeats_recipe(group[0]):
            recipes[group[0]["experiment"]].append(group)
    lines = []
    for group in groups:
        of_experiment = recipes[group[0]["experiment"]]
        if len(of_experiment) != 1 or group is of_experiment[0]:
            continue
        recipe = {row["seed"]: row for row in of_experiment[0]}
        seeds = sorted({row["seed"] for row in group} & recipe.keys())
        if len(seeds) < 2:
            continue
        own = {row["seed"]: row for row in group}
        parts = []
        for split, metric in columns:
            if metric not in _OF_EFFECTS or split != "test":
                continue
            ours, theirs = ({seed: row[split][metric] for seed, row in of.items()} for of in (own, recipe))
            found = seed_difference(ours, theirs)
            assert found is not None, "they share two seeds"
            digits = _digits(metric)
            interval = f"[{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
            parts.append(f"{metric} {found.difference:+.{digits}f} {interval}")
        name, over = label(group[0], of=experiment), ", ".join(map(str, seeds))
        lines.append(f"- `{name}` against the recipe, over seeds {over}: {'; '.join(parts)}\n")
    return f"\n{''.join(lines)}" if lines else ""


def _spread(values: Sequence[float | None], digits: int) -> str:
    known = _known(values)
    if not known:
        return ""
    found = summarise(known)
    mean = f"{found.mean:,.{digits}f}"
    return mean if found.deviation is None else f"{mean} ± {found.deviation:,.{digits}f}"
