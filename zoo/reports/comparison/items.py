"""What every test item adds to a score, for each run: the statistics of the paired bootstrap."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.metrics import CorpusScore, ItemScore, SummedScore, kept_items
from zoo.reports.runs import Run
from zoo.runs.predictions import find_predictions, read_split, require_same_items

_TOLERANCE = 1e-3
"""By which a score of predictions may differ from the one in results.json, which is kept in float32."""


class Items(NamedTuple):
    """What the test items add to the sums of a score.

    Attributes:
        statistics: (N, statistics) of each run, by its path.
        notes: on runs that have none.
        signature: how the score is computed; empty without one.
    """

    statistics: dict[Path, NDArray[np.int64]]
    notes: list[str]
    signature: str


def language_of(runs: Sequence[Run]) -> str:
    """The language of the target as the runs were scored; empty when none of them says it."""
    return next(filter(None, (kept_items.language_of(run.results) for run in runs)), "")


def read_items(
    runs: Sequence[Run], declared: ItemScore, scorer: SummedScore, split: str, metric: str, language: str
) -> Items:
    """Scores every item of every run.

    What results keep of their items stands for the predictions, as long as the test items of all runs are
    known to be the same. A file may have been cut short, which shows in its score, or in that another of the
    same `test_hash` has more items. Then its run has no statistics, and a note says why.

    Args:
        runs: their predictions are read one after another; only sums are kept.
        declared: says what of a prediction counts for `metric`.
        scorer: made by it.
        split: of the predictions.
        metric: what results.json calls it.
        language: of the text, that the scorer was made for.

    Raises:
        ValueError: two runs predicted for other items.
    """
    may_keep = all(_is_known(run, split) for run in runs)
    found: dict[Path, NDArray[np.int64]] = {}
    sizes: dict[Path, int] = {}
    notes: list[str] = []
    without: list[Run] = []
    longest: dict[int | None, tuple[Path, list[dict[str, Any]]]] = {}  # of each fold
    # those of a known test set first: the longest of them is what others are held against
    for run in sorted(runs, key=lambda run: not _is_known(run, split)):
        if may_keep and (not declared.takes_language or kept_items.language_of(run.results) == language):
            try:
                if kept := kept_items.read_kept(run.results, declared.name):
                    statistics = kept.statistics
                    _require_score(run, scorer, statistics, split, metric, "the scores of its items")
                    found[run.path], sizes[run.path] = statistics, kept.predictions
                    continue
            except ValueError as error:
                notes.append(f"{run.path}: {error}: no p over test items")
                continue
        if run.predictions is None:
            without.append(run)
            continue
        try:
            items = read_split(find_predictions(run.predictions), split)
        except (OSError, ValueError) as error:
            notes.append(f"no p over test items: {error}")
            continue
        try:
            statistics = declared.statistics(scorer, items)
        except (TypeError, ValueError) as error:
            notes.append(f"no p over test items: {run.predictions}: {error}")
            continue
        try:
            _require_score(run, scorer, statistics, split, metric, "its predictions")
        except ValueError as error:
            notes.append(f"{run.path}: {error}: no p over test items")
            continue
        found[run.path], sizes[run.path] = statistics, len(items)
        most = longest.setdefault(run.fold, (run.predictions, items))
        if not _is_known(run, split) or len(items) == len(most[1]):
            require_same_items(most, (run.predictions, items), declared.together)
        elif len(items) > len(most[1]):  # what was read until now is cut
            longest[run.fold] = (run.predictions, items)
    if without:
        more = f" and {len(without) - 1} more have" if len(without) > 1 else " has"
        notes.append(f"no p over test items: {without[0].path}{more} no predictions.jsonl")
    notes += _without_cut(runs, found, sizes)
    if not longest:
        signatures = (str((run.results.get("signatures") or {}).get(metric, "")) for run in runs)
        return Items(found, notes, next(filter(None, signatures), "") if found else "")
    if isinstance(scorer, CorpusScore):
        # its signature names the number of references
        (_, (first, *_)), *_ = longest.values()
        scorer.update([first["prediction"]], [first["references"]])
    return Items(found, notes, getattr(scorer, "signature", ""))


def _without_cut(
    runs: Sequence[Run], found: dict[Path, NDArray[np.int64]], sizes: Mapping[Path, int]
) -> list[str]:
    """Takes out statistics of fewer items than others of the same fold have; a line for each."""
    largest: dict[int | None, Path] = {}
    for run in runs:
        if run.path in found and sizes[run.path] > sizes.get(largest.get(run.fold, Path()), 0):
            largest[run.fold] = run.path
    lines = []
    for run in runs:
        if run.path not in found:
            continue
        whole, shape = largest[run.fold], found[run.path].shape
        if sizes[run.path] < sizes[whole]:
            what = f"its predictions are of {sizes[run.path]:,} of {sizes[whole]:,} test items"
        elif shape != found[whole].shape:
            what = f"the scores of its items are {shape}, those of {whole} {found[whole].shape}"
        else:
            continue
        lines.append((run.path, f"{run.path}: {what}: no p over test items"))
    for path, _ in lines:
        del found[path]
    return [line for _, line in lines]


def _require_score(
    run: Run, scorer: SummedScore, statistics: NDArray[np.int64], split: str, metric: str, what: str
) -> None:
    """Refuses what does not add up to the score that the run's results have, if they have it.

    Raises:
        ValueError: says both.
    """
    kept = run.value(split, metric)
    try:
        again = scorer.score(statistics.sum(axis=0).tolist())
    except IndexError as error:  # a version that computed it from other sums
        raise ValueError(f"{what} are {statistics.shape[1]} sums, and more are needed") from error
    if kept is not None and not math.isclose(kept, again, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        raise ValueError(f"{what} score {again:.4f}, results.json says {kept:.4f}")


def _is_known(run: Run, split: str) -> bool:
    """Whether its test items are known to be those of the others, which were checked for that."""
    return split == "test" and bool(run.results.get("test_hash"))
