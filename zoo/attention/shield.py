"""What may not be read changes nothing: neither outputs nor gradients, whatever it holds.

`0 * NaN` is NaN, in gradients too, so a weight of zero keeps nothing out. Zeros take the place of what could
do harm before anything is computed with it.
"""

import math

import torch
from torch import Tensor

from zoo.attention.memory import Attended, Memory


def shield(
    keys: Tensor, values: Tensor | None, keep_mask: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Keys and values with zeros for what some query must not notice.

    That is what no query may read. With a mask for each query it is also what is not finite: `propagate_nan`
    sets the outputs of those who may read it.

    Args:
        keys: `(*lead, K, Dk)`.
        values: `(*lead, K, Dv)`; None: the keys are read (one tensor then stays one).
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`; None = all may be read.

    Returns:
        Keys, values and `Memory.broken`.
    """
    if keep_mask is None:
        return keys, values, None
    harmless, broken = keep_mask.any(-2), None
    if keep_mask.shape[-2] > 1:
        finite = finite_rows(keys) if values is None else finite_rows(keys) & finite_rows(values)
        harmless, broken = harmless & finite, ~finite
    harmless = harmless.unsqueeze(-1)
    return (
        torch.where(harmless, keys, 0.0),
        None if values is None else torch.where(harmless, values, 0.0),
        broken,
    )


def finite_rows(tensor: Tensor) -> Tensor:
    """`(*lead, N)`: whether all of a row of `(*lead, N, D)` is finite.

    The largest magnitude tells; the sum would not, since that of finite numbers may be infinite.
    """
    largest: Tensor = torch.linalg.vector_norm(tensor.detach(), math.inf, -1)
    return largest < math.inf  # NaN is not


def nan_queries(memory: Memory, *, causal: bool = False) -> Tensor | None:
    """`(*lead, Q)`: which queries may attend to what is broken; None: nothing is.

    Args:
        memory: with its mask.
        causal: whether that is `causal_mask(Q, Q)`.
    """
    if memory.broken is None or memory.keep_mask is None:
        return None
    if causal:
        return memory.broken.cumsum(-1) > 0
    return (memory.keep_mask & memory.broken.unsqueeze(-2)).any(-1)


def propagate_nan(attended: Attended, queries: Tensor | None) -> Attended:
    """NaN for everything that some `queries (*lead, Q)` read; None: for nothing."""
    if queries is None:
        return attended

    def with_nan(part: Tensor) -> Tensor:
        return part.masked_fill(queries if part.ndim == queries.ndim else queries.unsqueeze(-1), math.nan)

    parts = attended._asdict() | {"state": None}
    return attended._replace(**{name: with_nan(part) for name, part in parts.items() if part is not None})
