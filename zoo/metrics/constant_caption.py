"""The score of one caption that is given to every image: the control that a model must beat."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.metrics.caption_tokens import MAX_ORDER, caption_tokens
from zoo.metrics.cider import SIGMA, CiderReferences
from zoo.metrics.text import References


def constant_caption(captions: Iterable[str], references: References, *, candidates: int = 1000) -> str:
    """Finds the caption that, said of every image, has the best CIDEr-D.

    Args:
        captions: raw ones, of the train split; the candidates are the most frequent, those that differ in
            case or punctuation counted as one, and the first of those that are equally frequent.
        references: of the validation split, on which it is chosen.
        candidates: how many are tried.

    Returns:
        The caption, raw.

    Raises:
        ValueError: there is no caption, no reference, or no candidate.
    """
    raw: dict[tuple[str, ...], str] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for caption in captions:
        tokens = caption_tokens(caption)
        raw.setdefault(tokens, caption)
        times[tokens] += 1
    if not (times and references and candidates > 0):
        raise ValueError(
            f"a constant caption needs captions, references and candidates, "
            f"got {len(times)}, {len(references)} and {candidates}"
        )
    scored = _SaidOfAll(references)
    return max((raw[tokens] for tokens, _ in times.most_common(candidates)), key=scored.cider_d)


class _SaidOfAll:
    """CIDEr-D of single captions against all references at once: by an index from n-grams to captions."""

    def __init__(self, references: References) -> None:
        self._whole = CiderReferences(references)
        flat = [reference for image in self._whole.weighed for reference in image]
        self._lengths = np.array([reference.length for reference in flat])
        self._share = np.array([1 / len(image) for image in references for _ in image]) / len(references)
        owners: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
        for number, reference in enumerate(flat):
            for weights, norm in zip(reference.weights, reference.norms, strict=True):
                for ngram, weight in weights.items():
                    owners[ngram].append((number, weight, weight / norm if norm else 0.0))
        self._owners = {ngram: _columns(rows) for ngram, rows in owners.items()}

    def cider_d(self, caption: str) -> float:
        """The score, 0 to 10."""
        said = self._whole.weigh(caption)
        cosines = np.zeros(len(self._share))
        for weights, norm in zip(said.weights, said.norms, strict=True):
            for ngram, weight in weights.items():
                if norm and ngram in self._owners:
                    numbers, theirs, normalised = self._owners[ngram]
                    cosines[numbers] += np.minimum(weight, theirs) * normalised / norm
        penalty = np.exp(-((said.length - self._lengths) ** 2) / (2 * SIGMA**2))
        return float(10 / MAX_ORDER * (self._share * penalty * cosines).sum())


def _columns(
    rows: Sequence[tuple[int, float, float]],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    numbers, weights, normalised = zip(*rows, strict=True)
    return np.array(numbers), np.array(weights), np.array(normalised)
