"""What a network looked at in pairs, for metrics and pictures."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.batch import Padded


class PairMap(NamedTuple):
    """One matrix over the words of B pairs.

    Attributes:
        weights: `(B, R, L_right)` float32: rows of the left text's words, or a single one where the right text was
            read once; 0 beside the words.
        of_words: whether there is a row for each word of the left text.
        what: what the matrix shows, for titles.
    """

    weights: Tensor
    of_words: bool
    what: str


def pair_maps(matched: Any, left: Padded, right: Padded) -> list[PairMap]:
    """The matrices of what a network answered: weights of readings, or scores of matches.

    A wide convolution has columns over the ends of a text, which belong to no word; column `i + (w - 1) // 2` lies
    over word i.
    """
    maps = []
    for reading in getattr(matched, "readings", ()):
        of_words = reading.asked is not None
        maps.append(PairMap(reading.attended.weights.float(), of_words, "weights"))
    for matrix in getattr(matched, "matrices", ()):
        over = matrix.shape[1] - left.ids.shape[1]
        start = over // 2
        words = matrix[:, start:, start:][:, : left.ids.shape[1], : right.ids.shape[1]].float()
        what = "match of words" if not over else f"match of columns {over + 1} words wide"
        maps.append(PairMap(words, True, what))
    there = right.keep_mask.unsqueeze(1)
    return [
        PairMap(
            torch.where(there & left.keep_mask.unsqueeze(2) if one.of_words else there, one.weights, 0),
            one.of_words,
            one.what,
        )
        for one in maps
    ]
