"""Text metrics equal sacreBLEU on the whole corpus, however it is cut into batches and processes."""

import copy
import math
import pickle
import random
from itertools import pairwise, zip_longest

import pytest
import sacrebleu
from sacremoses import MosesPunctNormalizer, MosesTokenizer
from torchmetrics import Metric

from zoo.metrics import (
    Bleu,
    Chrf,
    ExactMatch,
    TokenizedLowercasedBleu,
    bleu_by_length,
    bleu_by_source_words,
    text_metrics,
)

SENTENCE = (
    "Ein Mann steht auf der Leiter , und (zwei) Hunde laufen. Das „ist“ z.B. 3,5 % größer — nicht wahr?"
)
WORDS = SENTENCE.split()


def corpus(
    seed: int, size: int = 60, references: tuple[int, ...] = (1,)
) -> tuple[list[str], list[list[str]]]:
    """Predictions that share words with their references, some empty or equal."""
    generator = random.Random(seed)

    def sentence() -> str:
        return " ".join(generator.choices(WORDS, k=generator.randint(1, 14)))

    targets = [[sentence() for _ in range(generator.choice(references))] for _ in range(size)]
    predictions = []
    for alternatives in targets:
        words = alternatives[0].split()
        words[generator.randrange(len(words))] = generator.choice(WORDS)
        predictions.append(generator.choice([" ".join(words), sentence(), alternatives[-1], ""]))
    return predictions, targets


def streams(references: list[list[str]]) -> list[list[str]]:
    return [list(stream) for stream in zip_longest(*references)]


NORMALIZER, TOKENIZER = MosesPunctNormalizer("de"), MosesTokenizer("de")


def moses(text: str) -> str:
    return str(TOKENIZER.tokenize(NORMALIZER.normalize(text), return_str=True)).lower()


def expected(name: str, predictions: list[str], references: list[list[str]]) -> float:
    if name == "bleu":
        return sacrebleu.corpus_bleu(predictions, streams(references)).score
    if name == "chrf":
        return sacrebleu.corpus_chrf(predictions, streams(references)).score
    if name == "bleu_tok_lc":
        tokenized = [[moses(text) for text in alternatives] for alternatives in references]
        hypotheses = [moses(text) for text in predictions]
        return sacrebleu.corpus_bleu(hypotheses, streams(tokenized), tokenize="none", force=True).score
    matches = [text in alternatives for text, alternatives in zip(predictions, references, strict=True)]
    return sum(matches) / len(matches)


def in_batches(metric: Metric, predictions: list[str], references: list[list[str]]) -> Metric:
    """Uneven batches, an empty one among them."""
    edges = [0, 1, 1, 8, 30, len(predictions)]
    for start, stop in pairwise(edges):
        metric.update(predictions[start:stop], references[start:stop])
    return metric


@pytest.mark.parametrize("references", [(1,), (3,), (1, 2, 4)])
@pytest.mark.parametrize("name", ["bleu", "bleu_tok_lc", "chrf", "exact_match"])
@pytest.mark.parametrize("seed", [0, 1])
def test_any_batches_and_processes_equal_the_corpus(
    name: str, references: tuple[int, ...], seed: int
) -> None:
    predictions, targets = corpus(seed, references=references)
    whole = expected(name, predictions, targets)
    assert 0 < whole < 100
    assert float(in_batches(text_metrics("de")[name], predictions, targets).compute()) == pytest.approx(
        whole, 1e-6
    )

    first, second = text_metrics("de")[name], text_metrics("de")[name]
    first.update(predictions[:17], targets[:17])
    second.update(predictions[17:], targets[17:])
    first.merge_state(second)
    assert float(first.compute()) == pytest.approx(whole, 1e-6)


@pytest.mark.parametrize("name", ["bleu", "bleu_tok_lc", "chrf", "exact_match"])
def test_a_reset_metric_and_its_copies_begin_anew(name: str) -> None:
    predictions, targets = corpus(3)
    metric = text_metrics("de")[name]
    metric.update(*corpus(4))
    for fresh in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric):
        fresh.reset()
        fresh.update(predictions, targets)
        assert float(fresh.compute()) == pytest.approx(expected(name, predictions, targets), 1e-6)


@pytest.mark.parametrize("name", ["bleu", "bleu_tok_lc", "chrf", "exact_match"])
def test_no_sentences_are_nan(name: str) -> None:
    metric = text_metrics("de")[name]
    metric.update([], [])
    assert math.isnan(float(metric.compute()))


@pytest.mark.parametrize("name", ["bleu", "bleu_tok_lc", "chrf"])
def test_only_empty_predictions_score_zero(name: str) -> None:
    metric = text_metrics("de")[name]
    metric.update(["", ""], [["Ein Hund"], ["Zwei"]])
    assert float(metric.compute()) == 0.0


def test_a_perfect_corpus() -> None:
    targets = [["Ein Mann steht auf der Leiter ."], ["Zwei Hunde laufen über die Wiese ."]]
    for name, metric in text_metrics("de").items():
        metric.update([alternatives[0] for alternatives in targets], targets)
        assert float(metric.compute()) == pytest.approx(1.0 if name == "exact_match" else 100.0)


def test_case_and_tokens_count_only_where_they_should() -> None:
    metrics = text_metrics("de")
    for metric in metrics.values():
        metric.update(["EIN MANN STEHT AUF DER LEITER ."], [["Ein Mann steht auf der Leiter."]])
    assert float(metrics["bleu_tok_lc"].compute()) == pytest.approx(100.0)
    assert float(metrics["bleu"].compute()) < 50
    assert float(metrics["exact_match"].compute()) == 0.0


def test_another_kind_of_quotation_mark_is_no_other_word() -> None:
    metric = TokenizedLowercasedBleu("de")
    metric.update(['Er sagt "Ja" zu ihr.'], [["Er sagt „Ja“ zu ihr."]])
    assert float(metric.compute()) == pytest.approx(100.0)


def test_no_common_4_gram_is_smoothed_as_sacrebleu_does() -> None:
    predictions, targets = ["a b c x y"], [["a b c d e"]]
    metric = Bleu()
    metric.update(predictions, targets)
    assert float(metric.compute()) == pytest.approx(expected("bleu", predictions, targets), 1e-6)
    assert float(metric.compute()) > 0


def test_text_of_no_language_is_not_tokenised() -> None:
    assert set(text_metrics("")) == {"bleu", "chrf", "exact_match"}
    assert set(text_metrics("de")) == {"bleu", "chrf", "exact_match", "bleu_tok_lc"}


def test_signatures() -> None:
    metric = Bleu()
    with pytest.raises(ValueError, match="before any update"):
        _ = metric.signature
    predictions, targets = corpus(0)
    scorer = sacrebleu.BLEU()
    scorer.corpus_score(predictions, streams(targets))
    metric.update(predictions, targets)
    assert metric.signature == str(scorer.get_signature())
    metric.reset()
    assert "nrefs:1|case:mixed" in metric.signature
    metric.update(predictions, [[*alternatives, "and another"] for alternatives in targets])
    assert "nrefs:var|" in metric.signature

    tokenized, chrf = TokenizedLowercasedBleu("de"), Chrf()
    tokenized.update(predictions, targets)
    chrf.update(predictions, targets)
    assert "case:lc|" in tokenized.signature
    assert "tok:none|" in tokenized.signature
    assert "|moses:de-" in tokenized.signature
    assert "nc:6|nw:0" in chrf.signature
    with pytest.raises(ValueError, match="such as de for German; got 'klingon'"):
        TokenizedLowercasedBleu("klingon")


@pytest.mark.parametrize("metric", [Bleu(), ExactMatch()])
def test_bad_references(metric: Metric) -> None:
    with pytest.raises(ValueError, match="2 predictions but 1 lists of references"):
        metric.update(["a", "b"], [["a"]])
    with pytest.raises(TypeError, match="number 1 is a string: 'b'"):
        metric.update(["a", "b"], [["a"], "b"])
    with pytest.raises(ValueError, match="prediction 0 has no reference"):
        metric.update(["a"], [[]])


def test_bleu_by_length() -> None:
    predictions, targets = corpus(5)
    lengths = [len(alternatives[0].split()) for alternatives in targets]
    centres, values, counts = bleu_by_length(lengths, predictions, targets, [5, 10, 90])
    groups = [
        [number for number, length in enumerate(lengths) if low <= length < high]
        for low, high in [(0, 5), (5, 10), (10, 90)]
    ]
    assert counts == [len(group) for group in groups]
    assert centres == [sum(lengths[number] for number in group) / len(group) for group in groups]
    for value, group in zip(values, groups, strict=True):
        chosen = [predictions[number] for number in group], [targets[number] for number in group]
        assert value == pytest.approx(expected("bleu", *chosen), 1e-6)


def test_bleu_by_length_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="1 lengths but 2 predictions"):
        bleu_by_length([3], ["a", "b"], [["a"], ["b"]], [5])
    with pytest.raises(ValueError, match=r"edges must increase, got \[5, 5\]"):
        bleu_by_length([3], ["a"], [["a"]], [5, 5])
    assert bleu_by_length([], [], [], [5]) == ([], [], [])


def test_bleu_by_source_words() -> None:
    item = {"input": "a b c", "references": ["x y z w"], "prediction": "x y z w"}
    longer = {"input": "a " * 30, "references": ["x y z w"], "prediction": "w"}
    assert bleu_by_source_words([longer, item, item], "de") == {
        "mean_length": [3.0, 30.0],
        "bleu": [pytest.approx(100.0), pytest.approx(0.0)],
        "sentences": [2.0, 1.0],
    }
