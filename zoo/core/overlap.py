"""Words that two texts share: what a network reads beside vectors (Yang et al. 2015, section 4.2)."""

import math
import re

from zoo.core.spec import OverlapSpec
from zoo.core.text import normalise


def words_of(text: str) -> set[str]:
    """The words of a text, without case and punctuation."""
    return set(re.findall(r"\w+", normalise(text).casefold()))


def shared_words(left: str, right: str, spec: OverlapSpec) -> tuple[float, float]:
    """How many words of one text stand in the other, too, and the sum of their weights.

    Words that weigh nothing (stop words) do not count. Weights are inverse document frequencies, divided by
    that of a word that stands in a single text, so that both numbers have one scale.
    """
    weights = [spec.weights.get(word, 1.0) for word in words_of(left) & words_of(right)]
    return float(sum(weight > 0 for weight in weights)), math.fsum(weights)
