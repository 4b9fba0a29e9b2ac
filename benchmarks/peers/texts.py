"""What both sides of `text_training.py` share: the texts, the sizes, the loop, the clock. Needs torch alone.

A driver is started as `python <driver>.py NETWORK SECONDS` and prints one JSON line.
"""

import random
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from common import print_median
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY, CLASSES, DROPOUT = 18_000, 2, 0.5
PAD = 0

Text = list[int]
Document = list[Text]
Batch = tuple[list[Any], ...]
"""Texts, or documents; or the texts on either side of pairs."""


class Network(NamedTuple):
    """One row of the comparison.

    Attributes:
        kind: of its batches: `texts`, `documents` or `pairs`.
        embedding_size: features of a word.
        hidden_size: features of a state, of both directions together; of a convolutional network, filters of
            each width.
    """

    kind: str
    embedding_size: int
    hidden_size: int


NETWORKS = {
    "lstm_attention": Network("texts", 100, 200),
    "gru_attention": Network("texts", 100, 200),
    "hierarchical": Network("documents", 200, 100),
    "convolutional": Network("texts", 100, 100),
    "convolutional_attention": Network("texts", 100, 100),
    "bcnn": Network("pairs", 300, 50),
    "abcnn1": Network("pairs", 300, 50),
    "abcnn2": Network("pairs", 300, 50),
    "abcnn3": Network("pairs", 300, 50),
    "attentive_reader": Network("pairs", 100, 200),
    "impatient_reader": Network("pairs", 100, 200),
}
WIDTHS, WIDTH = (3, 4, 5), 4
"""Words that a filter sees, of the convolutional networks and of ABCNN."""

LONGEST = 60
"""Words of the longest text."""


def batches(kind: str) -> list[Batch]:
    """Batches in the order of chance: sentences as in MR, pairs as in WikiQA, documents as in IMDB."""
    draw = random.Random(1)
    often = torch.arange(1, VOCABULARY - 3).float().reciprocal().tolist()  # Zipf's law

    def texts(count: int, mean: float, deviation: float) -> list[Text]:
        lengths = [min(LONGEST, max(1, round(draw.gauss(mean, deviation)))) for _ in range(count)]
        words = iter(draw.choices(range(4, VOCABULARY), often, k=sum(lengths)))
        return [[next(words) for _ in range(length)] for length in lengths]

    def documents(count: int) -> list[Document]:
        counts = [min(40, max(1, round(draw.lognormvariate(2.2, 0.6)))) for _ in range(count)]
        sentences = iter(texts(sum(counts), 21, 12))
        return [[next(sentences) for _ in range(number)] for number in counts]

    match kind:
        case "texts":
            return [(texts(50, 20, 9),) for _ in range(8)]
        case "documents":
            return [(documents(32),) for _ in range(2)]
    return [(texts(50, 7, 2.5), texts(50, 25, 11)) for _ in range(8)]


def words_of(batch: Batch) -> int:
    """Real words."""
    flat = [row for side in batch for row in side]
    return sum(sum(map(len, row)) if isinstance(row[0], list) else len(row) for row in flat)


def padded(rows: list[Text]) -> tuple[Tensor, Tensor]:
    """Ids `(B, T)` padded on the right, and lengths `(B,)`."""
    size = max(map(len, rows))
    return torch.tensor([row + [PAD] * (size - len(row)) for row in rows]), torch.tensor([*map(len, rows)])


def measure(
    build: Callable[[str, Network], nn.Module], arrange: Callable[[str, Batch], tuple[Any, ...]]
) -> None:
    """Times optimiser steps over all batches, again and again, and prints the median words per second.

    Args:
        build: makes the network, which gives logits `(B, C)`.
        arrange: makes of a batch of some kind what the network takes; it is not timed.
    """
    torch.set_num_threads(1)
    torch.manual_seed(1)
    name, seconds = sys.argv[1], float(sys.argv[2])
    kind = NETWORKS[name].kind
    texts = batches(kind)
    words = sum(map(words_of, texts))
    labels = [torch.randint(CLASSES, (len(batch[0]),)) for batch in texts]
    inputs = [arrange(kind, batch) for batch in texts]
    network = build(name, NETWORKS[name]).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)

    def once() -> float:
        start = time.perf_counter()
        for batch, label in zip(inputs, labels, strict=True):
            optimizer.zero_grad()
            functional.cross_entropy(network(*batch), label).backward()
            optimizer.step()
        return words / (time.perf_counter() - start)

    print_median("words_per_second", once, seconds, network)
