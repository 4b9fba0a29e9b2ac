"""Builders of vocabularies: tokenizers trained on the train split alone."""

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from zoo.core.text import BLANK, SPECIAL_TOKENS, normalizer

_log = logging.getLogger(__name__)

_UNK = SPECIAL_TOKENS["unk"]

MUCH_UNKNOWN = 0.2
"""Share of the tokens of a split. Of more that a vocabulary does not know, it is warned."""

_ENGLISH = "(?i)" + "|".join(
    [
        r"\w+(?=n't\b)",  # do of don't
        r"n't\b",
        r"'(?:s|re|ve|m|ll|d)\b",
        r"\w+(?:[-.,:&/]\w+)*",  # also well-made, U.S, 3.5, 10:30, AT&T
        r"([^\w\s])\1*",  # also ..., --, !!!
    ]
)
"""Tokens of English text."""

_LONGEST_WORD = 1000
"""Characters. What is longer is no word, and learning its pieces takes time that grows with its square."""


@dataclass(frozen=True, kw_only=True)
class Vocabulary(ABC):
    """How text is cut into tokens.

    Attributes:
        joint: one vocabulary for all texts of an item instead of one for each.
        special: names of the special tokens, in the order of their ids: pad, unk and some of bos, eos, cls,
            sep and mask. A sentence begins with CLS and ends in EOS, or else SEP, where these are among them.
        lowercase: whether case is lost.
        whole_words: True where tokens are never pieces of words, so that a word can be unknown.
    """

    whole_words: ClassVar[bool] = False

    joint: bool = False
    special: tuple[str, ...] = ("pad", "unk", "bos", "eos")
    lowercase: bool = False

    def __post_init__(self) -> None:
        special = list(self.special)
        known = set(special) <= SPECIAL_TOKENS.keys() and len(set(special)) == len(special)
        if not known or not {"pad", "unk"} <= set(special):
            raise ValueError(
                f"special must name pad, unk and some of {', '.join(list(SPECIAL_TOKENS)[2:])}, got {special}"
            )

    def build(self, *texts: Iterable[str]) -> tuple[str, ...]:
        """Trains on the sentences of each text.

        Returns:
            the tokenizers' JSON, one for each text; the same one for all when they are joint.
        """
        if self.joint:
            return (self.train(chain.from_iterable(texts)),) * len(texts)
        return tuple(map(self.train, texts))

    def train(self, texts: Iterable[str]) -> str:
        """Trains on sentences of one text; gives the tokenizer's JSON.

        Raises:
            ValueError: no token was found.
        """
        tokenizer, trainer = self._untrained()
        tokenizer.normalizer = self._normalizer()
        if self.lowercase:
            tokenizer.normalizer = normalizers.Sequence([self._normalizer(), normalizers.Lowercase()])
        around = ["cls"] if "cls" in self.special else []
        around += [name for name in ("eos", "sep") if name in self.special][:1]
        if around:
            template = [SPECIAL_TOKENS[name] for name in around]
            template.insert(around[0] == "cls", "$A")
            tokenizer.post_processor = processors.TemplateProcessing(
                single=" ".join(template),
                special_tokens=[(SPECIAL_TOKENS[name], self.special.index(name)) for name in around],
            )
        tokenizer.train_from_iterator(texts, trainer)
        self._check_found(tokenizer.get_vocab_size())
        return str(tokenizer.to_str())

    def placeholder(self, word: str) -> str:
        """The JSON of a tokenizer that knows one word, for checks before any text is read."""
        words = [*self._special_tokens, word]
        model = models.WordLevel({token: number for number, token in enumerate(words)}, unk_token=_UNK)
        return str(Tokenizer(model).to_str())

    def _check_found(self, size: int) -> None:
        """Refuses a vocabulary of special tokens alone."""
        if size <= len(self.special):
            raise ValueError(
                f"{self} finds no token in the texts to train on, so every word would be unknown:"
                " lower data.tokenizer.minimum_count, or give more text"
            )

    def _check_size(self, size: int) -> None:
        """Refuses a limit that leaves no room for words."""
        if size <= len(self.special):
            raise ValueError(f"size must exceed the {len(self.special)} special tokens, got {size}")

    def _normalizer(self) -> normalizers.Normalizer:
        """What is done to text first."""
        return normalizer()

    @property
    def _special_tokens(self) -> list[str]:
        return [SPECIAL_TOKENS[name] for name in self.special]

    @abstractmethod
    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        """The tokenizer without its vocabulary, and what learns that."""


def _cut_into_words(tokenizer: Tokenizer) -> None:
    """Words carry the blank before them, punctuation stands alone: joining the pieces gives the text."""
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(replacement=BLANK), pre_tokenizers.Punctuation()]
    )
    tokenizer.decoder = decoders.Metaspace(replacement=BLANK)


@dataclass(frozen=True, kw_only=True)
class Bpe(Vocabulary):
    """Byte-pair encoding (Sennrich et al. 2016): frequent words whole, rare ones in pieces.

    Attributes:
        size: number of tokens, special ones included; of all texts together when joint.
    """

    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_size(self.size)

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        tokenizer = Tokenizer(models.BPE(unk_token=_UNK))
        _cut_into_words(tokenizer)
        return tokenizer, trainers.BpeTrainer(
            vocab_size=self.size, special_tokens=self._special_tokens, show_progress=False
        )

    def train(self, texts: Iterable[str]) -> str:
        """See `Vocabulary`; words too long to be any are left out."""
        return super().train(_without_endless_words(texts))

    def _check_found(self, size: int) -> None:
        """Says, too, where nothing longer than a character fits."""
        super()._check_found(size)
        if size > self.size:
            _log.warning(
                "data.tokenizer.size=%d is too small for the characters of the texts: the vocabulary has %d"
                " tokens, all of these and no longer ones",
                *(self.size, size),
            )


def _without_endless_words(texts: Iterable[str]) -> Iterator[str]:
    """The texts without words that are too long to be any, which are counted in the log."""
    endless = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")
    total = 0
    for text in texts:
        count = 0
        if len(text) > _LONGEST_WORD:
            text, count = endless.subn(" ", text)
        total += count
        yield text
    if total:
        _log.warning(
            "nothing is learned from %d words of more than %d characters: are all line breaks there?",
            *(total, _LONGEST_WORD),
        )


@dataclass(frozen=True, kw_only=True)
class Words(Vocabulary):
    """Whole words; what is too rare becomes `<unk>`.

    Attributes:
        size: at most this many tokens, special ones included; None keeps all.
        minimum_count: a word must occur this often.
    """

    whole_words: ClassVar[bool] = True

    size: int | None = None
    minimum_count: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            self._check_size(self.size)
        if self.minimum_count < 1:
            raise ValueError(f"minimum_count must be at least 1, got {self.minimum_count}")

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        tokenizer = Tokenizer(models.WordLevel(unk_token=_UNK))
        self._cut(tokenizer)
        return tokenizer, trainers.WordLevelTrainer(
            vocab_size=self.size or 2**31 - 1,
            min_frequency=self.minimum_count,
            special_tokens=self._special_tokens,
            show_progress=False,
        )

    def _cut(self, tokenizer: Tokenizer) -> None:
        """Says what a word is."""
        _cut_into_words(tokenizer)


@dataclass(frozen=True, kw_only=True)
class Tokens(Words):
    """What stands between blanks, for texts that others have cut: "do n't", or quotes as `` and ''."""

    def train(self, texts: Iterable[str]) -> str:
        """See `Vocabulary`; the word `<unk>` of published files is no word beside the token `<unk>`."""
        special = re.compile("|".join(map(re.escape, self._special_tokens)), re.IGNORECASE)
        return super().train(special.sub(" ", text) for text in texts)

    def _cut(self, tokenizer: Tokenizer) -> None:
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()


@dataclass(frozen=True, kw_only=True)
class EnglishWords(Words):
    """Words of raw English, nearly as the Penn Treebank cuts them: "do" "n't", "film" "'s", "." alone.

    A word is the same token wherever it stands, so text is not put together again as it was.
    """

    def _cut(self, tokenizer: Tokenizer) -> None:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(_ENGLISH), "isolated")]
        )


@dataclass(frozen=True, kw_only=True)
class Characters(Vocabulary):
    """Every character is a token, the blank too."""

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        tokenizer = Tokenizer(models.WordLevel(unk_token=_UNK))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(replacement=BLANK, prepend_scheme="never", split=False),
                pre_tokenizers.Split(Regex("."), "isolated"),
            ]
        )
        tokenizer.decoder = decoders.Metaspace(replacement=BLANK, prepend_scheme="never")
        return tokenizer, trainers.WordLevelTrainer(
            vocab_size=2**31 - 1, special_tokens=self._special_tokens, show_progress=False
        )
