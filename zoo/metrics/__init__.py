"""Metrics whose states are sums: the same result for any batch size and number of processes."""

from zoo.metrics.alignment import AlignmentAccuracy, AlignmentEntropy, AlignmentSharpness
from zoo.metrics.bleu_tokens import bleu_tokenizer, signed_language
from zoo.metrics.by_length import bleu_by_length, bleu_by_source_words
from zoo.metrics.captions import (
    CAPTION_ITEMS,
    CAPTION_MATCH_ITEMS,
    CaptionBleu,
    CaptionMatch,
    CaptionScore,
    CiderD,
    RougeL,
    caption_metrics,
    caption_scores,
)
from zoo.metrics.catch import CatchRate, StandardError
from zoo.metrics.constant_caption import constant_caption
from zoo.metrics.coverage import Coverage, NameCoverage, NumberCoverage, coverage_metrics
from zoo.metrics.error import WRONG_ITEMS, Error, WrongAnswers
from zoo.metrics.item_scores import ITEM_SCORES, ItemScore, MeanOverItems, SummedScore
from zoo.metrics.measure import Control, Measure
from zoo.metrics.perplexity import Perplexity
from zoo.metrics.pointing import Pointing
from zoo.metrics.text import (
    BLEU_ITEMS,
    BLEU_TOK_LC_ITEMS,
    CHRF_ITEMS,
    MATCH_ITEMS,
    Bleu,
    Chrf,
    CorpusScore,
    ExactMatch,
    TokenizedLowercasedBleu,
    text_metrics,
)

__all__ = [
    "BLEU_ITEMS",
    "BLEU_TOK_LC_ITEMS",
    "CAPTION_ITEMS",
    "CAPTION_MATCH_ITEMS",
    "CHRF_ITEMS",
    "ITEM_SCORES",
    "MATCH_ITEMS",
    "WRONG_ITEMS",
    "AlignmentAccuracy",
    "AlignmentEntropy",
    "AlignmentSharpness",
    "Bleu",
    "CaptionBleu",
    "CaptionMatch",
    "CaptionScore",
    "CatchRate",
    "Chrf",
    "CiderD",
    "Control",
    "CorpusScore",
    "Coverage",
    "Error",
    "ExactMatch",
    "ItemScore",
    "MeanOverItems",
    "Measure",
    "NameCoverage",
    "NumberCoverage",
    "Perplexity",
    "Pointing",
    "RougeL",
    "StandardError",
    "SummedScore",
    "TokenizedLowercasedBleu",
    "WrongAnswers",
    "bleu_by_length",
    "bleu_by_source_words",
    "bleu_tokenizer",
    "caption_metrics",
    "caption_scores",
    "constant_caption",
    "coverage_metrics",
    "signed_language",
    "text_metrics",
]
