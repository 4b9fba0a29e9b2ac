"""Static attention: weights that are found once and kept for all later steps."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from zoo.attention.memory import Selected
from zoo.attention.selections import Tempered
from zoo.attention.softmax import masked_softmax
from zoo.kernels.precision import at_least_float32


class Static(Tempered):
    """Static: the first step's `softmax(e/τ)` weighs the keys of all steps.

    Other selections are dynamic: each step has weights of its own. So the context is one vector for the whole
    target, found by the first query; it is the control that tells how much there is in looking anew. Scores
    of later steps are computed and not used. A Neural Turing Machine begins with weights that it learns: they
    are then the weights of every step. Over a network's own past the first step sees one key alone, which is
    then all that is read.

    A step that may read nothing finds nothing, and leaves it to the next one. Keys that a later step may not
    read weigh zero in it, and keys that a memory has gained since weigh zero, without the others growing.

    The state of a query is the kept weights, `(*lead, Q, K)`; zeros before there are any.

    Fails: wherever steps need different keys. `reverse`: not measured.

    Args:
        query_size: Dq, not used.
        heads: H, or None.
        temperature: τ > 0, or one for each head.
    """

    counts_positions: ClassVar[bool] = True
    keeps_weights: ClassVar[bool] = True

    def init_state(self, values: Tensor) -> Tensor:
        """No weights yet, zeros `(*lead, 1, K)`; see `Selection`."""
        shape = (*values.shape[:-2], 1, values.shape[-2])
        return torch.zeros(shape, dtype=at_least_float32(values), device=values.device)

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`; the returned state is what was kept."""
        found = masked_softmax(self.divided(scores), keep_mask)
        if not found.shape[-1] or not found.shape[-2]:
            return Selected(found, state=found)
        if state is not None:
            before = pad(state, (0, found.shape[-1] - state.shape[-1]))  # keys that are new
            kept = torch.where((before != 0).any(-1, keepdim=True), before, found)
        else:
            kept = _from_the_first(found, keep_mask)
        return Selected(kept if keep_mask is None else torch.where(keep_mask, kept, 0.0), state=kept)


def _from_the_first(found: Tensor, keep_mask: Tensor | None) -> Tensor:
    """What each of the steps 0 ... Q-1 keeps: the weights of the first that may read anything, from it on."""
    if keep_mask is None or keep_mask.shape[-2] == 1:
        return found[..., :1, :].expand_as(found)
    reads = keep_mask.any(-1, keepdim=True).expand(*found.shape[:-1], 1)
    first = reads.int().argmax(-2, keepdim=True)  # (*lead, 1, 1): of equal numbers the first
    kept = found.gather(-2, first.expand(*found.shape[:-2], 1, found.shape[-1]))
    begun = torch.arange(found.shape[-2], device=found.device).unsqueeze(-1) >= first
    return torch.where(begun, kept, found)
