"""Which items of a split are shown: always the same, short and long ones."""

from typing import Any, cast

import lightning.pytorch as pl

FIXED_MOST = 8
"""The most that a picture or a table shows: dashboards drown in more."""


def require_few(**numbers: int) -> None:
    """Refuses to show nothing, or too much.

    Args:
        numbers: how many are to be shown, by the name of the setting.

    Raises:
        ValueError: one is below 1 or above `FIXED_MOST`.
    """
    for name, number in numbers.items():
        if not 1 <= number <= FIXED_MOST:
            raise ValueError(f"{name} must be from 1 to {FIXED_MOST}, got {number}")


def fixed_predictions(task: pl.LightningModule, split: str, number: int) -> list[dict[str, Any]]:
    """Some of the split's predictions, evenly spread from the shortest input to the longest.

    Args:
        task: has `predictions`, by split, in the data's order.
        split: which one.
        number: how many; fewer when the split has fewer.
    """
    items = cast(dict[str, list[dict[str, Any]]], task.predictions).get(split, [])
    ranked = sorted(items, key=lambda item: (len(item["input"]), item["id"]))
    number = min(number, len(ranked))
    # The middles of `number` equal parts: neither the very shortest nor the longest outlier.
    return [ranked[(2 * part + 1) * len(ranked) // (2 * number)] for part in range(number)]
