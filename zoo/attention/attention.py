"""Attention: a score and a selection, reading from a memory."""

import torch
from torch import Tensor, nn

from zoo.attention.memory import Attended, Memory, Selected
from zoo.attention.scores import Score
from zoo.attention.selections import Selection
from zoo.attention.shield import nan_queries, propagate_nan, shield
from zoo.kernels import Dropout


class Attention(nn.Module):
    """Reads values by how well queries match keys: `c = Σ_i α_i v_i`, `α = selection(score(s, h))`.

    A memory is prepared once and read many times:

        attention = Attention(score=Additive(query_size=4, key_size=6), selection=Soft(query_size=4))
        memory = attention.prepare(keys, keep_mask=padding_mask(lengths, keys.shape[1]))
        context, weights, *_ = attention(query, memory)

    Args:
        score: how alike query and key are.
        selection: which keys are read, and how hard.
        dropout: probability with which training zeroes a weight; the others are scaled up.

    Raises:
        ValueError: if score and selection differ in the size of queries or the number of heads.
    """

    def __init__(self, *, score: Score, selection: Selection, dropout: float = 0.0) -> None:
        super().__init__()
        for name in ("query_size", "heads"):
            of_score, of_selection = getattr(score, name), getattr(selection, name)
            if of_score != of_selection:
                raise ValueError(f"score has {name}={of_score}, selection has {name}={of_selection}")
        self.score, self.selection, self.dropout = score, selection, Dropout(dropout)

    def prepare(self, keys: Tensor, values: Tensor | None = None, keep_mask: Tensor | None = None) -> Memory:
        """Computes everything that needs no query, once.

        Keys and values that no query may read become zeros, so padding of any content, even NaN, reaches
        neither outputs nor gradients. With a mask for each query this holds for every query by itself.

        Args:
            keys: `(*lead, K, Dk)`.
            values: `(*lead, K, Dv)`; None: the keys.
            keep_mask: boolean, broadcastable to `(*lead, Q, K)`, True = may attend; None = all may.

        Raises:
            ValueError: if shapes disagree or the mask is not boolean.
        """
        self._check(keys, values)
        keep_mask = checked_mask(keep_mask, keys)
        keys, values, nonfinite = shield(keys, values, keep_mask)
        values = keys if values is None else values
        return Memory(self.score.project_keys(keys), values, keep_mask, nonfinite)

    def extend(self, memory: Memory, keys: Tensor, values: Tensor | None = None) -> Memory:
        """Appends keys that every query may attend to, as a cache does.

        Args:
            memory: of K keys; it stays as it is.
            keys: `(*lead, N, Dk)`.
            values: `(*lead, N, Dv)`; None: the keys.

        Returns:
            The memory of K + N keys.

        Raises:
            ValueError: if shapes disagree.
        """
        self._check(keys, values)
        values = keys if values is None else values
        if values.shape[-1] != memory.values.shape[-1]:
            raise ValueError(
                f"the memory's values have size {memory.values.shape[-1]}, given {values.shape[-1]}"
            )
        return memory.extended(self.score.project_keys(keys), values)

    def init_state(self, memory: Memory) -> Tensor | None:
        """The selection's state `(*lead, 1)` before a decoder's first step; None if it has none."""
        return self.selection.init_state(memory.values)

    def forward(self, query: Tensor, memory: Memory, state: Tensor | None = None) -> Attended:
        """Reads the memory.

        Args:
            query: `(*lead, Q, Dq)`.
            memory: from `prepare` or `extend`.
            state: `init_state`, or `state` of the previous reading; None: the queries are all steps of one
                sequence, from its first on.

        Raises:
            ValueError: if the size or number of queries does not fit the memory.
        """
        if query.shape[-1] != self.score.query_size:
            raise ValueError(
                f"{type(self.score).__name__} has query_size={self.score.query_size}, given a query of size "
                f"{query.shape[-1]}"
            )
        check_queries(query, memory, memory.values.shape[:-2])
        return propagate_nan(self.read(query, memory, state), nan_queries(memory))

    def read(self, query: Tensor, memory: Memory, state: Tensor | None) -> Attended:
        """`forward` without its checks, and with zeros in place of non-finite keys and values."""
        scores: Tensor = self.score(query, memory.projected)
        selected: Selected = self.selection(scores, query, memory.keep_mask, state)
        selected = selected._replace(weights=self.dropout(selected.weights))
        return Attended(selected.weights.to(memory.values.dtype) @ memory.values, *selected)

    def _check(self, keys: Tensor, values: Tensor | None) -> None:
        score = self.score
        if keys.shape[-1] != score.key_size:
            raise ValueError(
                f"{type(score).__name__} has key_size={score.key_size}, given keys of size {keys.shape[-1]}"
            )
        if score.heads is not None and (keys.ndim < 3 or keys.shape[-3] != score.heads):
            raise ValueError(
                f"{type(score).__name__} has heads={score.heads}, so keys need the shape "
                f"(..., {score.heads}, K, {score.key_size}), given {tuple(keys.shape)}"
            )
        check_values(keys, values)


def check_values(keys: Tensor, values: Tensor | None) -> None:
    """Raises ValueError, with both shapes, unless each key has one value."""
    if values is not None and values.shape[:-1] != keys.shape[:-1]:
        raise ValueError(
            f"each key needs one value, given keys {tuple(keys.shape)} and values {tuple(values.shape)}"
        )


def checked_mask(keep_mask: Tensor | None, keys: Tensor) -> Tensor | None:
    """The mask with an axis for queries.

    Raises:
        ValueError: if it is not boolean, or does not broadcast to the keys `(*lead, K, Dk)`.
    """
    if keep_mask is None:
        return None
    keep_mask = keep_mask.expand(1, -1) if keep_mask.ndim == 1 else keep_mask
    if keep_mask.dtype != torch.bool:
        raise ValueError(f"keep_mask must be boolean (True = may attend), given {keep_mask.dtype}")
    target = (*keys.shape[:-2], keep_mask.shape[-2], keys.shape[-2])
    try:
        fits = torch.broadcast_shapes(keep_mask.shape, target) == target
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"keep_mask {tuple(keep_mask.shape)} does not broadcast to (..., Q, K) = "
            f"{(*keys.shape[:-2], 'Q', keys.shape[-2])}"
        )
    return keep_mask


def check_queries(query: Tensor, memory: Memory, lead: torch.Size) -> None:
    """Checks that queries fit a memory.

    Args:
        query: `(*lead, Q, Dq)`.
        memory: which they read.
        lead: the memory's leading axes, without one of heads.

    Raises:
        ValueError: if the leading axes differ, or the memory's mask is for another number of queries.
    """
    if query.shape[:-2] != lead:
        try:
            torch.broadcast_shapes(query.shape[:-2], lead)
        except RuntimeError:
            raise ValueError(
                f"queries {tuple(query.shape)} and a memory of {tuple(lead)} differ in their leading axes"
            ) from None
    if memory.keep_mask is not None and memory.keep_mask.shape[-2] not in (1, query.shape[-2]):
        raise ValueError(
            f"the memory's keep_mask is for {memory.keep_mask.shape[-2]} queries, given {query.shape[-2]}"
        )
