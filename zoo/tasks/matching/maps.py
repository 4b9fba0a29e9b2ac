"""What a network looked at in pairs, for metrics and pictures."""

from typing import Any, NamedTuple

from torch import Tensor

from zoo.attention import masked_softmax
from zoo.core.batch import Padded


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
