"""The values that travel through attention: explicit in, explicit out, nothing kept on `self`.

Shape legend of the whole library: `lead` free leading axes ((B,) for one head, (B, H) for many, (B, S) for
sentences in documents), Q queries, K keys, A width of projected keys, Dq / Dk / Dv sizes of a query, key and
value.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Memory(NamedTuple):
    """Everything about keys and values that does not depend on the query.

    Attributes:
        projected: `(*lead, K, A)`, `score.project_keys(keys)`.
        values: `(*lead, K, Dv)`.
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`, True = may attend; None = all may.
        broken: boolean, `(*lead, K)`: True where key or value is not finite. Zeros stand in its place, and
            the queries that may attend to it read NaN. None: nothing was replaced.
    """

    projected: Tensor
    values: Tensor
    keep_mask: Tensor | None = None
    broken: Tensor | None = None

    def extended(self, projected: Tensor, values: Tensor) -> "Memory":
        """A longer memory, with N more keys behind its own that every query may attend to.

        Args:
            projected: `(*lead, N, A)`.
            values: `(*lead, N, Dv)`.
        """
        mask, broken = self.keep_mask, self.broken
        if mask is not None:
            # A mask that holds for all keys alike is spelled out first: it was not made for the new ones.
            mask = _appended(mask.expand(*mask.shape[:-1], self.values.shape[-2]), values.shape[-2], True)
        if broken is not None:
            broken = _appended(broken, values.shape[-2], False)
        return Memory(
            torch.cat([self.projected, projected], -2), torch.cat([self.values, values], -2), mask, broken
        )


class Selected(NamedTuple):
    """What a selection made of the scores.

    Attributes:
        weights: `(*lead, Q, K)`, multiplies the values.
        state: the selection's state after this call (positions for local attention), else None.
        log_prob: `(*lead, Q)`, log-probability of what was sampled, 0 for a query that read no sample; None
            where nothing was sampled.
        entropy: `(*lead, Q)`, of the sampled distribution; None where nothing was sampled.
        probabilities: `(*lead, Q, K)`, the distribution behind a hard choice (in eval mode too); None where
            the weights say it.
    """

    weights: Tensor
    state: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    probabilities: Tensor | None = None


class Attended(NamedTuple):
    """A reading: `context (*lead, Q, Dv)` and what `Selected` says of it.

    `weights` are None where nobody asked for them and a fused kernel read without them.
    """

    context: Tensor
    weights: Tensor | None
    state: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    probabilities: Tensor | None = None


def _appended(flags: Tensor, count: int, flag: bool) -> Tensor:
    return torch.cat([flags, flags.new_full((*flags.shape[:-1], count), flag)], -1)
