"""The steps of a search as tokens and back-pointers, from which its results are read."""

from typing import NamedTuple

import torch
from torch import Tensor

from zoo.decoding.step import Hypothesis


class Ends(NamedTuple):
    """The ends of hypotheses, N for each sentence.

    Attributes:
        score: `(B, N)`, the ranking; -inf = no hypothesis.
        log_prob: `(B, N)`, sum of the tokens' log-probabilities.
        position: `(B, N)` int64, `step * width + slot` of the last token; -1 = no token at all.
    """

    score: Tensor
    log_prob: Tensor
    position: Tensor

    def take(self, columns: Tensor) -> "Ends":
        """The hypotheses at `columns (B, N')` of every sentence."""
        return Ends(*(field.gather(1, columns) for field in self))

    def beside(self, other: "Ends") -> "Ends":
        """Both lists of hypotheses, this one first."""
        return Ends(*(torch.cat(pair, dim=1) for pair in zip(self, other, strict=True)))

    def of(self, sentences: Tensor) -> "Ends":
        """The hypotheses of some sentences."""
        return Ends(*(field[sentences] for field in self))


class _Record(NamedTuple):
    sentences: Tensor  # (R,) the open sentences, by their place in the batch
    tokens: Tensor  # (R, W) the chosen tokens
    parents: Tensor  # (R, W) the hypotheses of the step before that they continue
    weights: Tensor | None  # (R, W before, K) of each parent


class Trace:
    """The steps of one search over `batch` sentences with `width` hypotheses each."""

    def __init__(self, batch: int, width: int) -> None:
        self.batch = batch
        self.width = width
        self.steps: list[_Record] = []

    def add(self, sentences: Tensor, tokens: Tensor, parents: Tensor, weights: Tensor | None) -> None:
        """Records one step; see `_Record` for the shapes."""
        self.steps.append(_Record(sentences, tokens, parents, weights))

    def hypotheses(self, ends: Ends, finished: Tensor) -> list[list[Hypothesis]]:
        """Reads the sequences that end at `ends`.

        Args:
            ends: `(B, N)` each, in the order wanted. Those with score -inf are left out.
            finished: `(B, N)` boolean, True where the last token is EOS.

        Returns:
            One list per sentence, never empty: where a step gave every token probability 0 or NaN, one
            unfinished hypothesis without tokens.
        """
        ids, weights = self._read_back(ends.position)
        tokens = ids.tolist()
        lengths = (ends.position // self.width + 1).tolist()
        scores, log_probs, flags = ends.score.tolist(), ends.log_prob.tolist(), finished.tolist()
        no_map = None if weights is None else weights.new_zeros(0, weights.shape[-1])
        nothing = Hypothesis([], float("-inf"), float("-inf"), False, no_map)
        sentences = []
        for row in range(self.batch):
            found = [
                Hypothesis(
                    tokens[row][column][:length],
                    scores[row][column],
                    log_probs[row][column],
                    flags[row][column],
                    # a copy: a view would keep the whole batch's maps alive
                    None if weights is None else weights[row, column, :length].clone(),
                )
                for column, length in enumerate(lengths[row])
                if scores[row][column] > float("-inf")
            ]
            sentences.append(found or [nothing])
        return sentences

    def _read_back(self, position: Tensor) -> tuple[Tensor, Tensor | None]:
        """From `position (B, N)` along the pointers: ids `(B, N, T)`, weights `(B, N, T, K)`, on the CPU."""
        last, slot = position // self.width, position % self.width
        ids: list[Tensor] = []
        maps: list[Tensor] = []
        for step in range(len(self.steps) - 1, -1, -1):
            sentences, tokens, parents, weights = self.steps[step]
            # Sentences that had left by this step read row 0, and `last` makes them ignore it.
            row = torch.zeros(self.batch, dtype=torch.int64, device=position.device)
            row[sentences] = torch.arange(len(sentences), device=position.device)
            row = row[:, None]
            parent = parents[row, slot]
            ids.append(tokens[row, slot])
            if weights is not None:
                maps.append(weights[row, parent])
            slot = torch.where(step <= last, parent, slot)
        return (
            torch.stack(ids[::-1], dim=2).cpu(),
            torch.stack(maps[::-1], dim=2).float().cpu() if maps else None,
        )
