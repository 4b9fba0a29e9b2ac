"""Moving the words of padded texts together, and back."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from zoo.kernels.transforms import transformed


def select(rows: Tensor, places: Tensor) -> Tensor:
    """The rows `(N, F)` at these places; zeros at place N."""
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])]).index_select(0, places)


def inverse(places: Tensor, size: int) -> Tensor:
    """Where each of `size` numbers stands among the places; `len(places)`: nowhere. A place may be `size`."""
    found = torch.full((size + 1,), len(places))
    found[places] = torch.arange(len(places))
    return found[:size]


def of_each_word(function: Callable[[Tensor], Tensor], states: Tensor, keep_mask: Tensor) -> Tensor:
    """A function of each word by itself, computed for words alone where that is faster.

    Args:
        function: `(*, D)` to `(*, F)`, each row by itself.
        states: `(*lead, K, D)`.
        keep_mask: `(*lead, K)` boolean, True at words.

    Returns:
        `(*lead, K, F)`; behind the end of a text zeros, or what the function makes of the states there.
    """
    if states.device.type != "cpu" or torch.compiler.is_compiling() or transformed():
        return function(states)
    flat = keep_mask.flatten()
    places = flat.nonzero()[:, 0]
    if len(places) == len(flat):
        return function(states)
    back = inverse(places, len(flat))
    found: Tensor = _Moved.apply(function(_Moved.apply(states.flatten(0, -2), places, back)), back, places)
    return found.view(*states.shape[:-1], -1)


class _Moved(Function):
    """`select`, whose backward pass moves back. torch's own would add up row by row."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor, back: Tensor) -> Tensor:
        ctx.save_for_backward(places, back)
        return select(rows, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        places, back = ctx.saved_tensors
        if torch.is_grad_enabled():
            moved: Tensor = _Moved.apply(gradient, back, places)
            return moved, None, None
        return select(gradient, back), None, None
