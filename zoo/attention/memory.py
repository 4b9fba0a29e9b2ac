"""The values that travel through attention: explicit in, explicit out, nothing kept on `self`.

Shape legend of the whole library: `lead` free leading axes ((B,) for one head, (B, H) for many, (B, S) for
sentences in documents), Q queries, K keys, A width of projected keys, Dq / Dk / Dv sizes of a query, key and
value.
"""

from typing import NamedTuple

from torch import Tensor


class Memory(NamedTuple):
    """Everything about keys and values that does not depend on the query.

    Attributes:
        projected: `(*lead, K, A)`, `score.project_keys(keys)`.
        values: `(*lead, K, Dv)`.
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`, True = may attend; None = all may.
        broken: boolean, `(*lead, K)`: True where key or value is not finite. Zeros stand in its place, and the
            queries that may attend to it read NaN. None: nothing was replaced.
    """

    projected: Tensor
    values: Tensor
    keep_mask: Tensor | None = None
    broken: Tensor | None = None


class Selected(NamedTuple):
    """What a selection made of the scores.

    Attributes:
        weights: `(*lead, Q, K)`, multiplies the values.
        state: the selection's state after this call (positions for local attention), else None.
        log_prob: `(*lead, Q)`, log-probability of what was sampled; None where nothing was.
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
    """A reading: `context (*lead, Q, Dv)` and what `Selected` says of it."""

    context: Tensor
    weights: Tensor
    state: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    probabilities: Tensor | None = None
