"""Limits of the arguments of classes from other packages, which would refuse wrong values late or not at all.

Our own constructors refuse what they cannot use; this is the same for the trainer, optimisers, schedules and
checkpoints, and for settings that no constructor takes.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from zoo.config.values import shown
from zoo.core.problems import Problem, joined, similar

_TIME = re.compile(r"\d+:\d\d:\d\d:\d\d")
_TIME_UNITS = ("days", "hours", "minutes", "seconds")


class Limit(NamedTuple):
    """Which values are allowed.

    Attributes:
        allows: True for these.
        words: they, in words behind `must be`.
        choices: they, where they are texts, for the nearest match.
    """

    allows: Callable[[Any], bool]
    words: str
    choices: tuple[str, ...] = ()


def at_least(least: float) -> Limit:
    """Numbers from `least` on."""
    return Limit(lambda value: value >= least, f"at least {least}")


def above(bound: float) -> Limit:
    """Numbers beyond `bound`."""
    return Limit(lambda value: value > bound, f"above {bound}")


def from_to(least: float, most: float) -> Limit:
    """Numbers from `least` to `most`, both included."""
    return Limit(lambda value: least <= value <= most, f"from {least} to {most}")


def below(least: float, bound: float) -> Limit:
    """Numbers from `least` to less than `bound`."""
    return Limit(lambda value: least <= value < bound, f"at least {least} and below {bound}")


def one_of(*values: Any) -> Limit:
    """These values and no others."""
    return Limit(
        lambda value: any(value == one and type(value) is type(one) for one in values),
        " or ".join(shown(value) for value in values),
        tuple(value for value in values if isinstance(value, str)),
    )


def either(*limits: Limit) -> Limit:
    """What one of the limits allows."""

    def allows(value: Any) -> bool:
        for limit in limits:
            try:
                if limit.allows(value):
                    return True
            except TypeError:  # a limit of numbers, asked about something else
                continue
        return False

    return Limit(allows, " or ".join(limit.words for limit in limits))


def each(limit: Limit) -> Limit:
    """Lists of values that the limit allows."""
    return Limit(lambda values: all(map(limit.allows, values)), f"{limit.words} each")


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value <= 1


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 1


def _is_time(value: Any) -> bool:
    if isinstance(value, str) and _TIME.fullmatch(value):
        value = dict(zip(_TIME_UNITS, map(int, value.split(":")), strict=True))
    if not isinstance(value, dict) or not value.keys() <= set(_TIME_UNITS):
        return False
    try:
        return timedelta(**value) > timedelta(0)
    except (TypeError, OverflowError):  # a part is no number, or more days than there are
        return False


NULL = one_of(None)
SEED = from_to(0, 2**32 - 1)
RATE = above(0)
_NO_LIMIT = one_of(None, -1)
_COUNT = Limit(_is_count, "a whole number from 1 on")
_SHARE = Limit(_is_share, "a share of the epoch above 0 and up to 1.0")
_TIME_LIMIT = Limit(_is_time, "a time as days:hours:minutes:seconds, e.g. 00:02:30:00")
_PART = either(NULL, _COUNT, _SHARE)
_OURS = Limit(lambda value: False, "left to train.py, which sets it")

SETTINGS: dict[str, dict[str, Limit]] = {
    "": {"seed": SEED},
    "sweep": {"parallel": at_least(1), "jobs_per_gpu": at_least(1)},
}
"""Settings that no constructor takes, by the key that holds them."""

ARGUMENTS: dict[type, dict[str, Limit]] = {
    Trainer: {
        "max_epochs": either(_NO_LIMIT, _COUNT),
        "max_steps": either(one_of(-1), _COUNT),
        "max_time": either(NULL, _TIME_LIMIT),
        "min_epochs": either(NULL, at_least(0)),
        "min_steps": either(NULL, at_least(0)),
        "accumulate_grad_batches": _COUNT,
        "gradient_clip_val": either(NULL, at_least(0)),
        "gradient_clip_algorithm": one_of(None, "norm", "value"),
        "log_every_n_steps": either(NULL, _COUNT),
        "check_val_every_n_epoch": either(NULL, _COUNT),
        "val_check_interval": _PART,
        "limit_train_batches": _PART,
        "limit_val_batches": _PART,
        "limit_test_batches": _PART,
        "num_sanity_val_steps": either(one_of(None, -1), at_least(0)),
        "precision": one_of("32-true", "bf16-mixed", "16-mixed", "64-true"),
        "num_nodes": _COUNT,
        # These would leave a run without its checkpoints or without its validation.
        "fast_dev_run": one_of(False)._replace(words="false: take trainer=debug instead"),
        "overfit_batches": one_of(0, 0.0)._replace(words="0: take trainer.limit_train_batches instead"),
        "enable_checkpointing": one_of(None, True),
        "barebones": one_of(False),
        **dict.fromkeys(("logger", "callbacks", "plugins", "default_root_dir", "inference_mode"), _OURS),
    },
    Optimizer: {
        "lr": RATE,
        "eps": above(0),
        "betas": each(below(0, 1)),
        "weight_decay": at_least(0),
        "momentum": below(0, 1),
    },
    ReduceLROnPlateau: {
        "factor": Limit(lambda value: 0 < value < 1, "above 0 and below 1"),
        "patience": at_least(0),
        "cooldown": at_least(0),
        "min_lr": at_least(0),
    },
    # Two checkpoints, each one file that the next takes the place of.
    ModelCheckpoint: {"save_top_k": one_of(1), "enable_version_counter": one_of(False)},
}
"""Arguments of classes and of what is derived from them."""


def violations(values: Mapping[str, Any], limits: Mapping[str, Limit], key: str) -> Iterator[Problem]:
    """Values that are not allowed.

    Args:
        values: by name.
        limits: by name.
        key: the full key that the names are parts of.
    """
    for name, limit in limits.items():
        try:
            allowed = name not in values or limit.allows(values[name])
        except TypeError:  # the wrong type, which is reported as such
            continue
        if not allowed:
            said = f"must be {limit.words}, got {shown(values[name])}"
            yield Problem(joined(key, name), said + similar(str(values[name]), limit.choices))


def limits_of(target: type) -> dict[str, Limit]:
    """The limits of a class's arguments."""
    found: dict[str, Limit] = {}
    for base, limits in ARGUMENTS.items():
        if issubclass(target, base):
            found |= limits
    return found


def not_finite(node: Any, key: str = "") -> Iterator[Problem]:
    """NaN and infinite numbers, which limits would let pass."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from not_finite(value, joined(key, name))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            yield from not_finite(value, joined(key, position))
    elif isinstance(node, float) and not math.isfinite(node):
        yield Problem(key, f"must be a finite number, got {node}")
