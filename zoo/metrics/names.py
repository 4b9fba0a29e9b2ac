"""The names under which metrics are logged, `<stage>/<name>`, and which way each gets better."""

from torchmetrics import MeanMetric, Metric

from zoo.metrics.alignment import AlignmentAccuracy, AlignmentEntropy, AlignmentSharpness
from zoo.metrics.captions import CaptionBleu, CiderD, RougeL
from zoo.metrics.catch import CatchRate, StandardError
from zoo.metrics.coverage import NameCoverage, NumberCoverage
from zoo.metrics.error import Error
from zoo.metrics.perplexity import Perplexity
from zoo.metrics.pointing import Pointing
from zoo.metrics.text import Bleu, Chrf, ExactMatch, TokenizedLowercasedBleu

METRICS: dict[str, type[Metric]] = {
    "bleu": Bleu,
    "bleu_tok_lc": TokenizedLowercasedBleu,
    "chrf": Chrf,
    "exact_match": ExactMatch,
    "bleu_1": CaptionBleu,
    "bleu_2": CaptionBleu,
    "bleu_3": CaptionBleu,
    "bleu_4": CaptionBleu,
    "bleu_1_nobp": CaptionBleu,
    "bleu_2_nobp": CaptionBleu,
    "bleu_3_nobp": CaptionBleu,
    "bleu_4_nobp": CaptionBleu,
    "rouge_l": RougeL,
    "cider_d": CiderD,
    "pointing_accuracy": Pointing,
    "pointing_uniform": MeanMetric,
    "pointing_centre": MeanMetric,
    "pointing_random": MeanMetric,
    "pointing_counted": Pointing,
    "number_coverage": NumberCoverage,
    "name_coverage": NameCoverage,
    "alignment_accuracy": AlignmentAccuracy,
    "alignment_entropy": AlignmentEntropy,
    "alignment_normalised_entropy": AlignmentEntropy,
    "alignment_sharpness": AlignmentSharpness,
    "error": Error,
    "error_1_sample": Error,
    "error_10_samples": Error,
    "catch_rate": CatchRate,
    "catch_rate_standard_error": StandardError,
    "loss": MeanMetric,
    "saturation": MeanMetric,
    "tf_loss": Perplexity,
    "tf_perplexity": Perplexity,
}
"""Every metric by its name; a plain mean, such as a control, is neither better high nor low."""


def declare(metric: str, kind: type[Metric]) -> None:
    """Makes a metric of a task of one's own known: its name, and which way it gets better.

    Raises:
        ValueError: the name is taken by a metric that gets better the other way.
    """
    known = METRICS.setdefault(metric, kind)
    if known.higher_is_better != kind.higher_is_better:
        raise ValueError(f"there is a metric {metric} already, and it gets better the other way")


def mode_of(logged: str) -> str:
    """Which value of a metric is the best, as checkpoints and schedules call it: `max` or `min`.

    Args:
        logged: such as `val/bleu`.

    Raises:
        KeyError: no metric has that name.
    """
    return "max" if METRICS[logged.partition("/")[2]].higher_is_better else "min"
