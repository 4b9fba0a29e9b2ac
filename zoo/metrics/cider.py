"""CIDEr-D of captions, given all references of a split."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from zoo.metrics.caption_tokens import MAX_ORDER, caption_tokens, ngram_counts

SIGMA = 6.0


class NgramWeights:
    """How much each n-gram of a caption weighs, by how many images have it.

    Vedantam et al. 2015, "CIDEr: Consensus-based Image Description Evaluation": an n-gram g of a caption
    weighs tf(g) (log N - log df(g)), with df the number of the N images that have g in any reference. As
    COCO's tools have it, tf is the plain count.

    Args:
        references: for each image all its raw captions.
    """

    def __init__(self, references: Iterable[Sequence[str]]) -> None:
        self._images: Counter[str] = Counter()
        count = 0
        for alternatives in references:
            self._images.update({ngram for text in alternatives for one in _counts(text) for ngram in one})
            count += 1
        self._log_images = math.log(count) if count else 0.0

    def weigh(self, text: str) -> "Weighed":
        """A caption as vectors."""
        counts = _counts(text)
        weights = [
            {
                ngram: times * (self._log_images - math.log(self._images.get(ngram, 1)))
                for ngram, times in of_order.items()
            }
            for of_order in counts
        ]
        norms = [math.sqrt(sum(weight * weight for weight in of_order.values())) for of_order in weights]
        return Weighed(weights, norms, counts[0].total())


class CiderReferences(NgramWeights):
    """The references of a split, weighed once, against which any captions of its images are scored.

    CIDEr-D of Vedantam et al. 2015: for n = 1 to 4, with weights h of the hypothesis and r of a reference,

        CIDEr-D_n = 10 exp(-(l_h - l_r)^2 / (2 sigma^2)) sum_g min(h_g, r_g) r_g / (|h| |r|),   sigma = 6,

    which is averaged over the references of an image, and then over n; l is the number of tokens.

    Attributes:
        weighed: for each image its references as vectors.

    Args:
        references: for each image all its raw captions.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        super().__init__(references)
        self.weighed = [list(map(self.weigh, alternatives)) for alternatives in references]

    def scores(self, predictions: Iterable[str]) -> list[float]:
        """The score of a caption of each image, 0 to 10.

        Args:
            predictions: one for each image.
        """
        weigh = cache(self.weigh)  # models repeat themselves
        return [
            score(weigh(text), alternatives)
            for text, alternatives in zip(predictions, self.weighed, strict=True)
        ]


class Weighed(NamedTuple):
    """A caption as a vector for each order of n-grams.

    Attributes:
        weights: by order, of each of its n-grams.
        norms: by order.
        length: its number of tokens.
    """

    weights: list[dict[str, float]]
    norms: list[float]
    length: int


def score(prediction: Weighed, references: Sequence[Weighed]) -> float:
    """CIDEr-D of one caption, 0 to 10, of which the same references weighed the n-grams."""
    return 10 * sum(_likeness(prediction, reference) for reference in references) / len(references)


def _counts(text: str) -> list[Counter[str]]:
    return ngram_counts(caption_tokens(text))


def _likeness(hypothesis: Weighed, reference: Weighed) -> float:
    """The mean over n of a tenth of CIDEr-D_n, against one reference."""
    total = 0.0
    for said, truth, norm, other in zip(
        hypothesis.weights, reference.weights, hypothesis.norms, reference.norms, strict=True
    ):
        shared = said.keys() & truth.keys()
        if shared and norm and other:
            total += sum(min(said[ngram], truth[ngram]) * truth[ngram] for ngram in shared) / (norm * other)
    difference = hypothesis.length - reference.length
    return total / MAX_ORDER * math.exp(-(difference**2) / (2 * SIGMA**2))
