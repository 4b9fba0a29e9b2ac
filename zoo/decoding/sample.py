"""Sampling, with temperature, top-k (Fan et al. 2018) and nucleus (Holtzman et al. 2020) filters."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.decoding.step import Hypothesis, Search, StepFn
from zoo.decoding.unroll import unroll
from zoo.kernels.precision import at_least_float32


def filtered(log_probs: Tensor, *, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """The distribution to sample from: temperature first, then top-k, then the nucleus of the rest.

    Tokens exactly as probable as the last one kept are kept too, so the result does not depend on the order
    of the vocabulary.

    Args:
        log_probs: `(..., V)`; -inf where a token is impossible.
        temperature: divides the log-probabilities; below 1 sharpens.
        top_k: keeps this many tokens; None = all.
        top_p: keeps the smallest set of most probable tokens whose probability reaches this; None = all.

    Returns:
        `(..., V)` probabilities that sum to 1, 0 where a token was filtered out.
    """
    logits = log_probs.to(at_least_float32(log_probs)) / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    probabilities = logits.softmax(dim=-1)
    if top_p is None:
        return probabilities
    descending = probabilities.sort(dim=-1, descending=True).values
    before = descending.cumsum(dim=-1) - descending  # the mass of all more probable tokens
    least = descending.masked_fill(before >= top_p, float("inf")).amin(dim=-1, keepdim=True)
    kept = probabilities.masked_fill(probabilities < least, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def draw(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Inverse-transform sampling: the first token whose cumulative probability exceeds `uniform`.

    Args:
        probabilities: `(..., V)`.
        uniform: `(...)` in [0, 1).

    Returns:
        `(...)` int64 token ids; never one of probability 0.
    """
    cumulative = probabilities.cumsum(dim=-1)
    threshold = uniform.to(cumulative.dtype) * cumulative[..., -1]
    tokens = torch.searchsorted(cumulative, threshold[..., None], right=True).squeeze(-1)
    return tokens.clamp(max=probabilities.shape[-1] - 1)


class Sample(Search):
    """Draws sentences from the model's distribution.

    The samples of a sentence depend on the sentence and the seed alone, not on its batch: each step draws one
    uniform number per sample, and all sentences use the same numbers. So every sample has the right
    distribution, but the samples of two sentences are not independent (those of equal ones are equal). For
    independent samples of one sentence, increase `samples`.

    Args:
        temperature: divides the log-probabilities, above 0; below 1 sharpens.
        top_k: sample from this many most probable tokens; None = all.
        top_p: sample from the smallest set of tokens with at least this probability, in (0, 1]; None = all.
        samples: sentences drawn for each input.
        seed: of the random numbers.

    Raises:
        ValueError: an argument is out of its range.
    """

    def __init__(
        self,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        samples: int = 1,
        seed: int = 0,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}; for the mode use Greedy")
        if top_k is not None and top_k < 1:
            raise ValueError(f"top_k must be at least 1 or None, got {top_k}")
        if top_p is not None and not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, or None, got {top_p}")
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self.samples = samples
        self.seed = seed

    @torch.no_grad()
    def __call__(
        self,
        step: StepFn,
        state: Any,
        memory: Any,
        *,
        bos: int,
        eos: int,
        forbidden: Sequence[int],
        maximum_length: Tensor,
    ) -> list[list[Hypothesis]]:
        """See `Search`: `samples` hypotheses per sentence.

        Scores are log-probabilities under the model itself, without temperature and filters.
        """
        # on the CPU, so that every device draws the same
        generator = torch.Generator().manual_seed(self.seed)

        def choose(log_probs: Tensor) -> Tensor:
            uniform = torch.rand(self.samples, generator=generator).to(log_probs.device)
            probabilities = filtered(
                log_probs, temperature=self.temperature, top_k=self.top_k, top_p=self.top_p
            )
            return draw(probabilities, uniform.expand(probabilities.shape[:-1]))

        return unroll(
            choose,
            step,
            state,
            memory,
            width=self.samples,
            bos=bos,
            eos=eos,
            forbidden=forbidden,
            maximum_length=maximum_length,
        )
