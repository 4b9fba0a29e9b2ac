"""What attention read of texts and documents: weights for metrics and pictures, choices for REINFORCE.

Shapes: B texts or documents, T words, L sentences in the longest document, R hops, K places that attention
weighs: words, or of a filter of width w the T + w - 1 places where it stands.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.core.batch import Documents, Padded
from zoo.networks.lstm_attention import Classified
from zoo.networks.pooling import Reading, redundancy_penalty
from zoo.tasks.sampled_readings import Choices, joined, sampled


class Weights(NamedTuple):
    """How much each word and each sentence counted.

    Attributes:
        words: `(B, T)`, or of documents `(B, L, T)`; None without attention over words.
        sentences: `(B, L)`; None without attention over sentences.
    """

    words: Tensor | None
    sentences: Tensor | None


def readings_of(classified: Classified) -> tuple[Reading, ...]:
    """All readings, those of words first."""
    over_sentences = classified.over_sentences
    return (*classified.readings, *(() if over_sentences is None else (over_sentences,)))


def weights_of(classified: Classified, text: Padded | Documents) -> Weights:
    """The weights of words and sentences: means over hops, and over filters of several widths."""
    words, over_sentences = None, classified.over_sentences
    if classified.readings:
        found = [_weights(reading).mean(-2) for reading in classified.readings]
        if isinstance(text, Documents):
            longest = max(group.shape[-1] for group in found)
            words = text.arranged(torch.cat([F.pad(one, (0, longest - one.shape[-1])) for one in found]))
        else:
            words = torch.stack([_of_words(one, text.ids.shape[1]) for one in found]).mean(0)
    return Weights(words, None if over_sentences is None else _weights(over_sentences).mean(-2))


def _of_words(weights: Tensor, words: int) -> Tensor:
    """Weights `(B, T + w - 1)` of the places of a filter, shared out to the w words that it reads at once."""
    width = weights.shape[-1] - words + 1
    return weights.unfold(-1, width, 1).mean(-1)


def _weights(reading: Reading) -> Tensor:
    weights = reading.attended.weights
    assert weights is not None  # poolings use no kernel that hides them
    return weights.float()


def choices_of(classified: Classified, text: Padded | Documents) -> Choices | None:
    """The sampled readings, of a document those of words before those of sentences; None: nothing samples."""
    levels = sampled(classified.readings)
    if levels and isinstance(text, Documents):
        columns = (torch.cat(column) for column in zip(*levels, strict=True))  # (S, R, ...)
        levels = [Choices(*(text.arranged(column).flatten(1, 2) for column in columns))]
    if classified.over_sentences is not None:
        levels += sampled([classified.over_sentences])
    return joined(levels) if levels else None


def redundancy_of(classified: Classified) -> Tensor:
    """Lin et al. 2017, eq. 8: the mean over all that was read; of samples, with their probabilities."""
    penalties, counts = [], []
    for reading in readings_of(classified):
        probabilities = reading.attended.probabilities
        weights = _weights(reading) if probabilities is None else probabilities.float()
        penalties.append(redundancy_penalty(weights))
        counts.append(len(weights))
    shares = torch.tensor(counts, dtype=torch.float32, device=penalties[0].device) / sum(counts)
    return (torch.stack(penalties) * shares).sum()


def pointing(weights: Tensor, place: Tensor) -> Tensor:
    """Whether the largest weight lies at a place, `(B,)`: of n that tie, each counts 1/n; without weight 0.

    Args:
        weights: `(B, K)`.
        place: `(B,)` int64, from 0 to K - 1.
    """
    highest = weights.amax(-1, keepdim=True)
    tied = ((weights == highest) & (highest > 0)).float()
    there = tied.gather(-1, place.unsqueeze(-1)).squeeze(-1)
    return there / tied.sum(-1).clamp_min(1)
