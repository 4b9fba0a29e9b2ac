"""The vocabulary of BERT: pieces of words."""

from dataclasses import dataclass

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from data.text.vocabulary import Bpe
from zoo.core.text import SPECIAL_TOKENS

_CONTINUES = "##"
"""Begins the pieces that go on with a word."""


@dataclass(frozen=True, kw_only=True)
class WordPiece(Bpe):
    """Words in the longest pieces that are known, from the left (Wu et al. 2016; Devlin et al. 2019).

    Pieces are learned by merging the most frequent pairs, as those of `Bpe`. Punctuation stands alone.
    """

    special: tuple[str, ...] = ("pad", "unk", "cls", "sep", "mask")

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        tokenizer = Tokenizer(
            models.WordPiece(unk_token=SPECIAL_TOKENS["unk"], continuing_subword_prefix=_CONTINUES)
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(prefix=_CONTINUES)
        return tokenizer, trainers.WordPieceTrainer(
            vocab_size=self.size,
            special_tokens=self._special_tokens,
            continuing_subword_prefix=_CONTINUES,
            show_progress=False,
        )
