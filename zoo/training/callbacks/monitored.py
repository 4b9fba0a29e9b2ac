"""Whether the metric that picks the checkpoint changes between validations."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

SMALLEST_CHANGE = 1e-6
"""Smaller changes do not count: the constant with which COCO's tools avoid dividing by 0 moves by 1e-10."""


class Unchanged(NamedTuple):
    """A monitor that had one value at every validation.

    Attributes:
        metric: its name as logged.
        value: its value.
        validations: their number.
        instead: a metric that changed, to be monitored instead; None where none did.
    """

    metric: str
    value: float
    validations: int
    instead: str | None

    def __str__(self) -> str:
        every = f"{self.metric} was {self.value:.4g} at each of {self.validations} validations"
        advice = f"take task.monitor={self.instead}, which changed" if self.instead else "no metric changed"
        return f"{every}, so it tells no checkpoint from another: {advice}"


class SeenMetrics:
    """The metrics that have changed between validations."""

    def __init__(self) -> None:
        self.validations = 0
        self._step: int | None = None
        self._first: dict[str, float] = {}
        self._changed: set[str] = set()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Adds a validation's metrics; a repeated validation of one step counts once."""
        self.validations += step != self._step
        self._step = step
        for name, value in values.items():
            first = self._first.setdefault(name, value)
            if abs(value - first) > SMALLEST_CHANGE or math.isnan(value) != math.isnan(first):
                self._changed.add(name)

    def unchanged(self, monitor: str, others: Iterable[str]) -> Unchanged | None:
        """Describes a monitor that never changed; None for one that did, or that was seen once.

        Args:
            monitor: the metric that picks the checkpoint.
            others: metrics that could pick it, best first.
        """
        if self.validations < 2 or monitor not in self._first or monitor in self._changed:
            return None
        instead = next((name for name in others if name in self._changed), None)
        return Unchanged(monitor, self._first[monitor], self.validations, instead)

    def state_dict(self) -> dict[str, Any]:
        """The state in plain containers."""
        return {
            "validations": self.validations,
            "step": self._step,
            "first": dict(self._first),
            "changed": sorted(self._changed),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the state."""
        self.validations, self._step = state["validations"], state["step"]
        self._first, self._changed = dict(state["first"]), set(state["changed"])
