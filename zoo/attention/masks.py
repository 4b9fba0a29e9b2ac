"""Masks: boolean tensors, True = may attend, combined by logic.

There are no additive masks: a large negative number is not minus infinity, and two of them overflow in half
precision.
"""

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, size: int) -> Tensor:
    """Keeps the first `lengths` of `size` keys, for every query alike.

    Args:
        lengths: `(*lead,)` int64, real keys in each row.
        size: K.

    Returns:
        `(*lead, 1, K)` boolean.
    """
    return torch.arange(size, device=lengths.device) < lengths[..., None, None]


def causal_mask(queries: int, keys: int, *, device: torch.device | None = None) -> Tensor:
    """Lets each query see the keys up to its own position; the last query stands at the last key.

    So one query after a cache of K keys sees all of them.

    Args:
        queries: Q.
        keys: K.
        device: where the mask is made; None: torch's default device.

    Returns:
        `(Q, K)` boolean.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def combine(*masks: Tensor | None) -> Tensor | None:
    """Joins masks by "and"; None keeps all."""
    combined: Tensor | None = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else combined & mask
    return combined
