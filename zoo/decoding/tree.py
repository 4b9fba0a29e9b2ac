"""Indexing of whole states and memories.

A tree is any nesting of tuples, named tuples, lists, dicts and None around tensors.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from torch import Tensor


def map_tensors(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """The same tree with `function` applied to every tensor in it.

    Raises:
        TypeError: a leaf is neither a tensor nor None.
    """
    if isinstance(tree, Tensor):
        return function(tree)
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: map_tensors(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple | list):
        parts = [map_tensors(function, part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    raise TypeError(
        "a decoding state or memory holds tensors in tuples, lists and dicts, or None; "
        f"found {type(tree).__name__}: {tree!r}"
    )


def take_sentences(tree: Any, sentences: Tensor) -> Any:
    """Keeps some sentences of a memory: every tensor `(B, ...)` becomes `(R, ...)`.

    Args:
        tree: a memory.
        sentences: `(R,)` int64, the rows to keep.
    """
    return map_tensors(lambda tensor: tensor.index_select(0, sentences), tree)


def take_hypotheses(tree: Any, sentences: Tensor, parents: Tensor) -> Any:
    """Keeps some sentences of a state and reorders their hypotheses: `(B, W, ...)` becomes `(R, W', ...)`.

    Args:
        tree: a state.
        sentences: `(R,)` int64, the rows to keep.
        parents: `(R, W')` int64, which old hypothesis each new one continues.
    """

    @cache  # all tensors of a state have the same W
    def rows(hypotheses: int) -> Tensor:
        return (sentences[:, None] * hypotheses + parents).flatten()

    def take(tensor: Tensor) -> Tensor:
        # Rows of one axis: a third faster on a CPU than two axes indexed at once.
        flat = tensor.flatten(0, 1)
        taken: Tensor = flat.index_select(0, rows(tensor.shape[1])).unflatten(0, parents.shape)
        return taken

    return map_tensors(take, tree)
