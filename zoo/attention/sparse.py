"""Sparse selections: weights that are exactly zero for keys that do not match.

Both are `argmax_p p·z + H(p)` over the probabilities p of the keys, for another entropy H than that of the
softmax. The solution is `p_i = [(α - 1) z_i - τ]₊^(1/(α - 1))`, whose threshold τ is found exactly by
sorting. They follow the rule of `zoo.attention.softmax` for masked, infinite and NaN scores.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from zoo.attention.memory import Selected
from zoo.attention.selections import Tempered
from zoo.attention.softmax import kept
from zoo.kernels.precision import at_least_float32


class Sparsemax(Tempered):
    """Sparse: the point of the simplex nearest to the scores (Martins & Astudillo 2016, eq. 1).

    `sparsemax(z) = argmin_p |p - z|² = [z_i - τ]₊`, with τ such that the weights sum to one: α = 2.

    Fails: a key outside the support gets no gradient, so a wrong key that is far ahead stays; the weights
    depend on the scale of the scores, more than with `Soft`. `reverse`: not measured.

    Args:
        query_size: Dq, not used.
        heads: H, or None.
        temperature: τ > 0 of the scores, or one for each head; below 1 reads fewer keys, above 1 more.
    """

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`."""
        return Selected(_masked(sparsemax, self.divided(scores), keep_mask))


class Entmax(Tempered):
    """Sparse, between `Soft` and `Sparsemax`: 1.5-entmax (Peters, Niculae & Martins 2019, eq. 10 and 13).

    `p_i = [z_i/2 - τ]₊²`, the entmax of α = 1.5: smooth, and still exactly zero far below the largest score.

    Fails: as `Sparsemax`, with larger supports. `reverse`: not measured.

    Args:
        query_size: Dq, not used.
        heads: H, or None.
        temperature: τ > 0 of the scores, or one for each head; below 1 reads fewer keys, above 1 more.
    """

    def forward(
        self, scores: Tensor, query: Tensor, keep_mask: Tensor | None = None, state: Tensor | None = None
    ) -> Selected:
        """See `Selection`."""
        return Selected(_masked(entmax, self.divided(scores), keep_mask))


def sparsemax(scores: Tensor) -> Tensor:
    """The sparsemax of scores `(..., K)`, K >= 1, over the last axis."""
    weights: Tensor = _Sparsemax.apply(scores)
    return weights


def entmax(scores: Tensor) -> Tensor:
    """The 1.5-entmax of scores `(..., K)`, K >= 1, over the last axis."""
    weights: Tensor = _Entmax.apply(scores)
    return weights


def _masked(function: Callable[[Tensor], Tensor], scores: Tensor, keep_mask: Tensor | None) -> Tensor:
    """The weights of the kept scores alone, in float32 at least."""
    scores = scores.to(at_least_float32(scores))
    if not scores.shape[-1]:
        return scores
    if keep_mask is None:
        return function(scores)
    return torch.where(keep_mask, function(kept(scores, keep_mask)), 0.0)


class _Sparse(torch.autograd.Function):
    """The gradient that both have: `∂p/∂z = diag(s) - s sᵀ / Σ_j s_j`, `s_i = p_i^(2 - α)` where p_i > 0.

    This is Peters, Niculae & Martins 2019, proposition 2; for α = 2 s is the support. It needs the weights
    alone, is symmetric, and can be differentiated again.
    """

    generate_vmap_rule = True

    @staticmethod
    def setup_context(
        ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor], output: Tensor
    ) -> None:
        """Keeps the weights."""
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @classmethod
    def backward(cls, ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
        """From the weights' gradient to the scores'."""
        (weights,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return cls.product(weights, gradient)

    @classmethod
    def jvp(cls, ctx: torch.autograd.function.FunctionCtx, tangent: Tensor) -> Tensor:
        """From the scores' tangent to the weights'."""
        (weights,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return cls.product(weights, tangent)

    @classmethod
    def product(cls, weights: Tensor, vector: Tensor) -> Tensor:
        """The Jacobian times a vector."""
        slope = cls.slope(weights)
        return slope * (vector - (slope * vector).sum(-1, keepdim=True) / slope.sum(-1, keepdim=True))

    @staticmethod
    def slope(weights: Tensor) -> Tensor:
        """s, NaN where the weights are."""
        raise NotImplementedError


class _Sparsemax(_Sparse):
    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        """Martins & Astudillo 2016, algorithm 1."""
        scores, ordered, count = _sorted(scores)
        total = ordered.cumsum(-1)
        threshold = (total - 1) / count
        return (scores - _last(threshold, threshold < ordered)).clamp(min=0)

    @staticmethod
    def slope(weights: Tensor) -> Tensor:
        """The support."""
        return (weights != 0) + 0 * weights


class _Entmax(_Sparse):
    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        """Peters, Niculae & Martins 2019, algorithm 2."""
        scores, ordered, count = _sorted(scores / 2)
        mean = ordered.cumsum(-1) / count
        scatter = ordered.square().cumsum(-1) - count * mean.square()
        threshold = mean - ((1 - scatter).clamp(min=0) / count).sqrt()
        return (scores - _last(threshold, threshold < ordered)).clamp(min=0).square()

    @staticmethod
    def slope(weights: Tensor) -> Tensor:
        """Square roots, without their infinite derivative at 0."""
        none = weights == 0
        return torch.where(none, 0.0, torch.where(none, 1.0, weights).sqrt())


def _sorted(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores relative to the largest, the same in descending order, and 1 ... K.

    A score more than 1 below the largest has no weight, so what lies further below counts as 2 below: sums
    stay small and finite.
    """
    scores = (scores - scores.amax(-1, keepdim=True)).clamp(min=-2)
    ordered = scores.sort(-1, descending=True).values
    return scores, ordered, torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)


def _last(threshold: Tensor, inside: Tensor) -> Tensor:
    """The threshold of the whole support, `(..., 1)`; NaN where the scores are."""
    size = inside.sum(-1, keepdim=True).clamp(min=1)
    return threshold.gather(-1, size - 1)
