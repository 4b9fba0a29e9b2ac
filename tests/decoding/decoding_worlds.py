"""Small worlds to search in: transition matrices to solve by hand, and a random recurrent reader."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.decoding import Hypothesis, Step

BOS, EOS = 0, 1


class Transitions:
    """The next token depends on the last one alone: `probabilities[last][next]`."""

    def __init__(self, probabilities: Sequence[Sequence[float]]) -> None:
        self.log_probs = torch.tensor(probabilities).log()
        self.sizes: list[tuple[int, ...]] = []

    def __call__(self, tokens: Tensor, state: Any, memory: Any) -> Step:
        self.sizes.append(tuple(tokens.shape))
        return Step(self.log_probs[tokens], state)


class Reader:
    """A random recurrent network that attends to a padded memory and whose state says what it has read.

    It computes in float64 and answers in float32, so that what a batch changes in the order of its sums is
    gone from the answer, on any processor. The state is a dict of the hidden vector and the history of
    tokens; memory is a tuple. Every step checks that the tokens it is given continue the history in the
    state, and that memory has one row per sentence.
    """

    def __init__(self, seed: int, *, vocabulary: int = 6, size: int = 5, sharpness: float = 2.0) -> None:
        generator = torch.Generator().manual_seed(seed)

        def matrix(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.embedding, self.recurrent = matrix(vocabulary, size), matrix(size, size)
        self.query, self.read = matrix(size, size), matrix(size, size)
        self.output = sharpness * matrix(size, vocabulary)
        self.size = size
        self.batches: list[int] = []

    def sentences(self, lengths: Sequence[int], padded_to: int | None = None) -> list[Tensor]:
        """One random source for each length; equal numbers in a row get different sources."""
        generator = torch.Generator().manual_seed(7)
        return [
            torch.randn(length, self.size, generator=generator, dtype=torch.float64) for length in lengths
        ]

    def encode(
        self, sources: Sequence[Tensor], padding: int = 0
    ) -> tuple[dict[str, Tensor], tuple[Tensor, ...]]:
        """State and memory of a batch, with extra padding that holds NaN."""
        longest = max(len(source) for source in sources) + padding
        keys = torch.full((len(sources), longest, self.size), float("nan"), dtype=torch.float64)
        keep = torch.zeros(len(sources), 1, longest, dtype=torch.bool)
        for row, source in enumerate(sources):
            keys[row, : len(source)] = source
            keep[row, :, : len(source)] = True
        state = {
            "hidden": torch.zeros(len(sources), 1, self.size, dtype=torch.float64),
            "history": torch.zeros(len(sources), 1, 0, dtype=torch.int64),
        }
        return state, (keys, keep)

    def __call__(self, tokens: Tensor, state: dict[str, Tensor], memory: tuple[Tensor, ...]) -> Step:
        keys, keep = memory
        assert len(keys) == len(keep) == len(tokens)
        assert state["hidden"].shape[:2] == tokens.shape
        self.batches.append(len(tokens))
        history = torch.cat([state["history"], tokens[:, :, None]], dim=2)
        hidden = torch.tanh(self.embedding[tokens] + state["hidden"] @ self.recurrent)
        clean = keys.nan_to_num(0.0)
        scores = (hidden @ self.query) @ clean.mT
        weights = scores.masked_fill(~keep, float("-inf")).softmax(dim=-1)
        hidden = torch.tanh(hidden + weights @ clean @ self.read)
        log_probs = (hidden @ self.output).log_softmax(dim=-1)
        return Step(log_probs.float(), {"hidden": hidden, "history": history}, weights.float())

    def follow(self, source: Tensor, ids: Sequence[int]) -> tuple[float, Tensor]:
        """The log-probability and the weights of a sequence, one token after the other."""
        state, memory = self.encode([source])
        total, maps = 0.0, []
        for last, token in zip([BOS, *ids], ids, strict=False):
            result = self(torch.tensor([[last]]), state, memory)
            state = result.state
            assert result.weights is not None
            total += result.log_probs[0, 0, token].item()
            maps.append(result.weights[0, 0])
        return total, torch.stack(maps)


def run(
    decoder: Any,
    step: Any,
    state: Any = None,
    memory: Any = None,
    *,
    limits: Sequence[int],
    forbidden: Sequence[int] = (BOS,),
) -> list[list[Hypothesis]]:
    found: list[list[Hypothesis]] = decoder(
        step,
        state,
        memory,
        bos=BOS,
        eos=EOS,
        forbidden=list(forbidden),
        maximum_length=torch.tensor(list(limits), dtype=torch.int64),
    )
    return found


def plain(found: list[list[Hypothesis]], digits: int = 4) -> list[list[tuple[Any, ...]]]:
    """Comparable: ids, score and log-probability rounded, and whether it finished."""
    return [
        [(one.ids, round(one.score, digits), round(one.log_prob, digits), one.finished) for one in sentence]
        for sentence in found
    ]
