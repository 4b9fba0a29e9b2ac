"""The values that go in and out of attention; nothing is kept on `self`.

Shape legend of the whole library: `lead` free leading axes ((B,) for one head, (B, H) for many, (B, S) for
sentences in documents), Q queries, K keys, A width of projected keys, Dq / Dk / Dv sizes of a query, key and
value.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Memory(NamedTuple):
    """Everything about keys and values that does not depend on the query.

    Attributes:
        projected: `(*lead, K, A)`, `score.project_keys(keys)`.
        values: `(*lead, K, Dv)`.
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`, True = may attend; None = all may.
        nonfinite: boolean, `(*lead, K)`: True where key or value was not finite. Zeros replace it, and the
            queries that may attend to it read NaN. None: nothing was replaced.
    """

    projected: Tensor
    values: Tensor
    keep_mask: Tensor | None = None
    nonfinite: Tensor | None = None

    def extended(self, projected: Tensor, values: Tensor) -> "Memory":
        """Appends N keys that every query may attend to.

        Args:
            projected: `(*lead, N, A)`.
            values: `(*lead, N, Dv)`.
        """
        mask, nonfinite = self.keep_mask, self.nonfinite
        if mask is not None:
            # A mask with one entry for all keys is expanded first: it does not hold for the new ones.
            mask = _appended(mask.expand(*mask.shape[:-1], self.values.shape[-2]), values.shape[-2], True)
        if nonfinite is not None:
            nonfinite = _appended(nonfinite, values.shape[-2], False)
        return Memory(
            torch.cat([self.projected, projected], -2), torch.cat([self.values, values], -2), mask, nonfinite
        )


class Selected(NamedTuple):
    """The output of a selection.

    Attributes:
        weights: `(*lead, Q, K)`, multiplies the values.
        state: the selection's state after this call (positions of local attention); None if it has none.
        log_prob: `(*lead, Q)`, log-probability of the sampled keys, 0 for a query that read no sample; None
            without sampling.
        entropy: `(*lead, Q)`, of the sampled distribution; None without sampling.
        probabilities: `(*lead, Q, K)`, the distribution behind a hard choice (in eval mode too); None where
            the weights are that distribution.
    """

    weights: Tensor
    state: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    probabilities: Tensor | None = None


class Attended(NamedTuple):
    """A reading: `context (*lead, Q, Dv)` and the fields of `Selected`.

    `weights` are None where a fused kernel read without them.
    """

    context: Tensor
    weights: Tensor | None
    state: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    probabilities: Tensor | None = None


def join_readings(readings: Sequence[Attended]) -> Attended:
    """Joins T readings `(B, 1, ...)` of one query each to one of T queries, without its state."""
    columns = zip(*(reading._replace(state=None) for reading in readings), strict=True)
    return Attended(*(None if column[0] is None else torch.cat(column, 1) for column in columns))  # type: ignore[arg-type]


def _appended(flags: Tensor, count: int, flag: bool) -> Tensor:
    return torch.cat([flags, flags.new_full((*flags.shape[:-1], count), flag)], -1)
