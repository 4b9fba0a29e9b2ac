"""Whether two models answer alike, to the last bit."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from small_run import draw_picture
from torch import Tensor

from zoo.tasks.inputs import PAIRS, PICTURES, SENTENCES


def answers(model: Any, folder: Path) -> Any:
    """What a model says to some inputs of the kind that it takes."""
    inputs = model.inputs()
    if inputs is None:
        return model.play(seed=3)
    given: Any = {
        SENTENCES: ["the first of march", "a red square [MASK]"],
        PAIRS: [("the red square", "a square that is red"), ("a", "b")],
        PICTURES: [draw_picture(folder / f"{seed}.png", seed, mode="RGB") for seed in (1, 2)],
    }[inputs]
    torch.manual_seed(0)
    return model.predict(given)


def same(one: Any, other: Any) -> bool:
    """Whether two answers are equal, with every number in them."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)
