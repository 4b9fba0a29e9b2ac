"""What a network looked at in pairs, for metrics and pictures, and what it chose, for REINFORCE."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.attention import masked_softmax
from zoo.core.batch import Padded
from zoo.networks.pooling import Reading


class PairMap(NamedTuple):
    """One matrix over the words of each of B pairs.

    Attributes:
        weights: `(B, R, L_right)` float32: weights of a reading, or scores of a match. R is L_left, or 1
            where the right text was read once.
        keep_mask: boolean, broadcastable to that, True where there are words.
        of_words: whether each row belongs to a word of the left text.
        of_scores: whether they are scores, of any size.
        what: what the matrix shows, for titles.
    """

    weights: Tensor
    keep_mask: Tensor
    of_words: bool
    of_scores: bool
    what: str

    def distributions(self) -> Tensor:
        """Rows that are heaviest where the weights are, and positive, which a score need not be."""
        return masked_softmax(self.weights, self.keep_mask)


def pair_maps(matched: Any, left: Padded, right: Padded) -> list[PairMap]:
    """The matrices of what a network answered, if it has any.

    A column behind a wide convolution of width w sees w words: that over word i is number `i + (w - 1) // 2`,
    and those over the ends of a text are left out.
    """
    of_right = right.keep_mask.unsqueeze(1)
    of_both = left.keep_mask.unsqueeze(2) & of_right
    maps = []
    for reading in getattr(matched, "readings", ()):
        of_words = reading.asked is not None
        mask = of_both if of_words else of_right
        maps.append(PairMap(reading.attended.weights.float(), mask, of_words, False, "weights"))
    rows, columns = left.ids.shape[1], right.ids.shape[1]
    for matrix in getattr(matched, "matrices", ()):
        width = matrix.shape[1] - rows + 1
        first = (width - 1) // 2
        over_words = matrix[:, first : first + rows, first : first + columns].float()
        what = "match of words" if width == 1 else f"match of each {width} words"
        maps.append(PairMap(over_words, of_both, True, True, what))
    return maps


class Choices(NamedTuple):
    """The N sampled readings of each of B pairs.

    Attributes:
        log_prob: `(B, N)`.
        entropy: `(B, N)`, of the distributions behind them.
        queries: `(B, N, D)`, known before the choice.
        keep_mask: `(B, N)` boolean, True at real readings.
    """

    log_prob: Tensor
    entropy: Tensor
    queries: Tensor
    keep_mask: Tensor


def choices_of(matched: Any) -> Choices | None:
    """The sampled readings of what a network answered; None where nothing samples."""
    readings: tuple[Reading, ...] = getattr(matched, "readings", ())
    parts = [one for one in readings if one.attended.log_prob is not None]
    if not parts:
        return None
    columns = zip(*map(_choices, parts), strict=True)
    return Choices(*(torch.cat(column, 1) for column in columns))


def _choices(reading: Reading) -> Choices:
    log_prob, entropy = reading.attended.log_prob, reading.attended.entropy
    assert log_prob is not None
    assert entropy is not None  # a selection that samples gives both
    asked = torch.ones_like(log_prob, dtype=torch.bool) if reading.asked is None else reading.asked
    return Choices(log_prob, entropy, reading.queries, asked)
