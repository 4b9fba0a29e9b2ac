"""Greedy decoding: the most probable token at every step."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.decoding.step import Hypothesis, StepFn
from zoo.decoding.unroll import unroll


class Greedy:
    """Takes the most probable token at every step; among equals the one with the lowest id."""

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
        """Decodes a batch.

        Args:
            step: the model, in evaluation mode.
            state: tensors `(B, 1, ...)`.
            memory: tensors `(B, ...)`.
            bos: the token fed to the first step.
            eos: the token that ends a sentence.
            forbidden: tokens that are never chosen.
            maximum_length: `(B,)` on the model's device, most tokens per sentence, EOS included.

        Returns:
            A list of one hypothesis per sentence; its score is its log-probability.
        """
        return unroll(
            lambda log_probs: log_probs.argmax(dim=-1),
            step,
            state,
            memory,
            width=1,
            bos=bos,
            eos=eos,
            forbidden=forbidden,
            maximum_length=maximum_length,
        )
