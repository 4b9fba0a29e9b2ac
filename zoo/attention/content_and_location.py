"""Addressing by content and by location: the selection of the Neural Turing Machine."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from zoo.attention.memory import Selected
from zoo.attention.projection import Projection
from zoo.attention.selections import Selection
from zoo.attention.softmax import masked_softmax
from zoo.kernels.memory_heads import SHARPEST, TINY, shifted_focus
from zoo.kernels.precision import at_least_float32


class ContentAndLocation(Selection):
    """By content, and from where the last step read (Graves et al. 2014, section 3.3.2).

    The scores are the paper's `β K[k, M(i)]`, as those of `Cosine`. The query s sets a gate g, a distribution
    over shifts -D ... D, and a sharpness γ >= 1:

    - equation 5, content: `c(i) = exp(e_i) / Σ_j exp(e_j)`
    - equation 7, interpolation: `g(i) = g c(i) + (1 - g) w_{t-1}(i)`, g = sigmoid(W_g s)
    - equation 8, shift: `w̃(i) = Σ_j g(j) s(i - j)` modulo the number of keys, s = softmax(W_s s)
    - equation 9, sharpening: `w(i) = w̃(i)^γ / Σ_j w̃(j)^γ`, γ = 1 + softplus(W_γ s)

    The state of a query is its last weights, `(*lead, Q, K)`; `init_state` has all weight on the first key.
    Masked keys behind the last kept one do not count; keys that a memory has gained begin with weight 0.

    Fails: a step needs the weights of the last one, so the steps of a sequence are computed one by one; a
    shift by more than D takes several steps. `reverse`: not measured.

    Args:
        query_size: Dq.
        heads: H, or None.
        farthest_shift: D >= 0, in keys to either side.
    """

    uses_query: ClassVar[bool] = True
    counts_positions: ClassVar[bool] = True
    keeps_weights: ClassVar[bool] = True

    def __init__(self, *, query_size: int, heads: int | None = None, farthest_shift: int = 1) -> None:
        super().__init__(query_size=query_size, heads=heads)
        if farthest_shift < 0:
            raise ValueError(f"ContentAndLocation: farthest_shift={farthest_shift}, must be at least 0")
        self.farthest_shift = farthest_shift
        # One matrix for W_g, W_γ and W_s, in this order.
        self.W = Projection(input_size=query_size, output_size=2 * farthest_shift + 3, heads=heads, bias=True)

    def init_state(self, values: Tensor) -> Tensor:
        """All weight on the first key, `(*lead, 1, K)`; see `Selection`."""
        shape = (*values.shape[:-2], 1, values.shape[-2])
        weights = torch.zeros(shape, dtype=at_least_float32(values), device=values.device)
        weights[..., :1] = 1
        return weights

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`; the returned state is the weights."""
        content = masked_softmax(scores, keep_mask)
        if not content.shape[-1]:
            return Selected(content, state=content)
        given = self.W(query).to(content.dtype)
        if state is not None:
            if new := content.shape[-1] - state.shape[-1]:
                state = functional.pad(state, (0, new))
            if keep_mask is None and self.farthest_shift < content.shape[-1]:
                weights = shifted_focus(content, state, given)
                return Selected(weights, state=weights)
        gate = given[..., :1].sigmoid()
        sharpness = (1 + functional.softplus(given[..., 1:2])).clamp(max=SHARPEST)
        shifts = given[..., 2:].softmax(-1)
        if state is not None:
            shifted = self._shift(torch.lerp(state, content, gate), shifts, keep_mask)
            weights = _sharpen(shifted, sharpness, keep_mask)
            return Selected(weights, state=weights)
        last, steps = self.init_state(scores.mT), []
        for step in range(content.shape[-2]):
            one = slice(step, step + 1)
            mask = keep_mask if keep_mask is None or keep_mask.shape[-2] == 1 else keep_mask[..., one, :]
            gated = torch.lerp(last, content[..., one, :], gate[..., one, :])
            last = _sharpen(self._shift(gated, shifts[..., one, :], mask), sharpness[..., one, :], mask)
            steps.append(last)
        weights = torch.cat(steps, -2) if steps else content
        return Selected(weights, state=weights)

    def _shift(self, gated: Tensor, shifts: Tensor, keep_mask: Tensor | None) -> Tensor:
        """Equation 8, of weights `(*lead, Q, K)` and probabilities of shifts `(*lead, Q, 2D + 1)`."""
        farthest, count = self.farthest_shift, gated.shape[-1]
        if keep_mask is None and farthest < count:  # without indices: several times as fast
            around = torch.cat([gated[..., count - farthest :], gated, gated[..., :farthest]], -1)
            return (around.unfold(-1, 2 * farthest + 1, 1) * shifts.flip(-1).unsqueeze(-2)).sum(-1)
        positions = torch.arange(count, device=gated.device)
        size: int | Tensor = count
        if keep_mask is not None:
            size = torch.where(keep_mask, positions + 1, 0).amax(-1, keepdim=True).clamp(min=1)
        moved = [
            gated.gather(-1, ((positions - shift) % size).expand_as(gated))
            for shift in range(-farthest, farthest + 1)
        ]
        return (torch.stack(moved, -1) * shifts.unsqueeze(-2)).sum(-1)


def _sharpen(shifted: Tensor, sharpness: Tensor, keep_mask: Tensor | None) -> Tensor:
    """Equation 9, as a softmax of logarithms, which neither underflows nor has an infinite gradient."""
    return masked_softmax(sharpness * (shifted + TINY).log(), keep_mask)
