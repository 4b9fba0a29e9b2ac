"""What a search remembers of its steps: tokens and pointers, read backwards once the winners are known."""

from typing import NamedTuple

import torch
from torch import Tensor

from zoo.decoding.step import Hypothesis


class Ends(NamedTuple):
    """Where hypotheses end, N for each sentence.

    Attributes:
        score: `(B, N)`, what hypotheses are ranked by; -inf = there is none.
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
    sentences: Tensor  # (R,) which sentences of the batch were still open
    tokens: Tensor  # (R, W) what was chosen
    parents: Tensor  # (R, W) which hypothesis of the step before each one continues
    weights: Tensor | None  # (R, W before, K) what each parent attended to


class Trace:
    """The steps of one search over `batch` sentences with `width` hypotheses each."""

    def __init__(self, batch: int, width: int) -> None:
        self.batch = batch
        self.width = width
        self.steps: list[_Record] = []

    def add(self, sentences: Tensor, tokens: Tensor, parents: Tensor, weights: Tensor | None) -> None:
        """Remembers one step.

        Args:
            sentences: `(R,)` int64, the sentences still in the search.
            tokens: `(R, W)` int64, the tokens that this step chose.
            parents: `(R, W)` int64, the hypothesis that each of them continues.
            weights: `(R, W before the step, K)`, or None.
        """
        self.steps.append(_Record(sentences, tokens, parents, weights))

    def hypotheses(self, ends: Ends, finished: Tensor) -> list[list[Hypothesis]]:
        """Reads the sequences that end at `ends`.

        Args:
            ends: `(B, N)` each, in the order wanted. Those with score -inf are left out.
            finished: `(B, N)` boolean, True where the last token is EOS.

        Returns:
            One list per sentence, never empty: a sentence for which nothing was possible (a step that gave
            every token probability zero, or NaN) gets one unfinished hypothesis without tokens.
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
            # sentences that had left by this step read row 0; `last` keeps them from following it
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
