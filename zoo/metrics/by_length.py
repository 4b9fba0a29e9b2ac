"""Scores of short and of long sentences apart."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from zoo.metrics.text import Bleu, References, check_references, score_here

_EDGES = (8, 11, 14, 17, 20, 24)  # source words


def bleu_by_length(
    lengths: Sequence[int],
    predictions: Sequence[str],
    references: References,
    edges: Sequence[int],
    language: str = "",
) -> tuple[list[float], list[float], list[int]]:
    """BLEU of sentences grouped by the length of their source, the figure of Bahdanau et al. 2015.

    Args:
        lengths: of the sources, in any unit.
        predictions: detokenised text.
        references: for each prediction its raw references.
        edges: increasing; `[10, 20]` makes the groups `length < 10`, `10 <= length < 20` and `20 <= length`.
        language: ISO 639 code of the text, see `Bleu`.

    Returns:
        The mean length, the BLEU and the number of sentences of each group that has any.

    Raises:
        ValueError: the counts differ, or the edges do not increase.
        TypeError: references are strings instead of lists of strings.
    """
    check_references(predictions, references)
    if len(lengths) != len(predictions):
        raise ValueError(f"{len(lengths)} lengths but {len(predictions)} predictions")
    if any(low >= high for low, high in pairwise(edges)):
        raise ValueError(f"edges must increase, got {list(edges)}")
    bleu = Bleu(language)
    groups: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        groups.setdefault(bisect_right(edges, length), []).append(number)
    centres, values, counts = [], [], []
    for _, numbers in sorted(groups.items()):
        centres.append(sum(lengths[number] for number in numbers) / len(numbers))
        texts = [predictions[number] for number in numbers]
        values.append(score_here(bleu, texts, [references[number] for number in numbers]))
        counts.append(len(numbers))
    return centres, values, counts


def bleu_by_source_words(predictions: Sequence[Mapping[str, Any]], language: str) -> dict[str, list[float]]:
    """BLEU of sentences grouped by the words of their source, as results.json keeps it.

    Args:
        predictions: items with `input`, `references` and `prediction`.
        language: ISO 639 code of the predictions, see `Bleu`.

    Returns:
        `mean_length`, `bleu` and `sentences`, each a list with an entry for every group that has sentences.
    """
    means, values, counts = bleu_by_length(
        [len(item["input"].split()) for item in predictions],
        [item["prediction"] for item in predictions],
        [item["references"] for item in predictions],
        _EDGES,
        language,
    )
    return {"mean_length": means, "bleu": values, "sentences": [float(count) for count in counts]}
