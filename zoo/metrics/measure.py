"""What a task says of each metric: which values are better, how it is written, and where it is shown."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from annotated_types import Interval
from torchmetrics import Metric

from zoo.core.problems import unknown
from zoo.metrics.item_scores import ItemScore

Better = Literal["max", "min"]
Role = Literal["quality", "support", "attention", "detail"]
MOST_DIGITS = 9


@dataclass(frozen=True)
class Measure:
    """What a task measures under one name.

    Attributes:
        metric: the class that computes it.
        better: which values are better; None where neither is, as of an entropy.
        digits: decimal places in tables.
        role: `quality` stands in published tables with its difference from the recipe, `support` without,
            `attention` says whether the model looked at the right place, `detail` is in results.json alone.
        headline: whether it may stand for a whole run; the first such metric that a run measured does.
        beside: published tables show it only beside this headline; None: beside any.
        watched: its place among the few that are shown during training, from 1; 0: it is not among them.
        items: how it follows from single predictions, for the paired bootstrap; None where it does not.
        share: whether it is a share, from 0 to 1, beyond which no interval of it reaches.
    """

    metric: type[Metric]
    better: Better | None = field(kw_only=True)
    digits: int = field(default=3, kw_only=True)
    role: Role = field(default="quality", kw_only=True)
    headline: bool = field(default=False, kw_only=True)
    beside: str | None = field(default=None, kw_only=True)
    watched: int = field(default=0, kw_only=True)
    items: ItemScore | None = field(default=None, kw_only=True)
    share: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuses what no report could read, and a direction that the metric's class contradicts.

        Raises:
            TypeError: `items` is no `ItemScore`.
            ValueError: names the value, or the class.
        """
        if not isinstance(self.items, ItemScore | None):
            raise TypeError(f"items must be an ItemScore of zoo.metrics.item_scores, got {self.items!r}")
        allowed: dict[str, tuple[Any, ...]] = {"better": (*get_args(Better), None), "role": get_args(Role)}
        for name, values in allowed.items():
            if (value := getattr(self, name)) not in values:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}, got {value!r}")
        if type(self.digits) is not int or not 0 <= self.digits <= MOST_DIGITS:
            raise ValueError(f"digits must be a whole number from 0 to {MOST_DIGITS}, got {self.digits!r}")
        higher = self.metric.higher_is_better
        if higher is not None and self.better != ("max" if higher else "min"):
            raise ValueError(
                f"{self.metric.__name__} says higher_is_better={higher}, got better={self.better!r}"
            )
        if self.headline and self.better is None:
            raise ValueError("a headline needs a direction: better='max' or better='min'")


@dataclass(frozen=True)
class Control:
    """An answer without the part of a model that is studied; the model's scores are compared with its scores.

    Attributes:
        said: what gives the answer, for tables.
        of_model: whether every model has its own, such as its captions of other images.
        metrics: the name in results.json of each metric that the control has; those that are not named are
            `<control>_<metric>`.
    """

    said: str
    of_model: bool = False
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MetricRecord:
    """What results.json says of a metric.

    Attributes:
        better: see `Measure`, as for digits and role.
        digits: see there; None where nobody declared it.
        role: see there.
        headline: whether it is the one number of the run.
        items: the name of the `ItemScore`; empty where there is none.
        per_token: whether it counts tokens, so that runs with other vocabularies do not compare.
        share: see `Measure`.
    """

    better: Better | None = None
    digits: Annotated[int, Interval(ge=0, le=MOST_DIGITS)] | None = None
    role: Role = "detail"
    headline: bool = False
    items: str = ""
    per_token: bool = False
    share: bool = False


@dataclass(frozen=True)
class ControlRecord:
    """What results.json says of a control.

    Attributes:
        said: see `Control`.
        of_model: see there.
        metrics: the control's name for each metric that it has.
    """

    said: str
    of_model: bool
    metrics: Mapping[str, str]


def metric_records(metrics: Mapping[str, Measure], measured: Collection[str]) -> dict[str, MetricRecord]:
    """What results.json says of each metric that a run measured.

    Args:
        metrics: what the task declares.
        measured: names of what a run has.
    """
    headline = next((name for name, one in metrics.items() if one.headline and name in measured), None)
    records = {}
    for name, one in metrics.items():
        if name in measured:
            shown = name == headline or (not one.headline and one.beside in (None, headline))
            records[name] = MetricRecord(
                better=one.better,
                digits=one.digits,
                role=one.role if shown else "detail",
                headline=name == headline,
                items=one.items.name if one.items else "",
                per_token=getattr(one.metric, "per_token", False),
                share=one.share,
            )
    return records


def control_records(controls: Mapping[str, Control], measured: Collection[str]) -> dict[str, ControlRecord]:
    """What results.json says of each control that a run measured."""
    records = {}
    for name, control in controls.items():
        own = {key.removeprefix(f"{name}_"): key for key in measured if key.startswith(f"{name}_")}
        named = own | {metric: key for metric, key in control.metrics.items() if key in measured}
        if named:
            records[name] = ControlRecord(control.said, control.of_model, named)
    return records


def mode_of(metrics: Mapping[str, Measure], logged: str, absent: Mapping[str, str]) -> Better:
    """Which value of a metric is the best, as checkpoints and schedules call it.

    Args:
        metrics: what the task declares.
        logged: such as `val/bleu`.
        absent: those of the metrics that validations do not have, with the reason.

    Raises:
        ValueError: no validation measures it, or neither side of it is better.
    """
    measured = {name: one.better for name, one in metrics.items() if name not in absent}
    allowed = {f"val/{name}": better for name, better in measured.items() if better}
    if logged in allowed:
        return allowed[logged]
    stage, _, name = logged.partition("/")
    if stage == "val" and name in measured:
        reason = "has no direction: neither high nor low values are better"
    elif stage == "test" and name in metrics:
        reason = "cannot pick a checkpoint: that is done on validation"
    else:
        reason = f"is not measured: {absent.get(name, 'there is no such metric')}"
    raise ValueError(f"{logged} {reason}{unknown(logged, allowed)}")
