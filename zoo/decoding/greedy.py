"""Greedy decoding: the most probable token at every step."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.decoding.step import Hypothesis, Search, StepFn
from zoo.decoding.unroll import unroll


class Greedy(Search):
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
        """See `Search`: one hypothesis per sentence, whose score is its log-probability."""
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
