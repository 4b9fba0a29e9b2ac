"""Answers in one line."""

from typing import NamedTuple

import torch
from torch import Tensor

from zoo.core.short_repr import short_repr


class Answer(NamedTuple):
    text: str
    tokens: list[str]
    weights: Tensor | None

    def __repr__(self) -> str:
        return short_repr(self)


def test_tensors_are_shapes_and_lists_are_cut() -> None:
    answer = Answer("a b", ["a", "b"], torch.zeros(2, 3))
    assert repr([answer]) == "[Answer(text='a b', tokens=['a', 'b'], weights=Tensor(2, 3))]"
    assert len(repr(Answer("a" * 5000, ["b"] * 5000, None))) < 200
