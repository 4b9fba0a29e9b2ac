"""Which items of a split are shown: always the same ones, short and long."""

from typing import Any, cast

import lightning.pytorch as pl

FIXED_MOST = 8
"""The most items that a figure or a table shows."""


def require_few(**numbers: int) -> None:
    """Refuses numbers of items, by the names of their settings, that are not from 1 to `FIXED_MOST`.

    Raises:
        ValueError: names the setting.
    """
    for name, number in numbers.items():
        if not 1 <= number <= FIXED_MOST:
            raise ValueError(f"{name} must be from 1 to {FIXED_MOST}, got {number}")


def fixed_predictions(task: pl.LightningModule, split: str, number: int) -> list[dict[str, Any]]:
    """At most `number` of a split's predictions, evenly spread from the shortest input to the longest.

    Args:
        task: has `predictions` by split.
        split: the split.
        number: how many.
    """
    items = cast(dict[str, list[dict[str, Any]]], task.predictions).get(split, [])
    ranked = sorted(items, key=lambda item: (len(item["input"]), item["id"]))
    number = min(number, len(ranked))
    # The middles of `number` equal parts: neither the very shortest nor the longest outlier.
    return [ranked[(2 * part + 1) * len(ranked) // (2 * number)] for part in range(number)]
