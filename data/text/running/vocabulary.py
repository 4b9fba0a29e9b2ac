"""Vocabularies of running text, which keep its line breaks."""

from dataclasses import dataclass

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from data.text.vocabulary import Tokens, Vocabulary
from zoo.core.text import SPECIAL_TOKENS

_UNK = SPECIAL_TOKENS["unk"]

LINE_END = "<eos>"
"""The word at the end of every line, as the published files of WikiText call it."""


@dataclass(frozen=True, kw_only=True)
class EveryCharacter(Vocabulary):
    """Every character is a token: blanks, line breaks and all, as they stand.

    Attributes:
        minimum_count: a character must occur this often; others become `<unk>`.
    """

    special: tuple[str, ...] = ("pad", "unk")
    minimum_count: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.minimum_count < 1:
            raise ValueError(f"minimum_count must be at least 1, got {self.minimum_count}")

    def _normalizer(self) -> normalizers.Normalizer:
        return normalizers.NFC()

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        tokenizer = Tokenizer(models.WordLevel(unk_token=_UNK))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        tokenizer.decoder = decoders.Fuse()
        return tokenizer, trainers.WordLevelTrainer(
            vocab_size=2**31 - 1,
            min_frequency=self.minimum_count,
            special_tokens=self._special_tokens,
            show_progress=False,
        )


@dataclass(frozen=True, kw_only=True)
class WordsAndLines(Tokens):
    """What stands between blanks, and a word `<eos>` at the end of each line, as published figures count."""

    special: tuple[str, ...] = ("pad", "unk")

    def _normalizer(self) -> normalizers.Normalizer:
        return normalizers.Replace("\n", f" {LINE_END} ")

    def _cut(self, tokenizer: Tokenizer) -> None:
        super()._cut(tokenizer)
        # A blank before each word; a line begins without one.
        tokenizer.decoder = decoders.Sequence(
            [
                decoders.Replace(Regex(r"^(?=.)"), " "),
                decoders.Fuse(),
                decoders.Replace(f" {LINE_END}", "\n"),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class ByteBpe(Vocabulary):
    """Byte-pair encoding over bytes, as of GPT-2 (Radford et al. 2019, section 2.2): nothing is unknown.

    Attributes:
        size: number of tokens, special ones and the 256 bytes included.
    """

    special: tuple[str, ...] = ("pad", "unk")
    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < (least := 256 + len(self.special)):
            raise ValueError(f"size must be at least {least}, the bytes and special tokens, got {self.size}")

    def _normalizer(self) -> normalizers.Normalizer:
        return normalizers.NFC()

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        tokenizer = Tokenizer(models.BPE(unk_token=_UNK))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer, trainers.BpeTrainer(
            vocab_size=self.size,
            special_tokens=self._special_tokens,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
