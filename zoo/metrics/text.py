"""Corpus scores of generated text against raw references, equal to sacreBLEU's on the whole corpus.

Statistics are summed over batches and processes and become a score only at the end: a mean of batch scores
would be another number. No sentences score NaN.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from itertools import zip_longest
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU, MAX_NGRAM_ORDER
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor
from torchmetrics import Metric

from zoo.core.text import check_language
from zoo.metrics.bleu_tokens import bleu_tokenizer, is_cut_at_blanks
from zoo.metrics.item_scores import ItemScore, SummedScore

References = Sequence[Sequence[str]]
"""For each sentence one reference or more."""


def check_references(predictions: Sequence[str], references: References) -> None:
    """Checks that every prediction has its list of references.

    Raises:
        ValueError: the counts differ, or a prediction has no reference.
        TypeError: references are strings instead of lists of strings.
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions but {len(references)} lists of references")
    for number, alternatives in enumerate(references):
        if isinstance(alternatives, str):
            raise TypeError(f"references are lists of strings; number {number} is a string: {alternatives!r}")
        if not alternatives:
            raise ValueError(f"prediction {number} has no reference")


def score_here(metric: SummedScore, predictions: Sequence[str], references: References) -> float:
    """The score of texts that this process has all of. A metric's own `compute` would wait for the others.

    Args:
        metric: which score; it is not changed.
        predictions: detokenised text.
        references: for each prediction its raw references.

    Returns:
        The score; NaN for no sentences.

    Raises:
        ValueError: the counts differ, or a prediction has no reference.
        TypeError: references are strings instead of lists of strings.
    """
    statistics = metric.sentence_statistics(predictions, references)
    return metric.score([sum(column) for column in zip(*statistics, strict=True)]) if statistics else math.nan


class CorpusScore(Metric):
    """A score that follows from statistics summed over the sentences of a corpus.

    Args:
        scorer: sacreBLEU's.
        size: number of the scorer's statistics.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    sentences: Tensor
    statistics: Tensor

    def __init__(self, scorer: BLEU | CHRF, size: int) -> None:
        super().__init__()
        self._scorer: Any = scorer
        self._reference_counts: set[int] = set()
        self.add_state("sentences", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("statistics", torch.zeros(size, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, predictions: Sequence[str], references: References) -> None:
        """Adds sentences.

        Args:
            predictions: detokenised text.
            references: for each prediction its raw references.

        Raises:
            ValueError: the counts differ, or a prediction has no reference.
            TypeError: references are strings instead of lists of strings.
        """
        statistics = self.sentence_statistics(predictions, references)
        if not statistics:
            return
        self._reference_counts.update(map(len, references))
        self.sentences += len(statistics)
        sums = [sum(column) for column in zip(*statistics, strict=True)]
        self.statistics += torch.tensor(sums, device=self.statistics.device)

    def compute(self) -> Tensor:
        """The score, 0 to 100; NaN for no sentences."""
        score = self.score(self.statistics.tolist()) if self.sentences > 0 else float("nan")
        return torch.tensor(score, device=self.statistics.device)

    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """What each sentence adds to the sums; arguments and errors as in `update`."""
        check_references(predictions, references)
        prepared = [[self._prepare(text) for text in alternatives] for alternatives in references]
        streams = [list(stream) for stream in zip_longest(*prepared)]  # None where a sentence has fewer
        hypotheses = [self._prepare(text) for text in predictions]
        # sacreBLEU gives statistics, and scores of them, by no public name
        found = self._scorer._extract_corpus_statistics(hypotheses, streams) if hypotheses else []
        return [[int(count) for count in sentence] for sentence in found]

    def score(self, sums: Sequence[int]) -> float:
        """The score, 0 to 100, of summed statistics."""
        return float(self._scorer._compute_score_from_stats(list(sums)).score)

    @property
    def signature(self) -> str:
        """How the score is computed, in sacreBLEU's words; a `reset` keeps it.

        Raises:
            ValueError: nothing was scored yet, so the number of references is unknown.
        """
        if not self._reference_counts:
            raise ValueError("a signature names the number of references, which is unknown before any update")
        varies = len(self._reference_counts) > 1
        self._scorer.num_refs = -1 if varies else next(iter(self._reference_counts))
        return str(self._scorer.get_signature())

    def _prepare(self, text: str) -> str:
        """What happens to predictions and references before they are scored."""
        return text


class Bleu(CorpusScore):
    """BLEU (Papineni et al. 2002) by sacreBLEU (Post 2018): cased, tokens as `bleu_tokenizer` says.

    It is 0 when no n-gram of some order could match at all, as in a few very short sentences.
    """

    def __init__(self, language: str = "", scorer: BLEU | None = None) -> None:
        """Sets up the metric.

        Args:
            language: ISO 639 code of the text; 13a tokens where it is empty, or has blanks between words.
            scorer: another variant of sacreBLEU's.
        """
        super().__init__(
            scorer or BLEU(tokenize=bleu_tokenizer(language)),
            size=2 + 2 * MAX_NGRAM_ORDER,
        )


class TokenizedLowercasedBleu(Bleu):
    """BLEU over normalised, tokenised, lower-cased words, as papers on Multi30k report it.

    Moses' rules are applied to the detokenised prediction and to the raw reference alike, so that the score
    does not depend on a model's own tokens. Text without blanks between words is cut as `bleu_tokenizer`
    says, since Moses' rules would take a sentence for a word.

    Args:
        language: ISO 639 code of the text; the rules for English serve languages that Moses does not know.

    Raises:
        ValueError: that is no such code.
    """

    def __init__(self, language: str) -> None:
        check_language(language)
        self._by_moses = is_cut_at_blanks(language)
        tokenizer = "none" if self._by_moses else bleu_tokenizer(language)
        # force: tokenised on purpose
        super().__init__(scorer=BLEU(tokenize=tokenizer, lowercase=True, force=self._by_moses))
        self._language = language

    @property
    def signature(self) -> str:
        """The signature, with the language, and who tokenised."""
        moses = f"moses:{self._language}-{version('sacremoses')}"
        return f"{super().signature}|{moses if self._by_moses else f'language:{self._language}'}"

    def _prepare(self, text: str) -> str:
        return _moses(text, self._language) if self._by_moses else text


class Chrf(CorpusScore):
    """chrF (Popović 2015): F2 of character 1- to 6-grams, by sacreBLEU.

    (torchmetrics' CHRFScore smooths and averages in another way, so its numbers differ from sacreBLEU's.)
    """

    def __init__(self) -> None:
        super().__init__(CHRF(), size=3 * CHRF.CHAR_ORDER)


class ExactMatch(Metric):
    """Share of predictions that equal one of their references, character by character."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    matches: Tensor
    sentences: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("matches", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("sentences", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, predictions: Sequence[str], references: References) -> None:
        """Adds sentences; arguments and errors as in `CorpusScore.update`."""
        statistics = self.sentence_statistics(predictions, references)
        self.matches += sum(match for match, _ in statistics)
        self.sentences += len(statistics)

    def compute(self) -> Tensor:
        """The share, 0 to 1; NaN for no sentences."""
        return self.matches / self.sentences

    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """Matches and sentences that each sentence adds; arguments and errors as in `CorpusScore.update`."""
        check_references(predictions, references)
        return [
            [int(self._prepare(text) in map(self._prepare, alternatives)), 1]
            for text, alternatives in zip(predictions, references, strict=True)
        ]

    def score(self, sums: Sequence[int]) -> float:
        """The share, 0 to 1, of summed statistics."""
        return sums[0] / sums[1]

    def _prepare(self, text: str) -> str:
        """What happens to predictions and references before they are compared."""
        return text


BLEU_ITEMS = ItemScore("bleu", Bleu)
BLEU_TOK_LC_ITEMS = ItemScore("bleu_tok_lc", TokenizedLowercasedBleu)
CHRF_ITEMS = ItemScore("chrf", Chrf)
MATCH_ITEMS = ItemScore("exact_match", ExactMatch)


def text_metrics(language: str = "") -> dict[str, Metric]:
    """The metrics of generated text, by the names they are logged under.

    Args:
        language: ISO 639 code; empty for text of no language, which has no `bleu_tok_lc`.
    """
    metrics: dict[str, Metric] = {"bleu": Bleu(language), "chrf": Chrf(), "exact_match": ExactMatch()}
    if language:
        metrics["bleu_tok_lc"] = TokenizedLowercasedBleu(language)
    return metrics


@lru_cache(maxsize=2**16)  # references come back at every validation
def _moses(text: str, language: str) -> str:
    normalizer, tokenizer = _moses_tools(language)
    # escaped or not, a token stays one token, and readable ones are easier to look into
    return str(tokenizer.tokenize(normalizer.normalize(text), return_str=True, escape=False))


@lru_cache
def _moses_tools(language: str) -> tuple[Any, Any]:
    from sacremoses import MosesPunctNormalizer, MosesTokenizer  # here, because it takes long

    return MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
