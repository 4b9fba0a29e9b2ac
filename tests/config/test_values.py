"""What fits which annotation."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import pytest
import torch
from lightning.pytorch.callbacks import LambdaCallback

from zoo.attention import Score
from zoo.config.values import annotations, described, fits, misplaced, shown

DOT = {"_target_": "zoo.attention.Dot"}
LATER = {**DOT, "_partial_": True}
HOOK = annotations(LambdaCallback)["on_fit_start"]
"""A function of which nothing is said."""


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        (LATER, HOOK, False),
        (None, HOOK, True),
        (1, Literal[1, 2], True),
        (True, Literal[1, 2], False),
        (1, float, True),
        (True, float, False),
        (True, int, False),
        (1.0, int, False),
        (None, int | None, True),
        (0, None, False),
        ("x", Path, True),
        (1, Path, False),
        ([1, 2], list[int], True),
        ([1, "x"], list[int], False),
        ([1, 2], tuple[int, int], True),
        ([1, 2, 3], tuple[int, int], False),
        ([1, 2, 3], tuple[int, ...], True),
        ([1, "x"], tuple[int, int], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "x"}, Mapping[str, int], False),
        ([], Mapping[str, int], False),
        ([1], torch.Tensor, False),
        (DOT, Score, True),
        (LATER, Score, False),
        (DOT, torch.optim.Optimizer, False),
        (LATER, Callable[..., Score], True),
        (LATER, Callable[..., torch.optim.Optimizer], False),
        (DOT, Callable[..., torch.Tensor], True),  # an object that is called itself
        (DOT, dict[str, Any], False),
        (3, Callable[..., Score], False),
        (3, Any, True),
    ],
)
def test_fits(value: Any, annotation: Any, expected: bool) -> None:
    assert fits(value, annotation) is expected


def test_in_words() -> None:
    assert described(float | torch.Tensor | None) == "a number or null", "no YAML can give a tensor"
    assert described(Callable[..., Score]) == "a Score to build (_partial_: true)"
    assert shown(LATER) == "Dot (_partial_: true)"
    assert shown(list(range(100))) == shown(list(range(200))), "long values are cut"
    assert len(shown("x" * 1000)) == 80


class Sizes(TypedDict):
    height: int
    depth: NotRequired[int | None]


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ([1, "a", 2], list[int], ["key[1]: must be a whole number, got 'a'"]),
        ([1, "a"], Sequence[int] | None, ["key[1]: must be a whole number, got 'a'"]),
        ([True, "a"], tuple[str, ...], ["key[0]: must be text, got true; in quotes it is text: '\"true\"'"]),
        (
            [["a", 3], ["b"]],
            list[list[str]],
            ["key[0][1]: must be text, got 3; in quotes it is text: '\"3\"'"],
        ),
        ([1, "a"], tuple[int, int], ["key[1]: must be a whole number, got 'a'"]),
        ([1], tuple[int, int], ["key: must be a list of 2, got [1]"]),
        (["a"], list[int] | list[float], ["key: must be a list, got ['a']"]),
        ([{"height": "x"}], list[Sizes], ["key[0].height: must be a whole number, got 'x'"]),
        ([1, 2], list[int], []),
        ([], list[int], []),
        ([1, 2], list, []),
        ([1, 2], Any, []),
        (1e5, str, ["key: must be text, got 100000.0; in quotes it is text: '\"...\"'"]),
        (3, str | None, ["key: must be text or null, got 3; in quotes it is text: '\"3\"'"]),
        (None, str, ["key: must be text, got null"]),
        ("a", list[str], ["key: must be a list, got 'a'; write it as a list: key=[a]"]),
        (3, list[str], ["key: must be a list, got 3"]),
        (3, Literal["a", "b"], ["key: must be 'a', 'b', got 3"]),
    ],
)
def test_of_a_list_the_entry_is_named_and_of_a_number_how_it_is_text(
    value: Any, annotation: Any, expected: list[str]
) -> None:
    assert [str(problem) for problem in misplaced(value, annotation, "key", "must be")] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"height": 3}, []),
        ({"height": 3, "depth": None}, []),
        ({"depth": 2}, ["size.height: is missing"]),
        ({}, ["size.height: is missing"]),
        ({"height": 3, "depth": "x"}, ["size.depth: must be a whole number or null, got 'x'"]),
        (
            {"height": 3, "hight": 3},
            ["size.hight: no such setting; did you mean height? allowed: depth, height"],
        ),
    ],
)
def test_a_mapping_has_all_that_is_required(value: Any, expected: list[str]) -> None:
    for annotation in (Sizes, Sizes | None):
        assert [str(problem) for problem in misplaced(value, annotation, "size", "must be")] == expected
        assert fits(value, annotation) is (not expected)
