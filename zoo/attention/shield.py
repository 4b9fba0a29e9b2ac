"""Masked keys and values change neither outputs nor gradients, whatever they hold.

`0 * NaN` is NaN, in gradients too, so a weight of zero does not suffice. Zeros replace masked and non-finite
keys and values before anything is computed with them.
"""

import math

import torch
from torch import Tensor

from zoo.attention.memory import Attended, Memory
from zoo.kernels.transforms import transformed


def shield(
    keys: Tensor, values: Tensor | None, keep_mask: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Replaces keys and values by zeros where no query may read them.

    With a mask for each query it also replaces those that are not finite: `propagate_nan` sets the outputs of
    the queries that may read them.

    Args:
        keys: `(*lead, K, Dk)`.
        values: `(*lead, K, Dv)`; None: the keys, as one tensor.
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`; None = all may be read.

    Returns:
        Keys, values and `Memory.nonfinite`.
    """
    if keep_mask is None:
        return keys, values, None
    readable, nonfinite = keep_mask.any(-2), None
    if keep_mask.shape[-2] > 1:
        if _holds_all(readable) and sums_up(keys) and (values is None or sums_up(values)):
            # A view, so that gradients are summed in the order in which they are behind `where`.
            return keys.view_as(keys), None if values is None else values.view_as(values), None
        finite = finite_rows(keys) if values is None else finite_rows(keys) & finite_rows(values)
        readable, nonfinite = readable & finite, ~finite
    readable = readable.unsqueeze(-1)
    values = None if values is None else torch.where(readable, values, 0.0)
    return torch.where(readable, keys, 0.0), values, nonfinite


def finite_rows(tensor: Tensor) -> Tensor:
    """`(*lead, N)`: whether every number in a row of `(*lead, N, D)` is finite."""
    # The largest magnitude, not the sum, which may be infinite for finite numbers.
    largest: Tensor = torch.linalg.vector_norm(tensor.detach(), math.inf, -1)
    return largest < math.inf  # NaN is not


def _holds_all(readable: Tensor) -> bool:
    """Whether every key is readable, where that can be asked for nothing: it would stop a GPU."""
    plain = readable.device.type == "cpu" and not torch.compiler.is_compiling() and not transformed()
    return plain and bool(readable.all())


def sums_up(tensor: Tensor) -> bool:
    """Whether the sum of all numbers is finite: then each of them is."""
    return math.isfinite(tensor.detach().sum().item())


def nan_queries(memory: Memory, *, causal: bool = False) -> Tensor | None:
    """`(*lead, Q)`: the queries that may attend to a non-finite key or value; None: there is none.

    Args:
        memory: with its mask.
        causal: whether the mask is `causal_mask(Q, Q)`.
    """
    if memory.nonfinite is None or memory.keep_mask is None:
        return None
    if causal:
        return memory.nonfinite.cumsum(-1) > 0
    return (memory.keep_mask & memory.nonfinite.unsqueeze(-2)).any(-1)


def propagate_nan(attended: Attended, queries: Tensor | None) -> Attended:
    """Sets everything that `queries (*lead, Q)` read to NaN; None: no query."""
    if queries is None:
        return attended

    def with_nan(part: Tensor) -> Tensor:
        return part.masked_fill(queries if part.ndim == queries.ndim else queries.unsqueeze(-1), math.nan)

    parts = attended._asdict() | {"state": None}
    return attended._replace(**{name: with_nan(part) for name, part in parts.items() if part is not None})
