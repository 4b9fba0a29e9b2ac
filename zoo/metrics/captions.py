"""Scores of generated captions against all references of their images, equal to those of COCO's tools.

The tools (Chen et al. 2015, "Microsoft COCO Captions: Data Collection and Evaluation Server") score one
hypothesis for each image, over the tokens of `caption_tokens`. No captions score NaN.
"""

import json
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from operator import or_

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from zoo.metrics.caption_tokens import MAX_ORDER, caption_tokens, ngram_counts
from zoo.metrics.cider import SIGMA, CiderReferences
from zoo.metrics.item_scores import UNIT, ItemScore
from zoo.metrics.text import ExactMatch, References, check_references, score_here

_VERSION = 1
"""Of these scores and of their tokens: raised with whatever changes a score."""

_SIGNED = f"tok:coco|case:lc|version:{_VERSION}"
"""The end of every signature."""

_BETA = 1.2
"""How much more recall counts than precision in ROUGE-L."""


class CaptionScore(Metric):
    """A score that follows from statistics summed over images."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    images: Tensor
    statistics: Tensor

    def __init__(self, size: int) -> None:
        """Sets up the sums.

        Args:
            size: number of statistics.
        """
        super().__init__()
        self.add_state("images", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("statistics", torch.zeros(size, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, predictions: Sequence[str], references: References) -> None:
        """Adds images.

        Args:
            predictions: one caption of each image.
            references: for each image all its raw captions.

        Raises:
            ValueError: the counts differ, or an image has no reference.
            TypeError: references are strings instead of lists of strings.
        """
        statistics = self.sentence_statistics(predictions, references)
        if statistics:
            self.images += len(statistics)
            sums = [sum(column) for column in zip(*statistics, strict=True)]
            self.statistics += torch.tensor(sums, device=self.statistics.device)

    def compute(self) -> Tensor:
        """The score; NaN for no images."""
        score = self.score(self.statistics.tolist()) if self.images > 0 else math.nan
        return torch.tensor(score, device=self.statistics.device)

    @property
    @abstractmethod
    def signature(self) -> str:
        """How the score is computed, as sacreBLEU's signatures say it."""

    @abstractmethod
    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """What each image adds to the sums; arguments and errors as in `update`."""

    @abstractmethod
    def score(self, sums: Sequence[int]) -> float:
        """The score of summed statistics."""


class CaptionBleu(CaptionScore):
    """BLEU (Papineni et al. 2002, section 2), 0 to 100.

    The geometric mean of the precisions of 1- to n-grams over the corpus, times exp(1 - r / c) where the
    hypotheses' length c is below r. For each image r counts the reference whose length is the closest to the
    hypothesis's, the shorter of two. Nothing is smoothed but by 1e-15.

    Args:
        order: n, the longest n-grams.
        brevity_penalty: False leaves that last factor out, as the numbers of Xu et al. 2015 do.
    """

    def __init__(self, order: int, *, brevity_penalty: bool = True) -> None:
        if not 1 <= order <= MAX_ORDER:
            raise ValueError(f"order must be from 1 to {MAX_ORDER}, got {order}")
        super().__init__(size=2 * MAX_ORDER + 2)
        self._order, self._brevity_penalty = order, brevity_penalty

    @property
    def signature(self) -> str:
        """See `CaptionScore`."""
        return f"n:{self._order}|bp:{'closest' if self._brevity_penalty else 'none'}|{_SIGNED}"

    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """For each image matches and n-grams by order, and both lengths; see `CaptionScore`."""
        check_references(predictions, references)
        return [
            list(_bleu_statistics(prediction, tuple(alternatives)))
            for prediction, alternatives in zip(predictions, references, strict=True)
        ]

    def score(self, sums: Sequence[int]) -> float:
        """The score, 0 to 100, of summed statistics."""
        matches, ngrams = sums[:MAX_ORDER], sums[MAX_ORDER : 2 * MAX_ORDER]
        length, reference_length = sums[-2:]
        # what COCO's tools add above and below the line, so that nothing is divided by 0
        tiny, small = 1e-15, 1e-9
        precision = math.prod((matches[n] + tiny) / (ngrams[n] + small) for n in range(self._order))
        ratio = (length + tiny) / (reference_length + small)
        # no hypothesis says anything: exp of a huge negative number, which is 0
        penalty = math.exp(1 - 1 / ratio) if self._brevity_penalty and ratio < 1 else 1.0
        return 100 * precision ** (1 / self._order) * penalty


class RougeL(CaptionScore):
    """ROUGE-L (Lin 2004, section 3) with beta = 1.2: the mean over images, 0 to 100.

    F = (1 + beta^2) P R / (R + beta^2 P), where P and R are the longest common subsequence over the length
    of the hypothesis and of the reference. Each is the largest over the references, not always of the same.
    """

    def __init__(self) -> None:
        super().__init__(size=2)

    @property
    def signature(self) -> str:
        """See `CaptionScore`."""
        return f"beta:{_BETA}|{_SIGNED}"

    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """For each image its F, in units of 2^-32, and 1; see `CaptionScore`."""
        check_references(predictions, references)
        return [
            [round(_rouge_l(prediction, alternatives) * UNIT), 1]
            for prediction, alternatives in zip(predictions, references, strict=True)
        ]

    def score(self, sums: Sequence[int]) -> float:
        """The mean, 0 to 100, of summed statistics."""
        return 100 * sums[0] / UNIT / sums[1]


class CiderD(Metric):
    """CIDEr-D (Vedantam et al. 2015, section 4 and appendix): the mean over images, 0 to 10.

    How common an n-gram is, is counted over the references of the images that are scored: the score of a part
    of a split is no part of the split's. (Papers often print 100 times this number.)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    lines: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        # Text, because the score needs all of it at once: a line of JSON for each image, as UTF-8.
        self.add_state("lines", [], dist_reduce_fx="cat")

    @property
    def dtype(self) -> torch.dtype:
        """Of the state: a process without images gathers nothing, but of the same type as the others."""
        return torch.uint8

    @property
    def signature(self) -> str:
        """See `CaptionScore`."""
        return f"n:{MAX_ORDER}|sigma:{SIGMA:g}|df:split|{_SIGNED}"

    def update(self, predictions: Sequence[str], references: References) -> None:
        """Adds images; arguments and errors as in `CaptionScore.update`."""
        check_references(predictions, references)
        text = "".join(
            json.dumps([prediction, *alternatives]) + "\n"
            for prediction, alternatives in zip(predictions, references, strict=True)
        )
        if text:
            self.lines.append(torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8).to(self.device))

    def compute(self) -> Tensor:
        """The mean; NaN for no images."""
        text = dim_zero_cat(self.lines).cpu().numpy().tobytes() if len(self.lines) else b""
        lines = text.splitlines()
        if not lines:
            return torch.tensor(math.nan, device=self.device)
        texts = [json.loads(line) for line in lines]
        statistics = self.sentence_statistics([said for said, *_ in texts], [truth for _, *truth in texts])
        sums = [sum(column) for column in zip(*statistics, strict=True)]
        return torch.tensor(self.score(sums), device=self.device)

    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """For each image of a whole split its score, in units of 2^-32, and 1; see `CaptionScore`."""
        # Document frequencies are those of the whole split's references, and stay so where its images are
        # drawn anew: so the score is a mean over images, and resampling needs no more than these.
        check_references(predictions, references)
        whole = _cider_references(tuple(map(tuple, references)))
        return [[round(score * UNIT), 1] for score in whole.scores(predictions)]

    def score(self, sums: Sequence[int]) -> float:
        """The mean, 0 to 10, of summed statistics."""
        return sums[0] / UNIT / sums[1]


class CaptionMatch(ExactMatch):
    """Share of hypotheses whose tokens are those of one of their references."""

    def _prepare(self, text: str) -> str:
        return " ".join(caption_tokens(text))


_METRICS: dict[str, Callable[[], CaptionScore | CiderD]] = {
    name: make
    for order in range(1, MAX_ORDER + 1)
    for name, make in (
        (f"bleu_{order}", partial(CaptionBleu, order)),
        (f"bleu_{order}_nobp", partial(CaptionBleu, order, brevity_penalty=False)),
    )
} | {"rouge_l": RougeL, "cider_d": CiderD}

CAPTION_ITEMS = {name: ItemScore(name, make) for name, make in _METRICS.items()}
CAPTION_MATCH_ITEMS = ItemScore("caption_match", CaptionMatch)


def caption_metrics() -> dict[str, CaptionScore | CiderD]:
    """The metrics of generated captions, by the names they are logged under."""
    return {name: make() for name, make in _METRICS.items()}


def caption_scores(who: str, texts: Sequence[str], references: References) -> dict[str, float]:
    """What texts score that no model wrote, or for other images: the controls.

    Args:
        who: said them; the beginning of the scores' names.
        texts: one for each image.
        references: for each image all its raw captions.

    Returns:
        By `<who>_` and the name of each of `caption_metrics`, and `<who>_exact_match`.
    """
    metrics = {**caption_metrics(), "exact_match": CaptionMatch()}
    return {f"{who}_{name}": score_here(metric, texts, references) for name, metric in metrics.items()}


@lru_cache(maxsize=2**14)  # eight metrics ask the same
def _bleu_statistics(prediction: str, references: tuple[str, ...]) -> tuple[int, ...]:
    tokens = caption_tokens(prediction)
    lengths, most = _bleu_references(references)
    matches = [(said & truth).total() for said, truth in zip(ngram_counts(tokens), most, strict=True)]
    ngrams = [max(0, len(tokens) - n) for n in range(MAX_ORDER)]
    closest = min(lengths, key=lambda length: (abs(length - len(tokens)), length))
    return (*matches, *ngrams, len(tokens), closest)


@lru_cache(maxsize=2**12)  # references come back at every validation
def _bleu_references(references: tuple[str, ...]) -> tuple[list[int], list[Counter[str]]]:
    """The references' lengths, and how often each n-gram occurs in the one that has it most often."""
    tokens = [caption_tokens(text) for text in references]
    counts = [ngram_counts(words) for words in tokens]
    return [len(words) for words in tokens], [reduce(or_, of_order) for of_order in zip(*counts, strict=True)]


def _rouge_l(prediction: str, references: Sequence[str]) -> float:
    """F of one image, 0 to 1."""
    square = _BETA**2
    # COCO's tools read a text of no words as one empty word
    said = caption_tokens(prediction) or ("",)
    truths = [caption_tokens(text) or ("",) for text in references]
    common = [_longest_common_subsequence(said, truth) for truth in truths]
    precision = max(common) / len(said)
    recall = max(length / len(truth) for length, truth in zip(common, truths, strict=True))
    if not precision:
        return 0.0
    return (1 + square) * precision * recall / (recall + square * precision)


def _longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Its length, by the bits of whole numbers (Hyyrö 2004): a row of the usual table in one step."""
    places: dict[str, int] = {}
    for place, word in enumerate(left):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(left)) - 1
    row = full
    for word in right:
        matched = row & places.get(word, 0)
        row = (row + matched | row - matched) & full
    return len(left) - row.bit_count()


@lru_cache(maxsize=4)  # the splits that one process scores
def _cider_references(references: tuple[tuple[str, ...], ...]) -> CiderReferences:
    return CiderReferences(references)
