"""Attention of a recurrent network to its own past states.

At step t the network has the states `h_1 ... h_t`. The newest one asks, those before it are keys and values:
`c_t = Σ_{i<t} α_i h_i`, and `h~_t = tanh(W_c [c_t; h_t])` predicts, as in Luong et al. 2015, eq. 5, whose
annotations are the network's own past here. No state depends on a reading, so all steps of a window read at
once.

Shapes: B texts, T tokens of a window, M states that are remembered, H features of a state.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Attended
from zoo.kernels import Linear
from zoo.networks.checks import check_sizes
from zoo.networks.seq2seq import AttentionParts


class Past(NamedTuple):
    """States of the tokens before a window; zeros and False where there were none.

    Attributes:
        states: `(B, M, H)`, the newest last.
        real: `(B, M)` boolean.
    """

    states: Tensor
    real: Tensor


class PastAttention(nn.Module):
    """Reads the M states before each state, wherever windows begin and end.

    Args:
        size: H.
        attention: `{score, selection}`, completed here.
        length: M.

    Raises:
        ValueError: M is below 1, the score or the selection counts positions, which differ between a step and
            a window, or the selection samples, which no loss has a term for.
    """

    def __init__(self, *, size: int, attention: Mapping[str, Callable[..., nn.Module]], length: int) -> None:
        super().__init__()
        check_sizes(length=length)
        self.length = length
        parts = AttentionParts(**attention)  # type: ignore[arg-type]  # the config check knows the types
        self.attention = parts.build(query_size=size, key_size=size, longest=length)
        for part in (self.attention.score, self.attention.selection):
            refuse_unfit(part)
        self.combine = Linear(2 * size, size)

    def forward(self, states: Tensor, past: Past) -> tuple[Tensor, Past]:
        """The vectors `h~ (B, T, H)` of a window's states `(B, T, H)`, and the past behind the window."""
        read, new = self.read(states, past)
        return self.combine(torch.cat([read.context, states], -1)).tanh(), new

    def read(self, states: Tensor, past: Past) -> tuple[Attended, Past]:
        """What each state of a window read of the M + T states of past and window, and the new past."""
        count = states.shape[1]
        keys = torch.cat([past.states.to(states.dtype), states], 1)
        real = torch.cat([past.real, past.real.new_ones(len(states), count)], 1)
        # Query t stands at key M + t: the M keys before that are its past.
        near = torch.ones(count, keys.shape[1], dtype=torch.bool, device=keys.device)
        near = near.tril(self.length - 1).triu()
        memory = self.attention.prepare(keys, keep_mask=near & real[:, None])
        return self.attention(states, memory), Past(keys[:, count:], real[:, count:])

    def init_state(self, like: Tensor) -> Past:
        """No past, of the device and type of `like (*lead, H)`: `(*lead, M, ...)`."""
        return Past(
            like.new_zeros(*like.shape[:-1], self.length, like.shape[-1]),
            like.new_zeros(*like.shape[:-1], self.length, dtype=torch.bool),
        )


def refuse_unfit(part: nn.Module) -> None:
    """Refuses a score or selection that cannot read a past that moves on.

    Raises:
        ValueError: it counts positions, or samples.
    """
    name = type(part).__name__
    if getattr(part, "counts_positions", False):
        raise ValueError(
            f"{name} counts positions in the memory, and those of a past move with every token;"
            " take a score and a selection that look at states alone"
        )
    if getattr(part, "samples", False):
        raise ValueError(
            f"{name} samples what is read of the past, and no loss has a term for these samples;"
            " take selection=soft or selection=gumbel_hard"
        )
