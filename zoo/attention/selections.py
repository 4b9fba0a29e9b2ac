"""Selections: which keys are read, and how hard?

A selection turns scores into the weights that multiply the values. `zoo.attention.memory` explains the
shapes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.attention.memory import Selected
from zoo.attention.projection import Projection
from zoo.attention.softmax import divided, kept, masked_log_softmax, masked_softmax
from zoo.kernels.noise import gumbel_like, uniform
from zoo.kernels.precision import at_least_float32


class Selection(nn.Module, ABC):
    """Which keys are read, and how hard.

    Args:
        query_size: Dq.
        heads: H; the last leading axis is then H, and each head has parameters of its own.

    Attributes:
        samples: whether training samples keys, so that the scores get a gradient through `log_prob` alone:
            the loss then needs the term of `zoo.attention.reinforce`.
        uses_query: whether the weights depend on the query itself, beside the scores.
        counts_positions: whether the weights depend on a key's position in the memory.
        keeps_weights: whether the state is weights, `(*lead, Q, K)`, of an earlier step.
    """

    samples: ClassVar[bool] = False
    uses_query: ClassVar[bool] = False
    counts_positions: ClassVar[bool] = False
    keeps_weights: ClassVar[bool] = False

    def __init__(self, *, query_size: int, heads: int | None = None) -> None:
        super().__init__()
        self.query_size, self.heads = query_size, heads

    def init_state(self, values: Tensor) -> Tensor | None:
        """The state `(*lead, 1)` of a query before it reads values `(*lead, K, Dv)`; None if it has none.

        Where `keeps_weights` it is `(*lead, 1, K)`.
        """
        return None

    @abstractmethod
    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """Selects among keys.

        Args:
            scores: `(*lead, Q, K)`.
            query: `(*lead, Q, Dq)`.
            keep_mask: boolean, broadcastable to the scores, True = may attend; None = all may.
            state: `init_state`, or the state that the previous call returned; None: the queries are all steps
                of one sequence, from its first on.
        """


class Tempered(Selection):
    """The base of selections that divide scores by a temperature τ.

    Args:
        query_size: Dq.
        heads: H, or None.
        temperature: τ > 0; or one for each head.

    Raises:
        ValueError: if a temperature is not above 0, or their number is not that of the heads.
    """

    temperature: float | Tensor

    def __init__(
        self, *, query_size: int, heads: int | None = None, temperature: float | Sequence[float] = 1.0
    ) -> None:
        super().__init__(query_size=query_size, heads=heads)
        if not isinstance(temperature, Sequence):
            self.temperature = _positive(self, "temperature", temperature)
            return
        if len(temperature) != heads:
            raise ValueError(
                f"{type(self).__name__}: temperature={list(temperature)}, must be one number, or one for "
                f"each head; given {len(temperature)} for heads={heads}"
            )
        each = torch.tensor([_positive(self, "temperature", one) for one in temperature])
        self.register_buffer("temperature", each.view(-1, 1, 1), persistent=False)

    def divided(self, scores: Tensor) -> Tensor:
        """`e / τ`, in float32 at least."""
        return divided(scores, self.temperature)


class Soft(Tempered):
    """Soft and global: `α_i = exp(e_i/τ) / Σ_j exp(e_j/τ)` (Bahdanau et al. 2015, eq. 6).

    Every key has a weight, so it is differentiable and learns by backpropagation.

    Fails: never reads exactly one key; over many keys the small weights add up (the longer the source, the
    flatter the weights, unless scores grow), and every step costs all K keys. `reverse`: solved.

    Args:
        query_size: Dq, not used.
        heads: H, or None.
        temperature: τ > 0, or one for each head; below 1 sharpens, above 1 flattens.
    """

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`."""
        return Selected(masked_softmax(self.divided(scores), keep_mask))


class Hard(Selection):
    """Hard: one key at a time, `i ~ Categorical(softmax(e))` (Xu et al. 2015, section 4.1).

    A sample has no gradient; the scores learn from `log_prob` alone, through REINFORCE. Each query reads one
    key, at test too.

    Fails: the variance of the gradient grows with every sampled step, so it needs a baseline, more steps than
    `Soft`, and an entropy bonus against an early collapse onto one key. `reverse`: solved, when the baseline
    depends on the state.

    Args:
        query_size: Dq, not used.
        heads: not used.
        sample_at_test: True samples in eval mode as well; False takes the most probable key.
        soft_share: the probability with which a query in training uses the weights `softmax(e)` instead of a
            sample (0.5 in the paper, which draws for each image). The scores then learn as with `Soft`, and
            the log-probability is 0.

    Raises:
        ValueError: if soft_share is not in [0, 1).
    """

    samples: ClassVar[bool] = True

    def __init__(
        self,
        *,
        query_size: int,
        heads: int | None = None,
        sample_at_test: bool = False,
        soft_share: float = 0.0,
    ) -> None:
        super().__init__(query_size=query_size, heads=heads)
        if not 0 <= soft_share < 1:
            raise ValueError(f"Hard: soft_share={soft_share}, must be at least 0 and below 1")
        self.sample_at_test, self.soft_share = sample_at_test, soft_share

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`; samples from `zoo.kernels.noise`."""
        if not (self.training or self.sample_at_test):
            probabilities = masked_softmax(scores, keep_mask)
            return Selected(_one_hot(probabilities, keep_mask), probabilities=probabilities)
        log_probabilities = masked_log_softmax(scores, keep_mask)
        probabilities = _keep(log_probabilities.exp(), keep_mask)
        # The argmax of log p_i + Gumbel noise is a sample of p: no synchronisation, no error for empty rows.
        noisy = log_probabilities.detach() + gumbel_like(log_probabilities)
        weights = _one_hot(noisy, keep_mask)
        # Sums of products, so that rows without a key, where weights and probabilities are 0, get 0.
        log_prob = (weights * log_probabilities).sum(-1)
        if self.training and self.soft_share:
            soft = uniform(weights.shape[:-1], weights.device) < self.soft_share
            weights = torch.where(soft.unsqueeze(-1), probabilities, weights)
            log_prob = log_prob.masked_fill(soft, 0.0)
        return Selected(
            weights,
            log_prob=log_prob,
            entropy=-(probabilities * log_probabilities).sum(-1),
            probabilities=probabilities,
        )


class GumbelHard(Tempered):
    """Hard, straight-through: reads `argmax_i(e_i + g_i)`, g Gumbel noise (Jang et al. 2017, section 2.2).

    That argmax is a sample of softmax(e). The backward pass takes the gradient of `softmax((e + g)/τ)`
    instead: no REINFORCE, little variance, but a biased gradient. In eval mode: argmax without noise.

    Fails: a high τ increases the bias, a low one makes the gradient vanish or explode; and unlike REINFORCE
    it needs a loss that is differentiable in the context. `reverse`: solved.

    Args:
        query_size: Dq, not used.
        heads: H, or None.
        temperature: τ > 0 of the backward pass, or one for each head.
    """

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`; samples from `zoo.kernels.noise`."""
        probabilities = masked_softmax(scores, keep_mask)
        if not self.training:
            return Selected(_one_hot(probabilities, keep_mask), probabilities=probabilities)
        noisy = scores + gumbel_like(probabilities)
        soft = masked_softmax(self.divided(noisy), keep_mask)
        # In this order the forward value is one-hot to the last bit.
        weights = _one_hot(soft.detach(), keep_mask) + (soft - soft.detach())
        return Selected(weights, probabilities=probabilities)


class LocalMonotonic(Selection):
    """Local, monotonic: softmax over `[p_t - D, p_t + D]`, `p_t = t` (Luong et al. 2015, section 3.2).

    Step t reads around position t, both counted from 0; the position is not learned.

    Fails: wherever source and target positions do not correspond: another word order, another length. A step
    more than D beyond the last key reads zeros. `copy`: solved; `reverse`: not, unless the window spans the
    source (the first of S words is written last, so D >= S - 1).

    The state is `(*lead, Q)` int64, the step of each query. Without one the queries are the steps 0 ... Q-1
    of one target; hypotheses, which are all at one step, come with `init_state`.

    Args:
        query_size: Dq, not used.
        heads: not used.
        window: D >= 0, in keys to either side.
    """

    counts_positions: ClassVar[bool] = True

    def __init__(self, *, query_size: int, heads: int | None = None, window: int = 10) -> None:
        super().__init__(query_size=query_size, heads=heads)
        if window < 0:
            raise ValueError(f"LocalMonotonic: window={window}, must be at least 0")
        self.window = window

    def init_state(self, values: Tensor) -> Tensor:
        """Step 0; see `Selection`."""
        return torch.zeros(*values.shape[:-2], 1, dtype=torch.int64, device=values.device)

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`; the returned state is the given one plus 1."""
        if state is None:
            state = torch.arange(scores.shape[-2], device=scores.device).expand(scores.shape[:-1])
        distance = torch.arange(scores.shape[-1], device=scores.device) - state.unsqueeze(-1)
        return Selected(
            masked_softmax(scores, _keep_window(distance, self.window, keep_mask)), state=state + 1
        )


class LocalPredictive(Selection):
    """Local, predictive: softmax around a predicted position (Luong et al. 2015, eq. 9-10).

    The state predicts `p_t = S sigmoid(v_pᵀ tanh(W_p s) / √Dq)`; S is the number of keys (up to the last kept
    one), and positions count from 0. A softmax over `[p_t - D, p_t + D]` is multiplied with the Gaussian
    `exp(-(i - p_t)²/2σ²)`, σ = D/2, and not normalised again, so weights sum to at most 1, and p_t learns
    through the Gaussian alone.

    The paper does not divide by √Dq, which a larger v_p undoes. It makes p_t begin in the middle of a
    sentence and learn as slowly as the scores: else Adam moves all Dq numbers of v_p at once, and within some
    steps p_t is stuck at an end, where the sigmoid has no gradient.

    Fails: only keys in the window give p_t a gradient, so a start far from the right key learns slowly; one
    window cannot read two distant keys. `reverse`: solved with a wide window, less reliably with a narrow
    one.

    Args:
        query_size: Dq.
        heads: H, or None.
        window: D >= 1, in keys to either side.
    """

    uses_query: ClassVar[bool] = True
    counts_positions: ClassVar[bool] = True

    def __init__(self, *, query_size: int, heads: int | None = None, window: int = 10) -> None:
        super().__init__(query_size=query_size, heads=heads)
        if window < 1:
            raise ValueError(
                f"LocalPredictive: window={window}, must be at least 1: the Gaussian's σ is half of it"
            )
        self.window = window
        self.W_p = Projection(input_size=query_size, output_size=query_size, heads=heads)
        self.v_p = Projection(input_size=query_size, output_size=1, heads=heads)

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`."""
        positions = torch.arange(scores.shape[-1], device=scores.device)
        size: int | Tensor = scores.shape[-1]
        if keep_mask is not None and size:
            size = torch.where(keep_mask, positions + 1, 0).amax(-1, keepdim=True)
        # In float32 at least: bfloat16 has no number between 128 and 129.
        logit = self.v_p(self.W_p(query).tanh()).to(at_least_float32(scores)) / math.sqrt(self.query_size)
        distance = positions - size * logit.sigmoid()
        inside = _keep_window(distance.detach(), self.window, keep_mask)
        gaussian = torch.exp(-2 * (distance / self.window).square())
        weights = kept(scores, inside).softmax(-1, at_least_float32(scores)) * gaussian
        return Selected(_keep(weights, inside))


def _positive(owner: nn.Module, name: str, value: float) -> float:
    if not 0 < value < math.inf:  # nor NaN
        raise ValueError(f"{type(owner).__name__}: {name}={value}, must be above 0")
    return value


def _keep(weights: Tensor, keep_mask: Tensor | None) -> Tensor:
    return weights if keep_mask is None else torch.where(keep_mask, weights, 0.0)


def _keep_window(distance: Tensor, window: int, keep_mask: Tensor | None) -> Tensor:
    inside = ~(distance.abs() > window)  # so a position that is NaN is inside, and its weights are NaN
    return inside if keep_mask is None else inside & keep_mask


def _one_hot(scores: Tensor, keep_mask: Tensor | None) -> Tensor:
    """One at each row's largest score, zero elsewhere and in rows that keep no key."""
    if not scores.shape[-1]:
        return scores  # without a key there is no maximum
    largest, index = scores.detach().max(-1, keepdim=True)
    chosen = torch.arange(scores.shape[-1], device=scores.device) == index
    # Clamping to [1, 1] gives 1 but keeps NaN, as multiplying by 0 does.
    return _keep(torch.where(chosen, largest.clamp(1, 1), largest * 0), keep_mask)
