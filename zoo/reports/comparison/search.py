"""What a sweep of several settings found: every run's settings with its score, and which settings matter."""

import statistics
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import isfinite
from typing import Any, NamedTuple

from zoo.reports.comparison.comparison import Comparison
from zoo.reports.runs import Run
from zoo.runs.status import State
from zoo.runs.typed import special

_FEWEST_SETTINGS, _FEWEST_RUNS = 3, 4
"""With fewer a table says all there is to say."""
_MOST = 300
"""Runs from which importances are computed."""
_WIDE, _LOW = 10, 0.3
"""Positive numbers lie on a logarithmic axis if the largest is so many times the smallest, and half of them
in so small a part of their range."""
_LEFT_OUT = (State.PRUNED, State.DIVERGED)
"""States of runs that say something of their settings without a score."""


class Axis(NamedTuple):
    """A setting that varies.

    Attributes:
        key: its own.
        numbers: its value in each run, None of one that does not set it; None where not all are numbers.
        texts: its value in each run, empty of one that does not set it.
        is_log: whether numbers are spread over orders of magnitude.
    """

    key: str
    numbers: list[float | None] | None
    texts: list[str]
    is_log: bool


def search_data(comparison: Comparison) -> dict[str, Any] | None:
    """What the page shows of the settings; None of fewer than three that vary, or of very few runs."""
    measured = [(run, row.group.label) for row in comparison.rows for run in row.group.runs]
    measured += [(run, str(run.path.name)) for run in comparison.left_out if run.state in _LEFT_OUT]
    runs = [run for run, _ in measured]
    axes = _axes([_typed(run) for run in runs])
    values = [run.value(comparison.question.split, comparison.metric) for run in runs]
    scored = [number for number, value in enumerate(values) if value is not None]
    if len(axes) < _FEWEST_SETTINGS or len(scored) < _FEWEST_RUNS:
        return None
    importances, note = _importances(axes, values, scored)
    return {
        "axes": [axis._asdict() for axis in axes],
        "names": [name for _, name in measured],
        "states": [str(run.state) for run in runs],
        "values": values,
        "importances": importances,
        "note": note,
    }


def _typed(run: Run) -> dict[str, str]:
    typed = (text.partition("=") for text in special(run.overrides))
    return {key.lstrip("+"): value for key, _, value in typed}


def _axes(settings: Sequence[Mapping[str, str]]) -> list[Axis]:
    """The settings that not all runs have alike, in the order in which they were typed."""
    keys = dict.fromkeys(key for one in settings for key in one)
    columns = {key: [one.get(key, "") for one in settings] for key in keys}
    return [_axis(key, texts) for key, texts in columns.items() if len(set(texts)) > 1]


def _axis(key: str, texts: list[str]) -> Axis:
    numbers = [_number(text) for text in texts]
    known = [number for number in numbers if number is not None]
    if len(known) < sum(map(bool, texts)) or len(set(known)) < 2:
        return Axis(key, None, texts, False)
    low, high = min(known), max(known)
    is_skewed = statistics.median(known) < low + _LOW * (high - low)
    return Axis(key, numbers, texts, low > 0 and high >= _WIDE * low and is_skewed)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _importances(
    axes: Sequence[Axis], values: Sequence[float | None], scored: Sequence[int]
) -> tuple[list[tuple[str, float]], str]:
    """The share of each setting in the variance of the score, and what to say of it."""
    if find_spec("optuna") is None:
        return [], "The importance of settings needs Optuna: pip install -e '.[optuna]' in the checkout."
    if len({values[number] for number in scored}) == 1:
        return [], "All runs reached the same score, so no setting matters."
    import optuna  # here, because it is an extra

    number = min(_MOST, len(scored))
    chosen = [scored[part * len(scored) // number] for part in range(number)]
    distributions: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for axis in axes:
        present = [None if axis.numbers is None else axis.numbers[run] for run in chosen]
        known = [one for one in present if one is not None]
        if len(known) == len(chosen) and min(known) < max(known):
            distributions[axis.key] = optuna.distributions.FloatDistribution(
                min(known), max(known), log=axis.is_log
            )
            columns[axis.key] = known
        elif len(texts := {axis.texts[run] for run in chosen}) > 1:
            distributions[axis.key] = optuna.distributions.CategoricalDistribution(sorted(texts))
            columns[axis.key] = [axis.texts[run] for run in chosen]
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Optuna may change
            study = optuna.create_study()
            study.add_trials(
                [
                    optuna.trial.create_trial(
                        value=values[run],
                        params={key: column[place] for key, column in columns.items()},
                        distributions=distributions,
                    )
                    for place, run in enumerate(chosen)
                ]
            )
            evaluator = optuna.importance.FanovaImportanceEvaluator(seed=1)
            found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    finally:
        optuna.logging.set_verbosity(verbosity)
    of = f"{len(chosen)} runs" if len(chosen) == len(scored) else f"{len(chosen)} of {len(scored)} runs"
    how = f"by functional ANOVA (Hutter et al. 2014) over {of}"
    return [
        (key, float(share)) for key, share in found.items()
    ], f"The share of a setting in the variance of the score, {how}."
