"""By which of sacreBLEU's tokenizers the text of a language becomes the tokens that BLEU counts."""

import logging
import re
from functools import cache
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU

_log = logging.getLogger(__name__)

DEFAULT = "13a"
"""Cuts at blanks and punctuation: right for languages that put blanks between words."""


class _Tokenizer(NamedTuple):
    """What cuts the text of some languages.

    Attributes:
        name: sacreBLEU's.
        languages: ISO 639 codes, of two letters and of three.
        packages: what it needs beyond sacreBLEU; empty for nothing.
    """

    name: str
    languages: tuple[str, ...]
    packages: str = ""


_CHARACTERS = "char"
"""Needs nothing: each character is a token."""

_TOKENIZERS = (
    _Tokenizer("zh", ("zh", "zho", "chi", "cmn", "yue")),
    _Tokenizer("ja-mecab", ("ja", "jpn"), packages="sacrebleu[ja]"),
    _Tokenizer("ko-mecab", ("ko", "kor"), packages="sacrebleu[ko]"),
    # sacreBLEU has none that needs no download: Thai, Lao, Khmer, Burmese, Tibetan, Dzongkha
    _Tokenizer(
        _CHARACTERS,
        ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur", "bo", "bod", "tib", "dz", "dzo"),
    ),
)
_BY_LANGUAGE = {language: tokenizer for tokenizer in _TOKENIZERS for language in tokenizer.languages}


@cache  # so that a missing package is said once
def bleu_tokenizer(language: str) -> str:
    """The name of sacreBLEU's tokenizer for a language, which every signature repeats (`tok:zh`).

    Japanese and Korean have tokenizers in packages of their own. Where these are not installed, BLEU counts
    characters, which is said in the log; scores of one and of the other are not compared, as their
    signatures differ.

    Args:
        language: ISO 639 code; empty for text of no language.
    """
    known = _BY_LANGUAGE.get(language)
    if known is None:
        return DEFAULT
    try:
        BLEU(tokenize=known.name)
    except (ImportError, RuntimeError, AssertionError) as error:  # it is absent, or has another dictionary
        reason = str(error).strip().partition("\n")[0]
        _log.warning(
            "BLEU of %s counts characters (tok:%s), because sacreBLEU's tokenizer %s cannot be used: %s "
            "To count words, `pip install '%s'` before the training, here and wherever it is compared.",
            *(language, _CHARACTERS, known.name, reason, known.packages),
        )
        return _CHARACTERS
    return known.name


def is_cut_at_blanks(language: str) -> bool:
    """Whether blanks stand between the words of a language, so that Moses' rules find them."""
    return language not in _BY_LANGUAGE


def signed_language(signature: str) -> str:
    """The language that a signature of `bleu_tok_lc` names; empty when it names none."""
    said = re.search(r"\b(?:moses|language):(\w+)", signature)
    return said[1] if said else ""
