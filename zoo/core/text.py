"""Text <-> ids as a `TextSpec` describes it: shared by the data modules and by prediction."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from unicodedata import category

import torch
from tokenizers import Regex, Tokenizer, normalizers

from zoo.core.batch import Padded
from zoo.core.spec import TextSpec

SPECIAL_TOKENS = {
    **{"pad": "<pad>", "unk": "<unk>", "bos": "<s>", "eos": "</s>"},
    **{"cls": "<cls>", "sep": "<sep>", "mask": "<mask>"},
}
"""How tokenizers write the special tokens; which of them a text has, its `TextSpec` says."""

WRITTEN_MASK = re.compile(r"\[MASK\]|<mask>")
"""How a mask is written in a text."""

BLANK = "▁"
"""Stands for a blank inside tokens, so that the text can be put together again."""


def normalizer() -> normalizers.Normalizer:
    """What every tokenizer does to text first: NFC, each run of white space one blank, none at the ends.

    The blank's own mark in raw text becomes an underscore: otherwise it would come back as a blank.
    """
    return normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(BLANK, "_"),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )


_NORMALIZER = normalizer()


def normalise(text: str) -> str:
    """The text as a perfect round trip through any tokenizer gives it back."""
    return str(_NORMALIZER.normalize_str(text))


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: white space, control and format characters (a zero-width space)."""
    return all(sign.isspace() or category(sign) in ("Cc", "Cf") for sign in text)


def check_language(code: str) -> None:
    """Refuses what cannot be a language's code.

    Raises:
        ValueError: it is not two or three small letters, as all codes of ISO 639 are.
    """
    if not re.fullmatch("[a-z]{2,3}", code):
        raise ValueError(f"a language is named by its ISO 639 code, such as de for German; got {code!r}")


def text_spec(
    tokenizer: str, *, maximum_length: int = 0, language: str = "", maximum_sentences: int = 1
) -> TextSpec:
    """The specification of a text whose tokenizer is given as JSON, which also says its special tokens."""
    read = Tokenizer.from_str(tokenizer)
    found = {name: read.token_to_id(token) for name, token in SPECIAL_TOKENS.items()}
    return TextSpec(
        tokenizer=tokenizer,
        size=read.get_vocab_size(),
        maximum_length=maximum_length,
        language=language,
        special={name: number for name, number in found.items() if number is not None},
        maximum_sentences=maximum_sentences,
    )


class TextCodec:
    """Encodes and decodes text."""

    def __init__(self, spec: TextSpec) -> None:
        """Reads the tokenizer.

        Raises:
            ValueError: the specification's tokenizer is not a readable `tokenizers` JSON.
        """
        self.spec = spec
        try:
            self._tokenizer = Tokenizer.from_str(spec.tokenizer)
        except Exception as error:  # the library raises bare exceptions
            raise ValueError(f"the vocabulary cannot be read as a tokenizer: {error}") from error
        size, found = self._tokenizer.get_vocab_size(), self._tokenizer.get_vocab().values()
        if size != spec.size or max(found, default=-1) >= size:
            raise ValueError(
                f"the vocabulary has {size} tokens with ids up to {max(found, default=-1)}, not {spec.size}"
            )
        for name, wanted in spec.special.items():
            token = SPECIAL_TOKENS.get(name, name)
            if (number := self._tokenizer.token_to_id(token)) != wanted:
                raise ValueError(f"{name}={wanted}, but {token} is {number} in the vocabulary")
        # "</s>" inside a sentence is text, not the end of it.
        self._tokenizer.encode_special_tokens = True

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, whole: after CLS and before EOS, or else SEP, where it has these; without BOS."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def encode_beginning(self, text: str) -> tuple[list[int], int]:
        """Ids of a text, cut to the longest sentence that a model reads.

        Returns:
            The ids, at most `maximum_length` and the last one EOS all the same, and how many were left out.
        """
        (ids,) = self.encode([text])
        left_out = max(0, len(ids) - self.spec.maximum_length)
        if left_out:
            ids = ids[: self.spec.maximum_length]
            ids[-1] = ids[-1] if self.spec.end is None else self.spec.end
        return ids, left_out

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids: special tokens skipped, words put together again."""
        return str(self._tokenizer.decode([int(i) for i in ids], skip_special_tokens=True))

    def decode_with(self, ids: Sequence[int], words: Mapping[int, str]) -> str:
        """The text of the ids with words at some positions instead of what stands there.

        Args:
            ids: as for `decode`.
            words: by position in `ids`, as `words` gives them.
        """
        special = set(self.spec.special.values())
        pieces = [
            words.get(position) or self._tokenizer.id_to_token(int(i))
            for position, i in enumerate(ids)
            if position in words or i not in special
        ]
        return str(self._tokenizer.decoder.decode(pieces))

    def words(self, text: str) -> list[str]:
        """The word that each token of a text is, or is a piece of, also where the token is `<unk>`.

        Words are normalised and begin with `BLANK` where a blank, or nothing, stands before them.

        Returns:
            as many as `encode` gives ids for the text; empty for EOS.
        """
        text = normalise(text)  # first: the library places the words of other text wrongly
        words = [word for word, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(text)]
        numbers = self._tokenizer.encode(text).word_ids
        return ["" if number is None else words[number] for number in numbers]

    def words_in(self, text: str) -> tuple[list[str], list[int | None]]:
        """The words of a text as they stand in it, after a blank where one is before them.

        Returns:
            The words, and for each token that `encode` gives the number of its word; None for EOS.
        """
        text = normalise(text)  # first: the library places the words of other text wrongly
        words, last = [], 0
        for _, (_, end) in self._tokenizer.pre_tokenizer.pre_tokenize_str(text):
            words.append(text[last:end])  # some tokenizers leave out blanks, which lie between
            last = end
        return words, list(self._tokenizer.encode(text).word_ids)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """One readable name for each id, for the axes of figures: `</s>` for EOS, `␣` for a blank alone."""
        return [self._names[int(i)] for i in ids]

    def tokens_of(self, text: str, ids: Sequence[int]) -> list[str]:
        """As `tokens`, of a text or its beginning; `<unk>` is shown as the word that it stands for.

        Args:
            text: the raw text.
            ids: what `encode_beginning` makes of it.
        """
        names, unknown = self.tokens(ids), self.spec.unk
        if unknown in ids:
            words = self.words(text)  # of a text that is cut there are more
            named = zip(ids, words, names, strict=False)
            names = [word.lstrip(BLANK) or name if one == unknown else name for one, word, name in named]
        return names

    def pad(self, rows: Sequence[Sequence[int]]) -> Padded:
        """Makes one batch of rows of ids.

        Args:
            rows: B rows of unequal length.

        Returns:
            ids `(B, T)` and lengths `(B,)`, T the longest row's length.
        """
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        ids = torch.full((len(rows), max(map(len, rows), default=0)), self.spec.pad, dtype=torch.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row, dtype=torch.int64)
        return Padded(ids, lengths)

    @cached_property
    def _names(self) -> list[str]:
        tokens = (str(self._tokenizer.id_to_token(i)) for i in range(self._tokenizer.get_vocab_size()))
        return [re.sub(f"^{BLANK}(?=.)", "", token).replace(BLANK, "␣") for token in tokens]
