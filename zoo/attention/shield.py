"""What may not be read changes nothing: neither outputs nor gradients, whatever it holds.

`0 * NaN` is NaN, in gradients too, so a weight of zero keeps nothing out. Zeros take the place of what could
do harm before anything is computed with it.
"""

import math

import torch
from torch import Tensor

from zoo.attention.memory import Attended, Memory
from zoo.attention.precision import at_least_float32


def shield(
    keys: Tensor, values: Tensor | None, keep_mask: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Keys and values with zeros for what some query must not notice.

    Where one mask holds for all queries, that is what no query may read; what may be read stays as it is. With
    a mask for each query it is what is not finite: `spoil` then sets the outputs of those who may read it.

    Args:
        keys: `(*lead, K, Dk)`.
        values: `(*lead, K, Dv)`; None: the keys are read (one tensor then stays one).
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`; None = all may be read.

    Returns:
        Keys, values and `Memory.broken`.
    """
    if keep_mask is None:
        return keys, values, None
    broken = None
    if keep_mask.shape[-2] == 1:
        harmless = keep_mask[..., 0, :]
    else:
        # A sum is finite where all its terms are: one pass instead of two.
        harmless = keys.sum(-1, dtype=at_least_float32(keys)).isfinite()
        if values is not None:
            harmless = harmless & values.sum(-1, dtype=at_least_float32(values)).isfinite()
        broken = ~harmless
    harmless = harmless.unsqueeze(-1)
    return (
        torch.where(harmless, keys, 0.0),
        None if values is None else torch.where(harmless, values, 0.0),
        broken,
    )


def spoil(attended: Attended, memory: Memory) -> Attended:
    """NaN for the queries that may attend to what is broken, and for no other."""
    if memory.broken is None or memory.keep_mask is None:
        return attended
    queries = (memory.keep_mask & memory.broken.unsqueeze(-2)).any(-1)  # (*lead, Q)
    return Attended(
        *(
            part
            if part is None or not part.is_floating_point()
            else part.masked_fill(queries if part.ndim == queries.ndim else queries.unsqueeze(-1), math.nan)
            for part in attended
        )
    )
