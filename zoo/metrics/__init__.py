"""Metrics whose states are sums: the same result for any batch size and number of processes."""

from zoo.metrics.alignment import AlignmentAccuracy
from zoo.metrics.by_length import bleu_by_length
from zoo.metrics.names import METRICS, mode_of
from zoo.metrics.perplexity import Perplexity
from zoo.metrics.text import (
    Bleu,
    Chrf,
    CorpusScore,
    ExactMatch,
    TokenizedLowercasedBleu,
    text_metrics,
)

__all__ = [
    "METRICS",
    "AlignmentAccuracy",
    "Bleu",
    "Chrf",
    "CorpusScore",
    "ExactMatch",
    "Perplexity",
    "TokenizedLowercasedBleu",
    "bleu_by_length",
    "mode_of",
    "text_metrics",
]
