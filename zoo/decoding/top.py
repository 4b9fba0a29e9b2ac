"""The most probable tokens of a large vocabulary, most of the cost of a beam outside the model."""

import torch
from torch import Tensor

_CHUNK = 64  # measured: 32 to 128 differ little


def top(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`log_probs.topk(count)` with ties in order of token ids, and faster on a CPU.

    The `count` highest values lie in the `count` chunks of the vocabulary with the highest maxima, so only
    these chunks are sorted.

    Args:
        log_probs: `(..., V)` float32.
        count: at most V.

    Returns:
        Values and token ids, `(..., count)` each, highest first; ties go to the lower id.
    """
    values = log_probs
    ids = torch.arange(log_probs.shape[-1], device=log_probs.device).expand_as(log_probs)
    if values.shape[-1] // _CHUNK > count:
        ids = _promising(values, count)
        values = values.gather(-1, ids)
    order = _first(values, count)
    return values.gather(-1, order), ids.gather(-1, order)


def _promising(values: Tensor, count: int) -> Tensor:
    """Ascending token ids of the `count` chunks with the highest maxima, and of the last, partial chunk."""
    size, device = values.shape[-1], values.device
    whole = size - size % _CHUNK
    maxima = values[..., :whole].unflatten(-1, (-1, _CHUNK)).amax(dim=-1)
    chunks = _first(maxima, count).sort(dim=-1).values
    inside = (chunks[..., None] * _CHUNK + torch.arange(_CHUNK, device=device)).flatten(-2)
    rest = torch.arange(whole, size, device=device)
    return torch.cat([inside, rest.expand(*inside.shape[:-1], -1)], dim=-1)


def _first(values: Tensor, count: int) -> Tensor:
    """Positions of the highest values; ties go to the first, which `topk` does not promise.

    Value and position become one whole number: read as an integer, the bits of a positive float grow with it,
    those of a negative one fall.
    """
    bits = (values + 0.0).view(torch.int32)  # + 0.0: no negative zero, which would rank below zero
    ascending = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # `where` would take four times as long
    positions = torch.arange(values.shape[-1], device=values.device)
    return ((ascending.to(torch.int64) << 32) - positions).topk(count, dim=-1).indices
