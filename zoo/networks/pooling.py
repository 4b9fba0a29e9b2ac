"""Pooling: how the states of a text become one vector.

Shapes: `lead` free leading axes ((B,) for texts, (N,) for the sentences of many documents), K states of D
features, R hops: vectors read from one text.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Attended, Score, Selection
from zoo.kernels import Linear
from zoo.kernels.skip_padding import of_each_word
from zoo.networks.checks import check_sizes
from zoo.networks.seq2seq import AttentionParts


class Reading(NamedTuple):
    """What was read where.

    Attributes:
        attended: `(*lead, R, ...)`: weights, and what is known of choices among the states.
        queries: `(*lead, R, D)`, known before the reading, so a baseline may see them.
        asked: `(*lead, R)` boolean, True at real queries; None: all are.
    """

    attended: Attended
    queries: Tensor
    asked: Tensor | None = None


class Pooled(NamedTuple):
    """One vector for each text.

    Attributes:
        vector: `(*lead, F)`.
        reading: of attention; None where nothing attends.
    """

    vector: Tensor
    reading: Reading | None = None


class Pooling(nn.Module, ABC):
    """Makes one vector of the states of a text.

    Args:
        size: D.
        longest: the largest K; 0: it is not known.

    Attributes:
        feature_size: F.
        needs_last: whether it uses the state behind the last word.
        needs_other: whether it uses the vector of another text.
    """

    feature_size: int
    needs_last: bool = False
    needs_other: bool = False

    def __init__(self, *, size: int, longest: int) -> None:
        super().__init__()
        self.feature_size = size

    @abstractmethod
    def forward(self, states: Tensor, keep_mask: Tensor, last: Tensor, other: Tensor | None = None) -> Pooled:
        """Pools.

        Args:
            states: `(*lead, K, D)`.
            keep_mask: `(*lead, K)` boolean, True at real states; the others change nothing.
            last: `(*lead, D)`, the state behind the last word.
            other: `(*lead, D)`, the vector of another text; None: there is none.
        """


class Last(Pooling):
    """The last state: whatever the network remembers at the end."""

    needs_last = True

    def forward(self, states: Tensor, keep_mask: Tensor, last: Tensor, other: Tensor | None = None) -> Pooled:
        """See `Pooling`."""
        return Pooled(last)


class Mean(Pooling):
    """The mean of all states: attention's control, which weighs all alike."""

    def forward(self, states: Tensor, keep_mask: Tensor, last: Tensor, other: Tensor | None = None) -> Pooled:
        """See `Pooling`."""
        kept = keep_mask.unsqueeze(-1)
        total = torch.where(kept, states, 0).sum(-2)
        return Pooled(total / kept.sum(-2).clamp(min=1).to(total.dtype))


class Max(Pooling):
    """The largest value of each feature over the text (Kim 2014, section 2: "max-over-time")."""

    def forward(self, states: Tensor, keep_mask: Tensor, last: Tensor, other: Tensor | None = None) -> Pooled:
        """See `Pooling`."""
        largest = states.masked_fill(~keep_mask.unsqueeze(-1), -torch.inf).amax(-2)
        return Pooled(torch.where(keep_mask.any(-1, keepdim=True), largest, 0))


class Query(nn.Module, ABC):
    """What attention asks a text for.

    Args:
        size: D.

    Attributes:
        hops: R.
        needs_last: whether it uses the text's last state.
        needs_other: whether it uses the vector of another text.
    """

    hops: int = 1
    needs_last: ClassVar[bool] = False
    needs_other: ClassVar[bool] = False

    def __init__(self, *, size: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, last: Tensor, other: Tensor | None) -> Tensor:
        """The queries `(*lead, R, D)`, of the text's last state and another text's vector `(*lead, D)`."""


class LearnedQuery(Query):
    """Learned, the same for all texts: the word context vector `u_w` of Yang et al. 2016, section 2.2.

    Self-attention: what is read depends on the text alone. With several hops it is the matrix `W_s2` of
    Lin et al. 2017, section 2.1, each of whose rows reads the text once.

    Args:
        size: D.
        hops: R.

    Raises:
        ValueError: hops is below 1.
    """

    def __init__(self, *, size: int, hops: int = 1) -> None:
        super().__init__(size=size)
        check_sizes(hops=hops)
        self.hops = hops
        self.u = nn.Parameter(torch.randn(hops, size) * size**-0.5)

    def forward(self, last: Tensor, other: Tensor | None) -> Tensor:
        """See `Query`."""
        return self.u.to(last.dtype).expand(*last.shape[:-1], *self.u.shape)


class LastState(Query):
    """The text's own last state: self-attention whose query has seen the whole text."""

    needs_last = True

    def forward(self, last: Tensor, other: Tensor | None) -> Tensor:
        """See `Query`."""
        return last.unsqueeze(-2)


class OtherText(Query):
    """The vector of another text: an external query, as when a question looks at a text."""

    needs_other = True

    def forward(self, last: Tensor, other: Tensor | None) -> Tensor:
        """See `Query`."""
        assert other is not None  # networks that have none refuse this query
        return other.unsqueeze(-2)


class AttentionPooling(Pooling):
    """A weighted sum of the states: `k_i = tanh(W h_i + b)`, `v = Σ_i α_i h_i`, `α = selection(score(q, k))`.

    With `Dot` and a learned query these are eq. 5 to 7 of Yang et al. 2016; with several hops, but for the
    bias, eq. 5 and 6 of Lin et al. 2017.

    Args:
        size: D.
        longest: the largest K; 0: it is not known.
        query: q, completed here.
        attention: score and selection, completed here.
    """

    def __init__(
        self,
        *,
        size: int,
        longest: int,
        query: Callable[..., Query],
        attention: Mapping[str, Callable[..., Score] | Callable[..., Selection]],
    ) -> None:
        super().__init__(size=size, longest=longest)
        self.keys = Linear(size, size)
        self.query = query(size=size)
        self.needs_last, self.needs_other = self.query.needs_last, self.query.needs_other
        parts = AttentionParts(**attention)  # type: ignore[arg-type]  # the config check knows the types
        self.attention = parts.build(query_size=size, key_size=size, longest=longest)
        self.feature_size = size * self.query.hops

    def forward(self, states: Tensor, keep_mask: Tensor, last: Tensor, other: Tensor | None = None) -> Pooled:
        """See `Pooling`."""
        keys = of_each_word(lambda words: self.keys(words).tanh(), states, keep_mask)
        memory = self.attention.prepare(keys, states, keep_mask.unsqueeze(-2))
        queries: Tensor = self.query(last, other)
        attended: Attended = self.attention(queries, memory)
        return Pooled(attended.context.flatten(-2), Reading(attended, queries))


def redundancy_penalty(weights: Tensor) -> Tensor:
    """`|| A Aᵀ - I ||_F²`, mean over texts: hops should not read the same (Lin et al. 2017, eq. 8).

    Args:
        weights: `(*lead, R, K)`, A.
    """
    overlap = weights @ weights.mT - torch.eye(weights.shape[-2], device=weights.device, dtype=weights.dtype)
    return overlap.square().sum((-2, -1)).mean()
