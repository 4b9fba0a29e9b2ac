"""What every test item adds to a score, for each run: the statistics of the paired bootstrap."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.metrics import CorpusScore, ItemScore, SummedScore, signed_language
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
    signatures = (text for run in runs for text in (run.results.get("signatures") or {}).values())
    return next(filter(None, map(signed_language, signatures)), "")


def read_items(
    runs: Sequence[Run], declared: ItemScore, scorer: SummedScore, split: str, metric: str
) -> Items:
    """Scores every item of every run.

    A file may have been cut short, which shows in its score, or in that another of the same `test_hash` has
    more items. Then its run has no statistics, and a note says why.

    Args:
        runs: their predictions are read one after another; only sums are kept.
        declared: says what of a prediction counts for `metric`.
        scorer: made by it.
        split: of the predictions.
        metric: what results.json calls it.

    Raises:
        ValueError: two runs predicted for other items.
    """
    found: dict[Path, NDArray[np.int64]] = {}
    sizes: dict[Path, int] = {}
    notes: list[str] = []
    without: list[Run] = []
    longest: dict[int | None, tuple[Path, list[dict[str, Any]]]] = {}  # of each fold
    # those of a known test set first: the longest of them is what others are held against
    for run in sorted(runs, key=lambda run: not _is_known(run, split)):
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
        kept, again = run.value(split, metric), scorer.score(statistics.sum(axis=0).tolist())
        if kept is not None and not math.isclose(kept, again, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            notes.append(
                f"{run.path}: its predictions score {again:.4f}, results.json says {kept:.4f}: "
                "no p over test items"
            )
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
    if not longest:
        return Items(found, notes, "")
    for run in runs:
        if run.path in found and sizes[run.path] < (whole := len(longest[run.fold][1])):
            del found[run.path]
            notes.append(
                f"{run.path}: its predictions are of {sizes[run.path]:,} of {whole:,} test items: no p over"
                " test items"
            )
    if isinstance(scorer, CorpusScore):
        # its signature names the number of references
        (_, (first, *_)), *_ = longest.values()
        scorer.update([first["prediction"]], [first["references"]])
    return Items(found, notes, getattr(scorer, "signature", ""))


def _is_known(run: Run, split: str) -> bool:
    """Whether its test items are known to be those of the others, which were checked for that."""
    return split == "test" and bool(run.results.get("test_hash"))
