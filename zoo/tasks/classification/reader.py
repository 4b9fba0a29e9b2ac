"""From raw texts to what a network reads, and from its weights back to the words of the texts."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from zoo.core.batch import Documents, Padded, grouped_documents
from zoo.core.sentences import split_sentences
from zoo.core.spec import TextSpec
from zoo.core.text import TextCodec, is_blank
from zoo.figures import ShadedSentence, ShadedText

Raw = str | Sequence[str]
"""A text, or a document as its sentences."""


class Encoded(NamedTuple):
    """A text as a network reads it.

    Attributes:
        sentences: the raw sentences; of a text, itself alone.
        ids: of each of them.
        unread: how many tokens at ends the network does not read, because they are too many.
    """

    sentences: list[str]
    ids: list[list[int]]
    unread: int

    @property
    def size(self) -> int:
        """Tokens that are read."""
        return sum(map(len, self.ids))


class Reader:
    """Reads raw texts, or documents where the specification has them.

    Args:
        spec: of the text.
    """

    def __init__(self, spec: TextSpec) -> None:
        self.spec, self.codec = spec, TextCodec(spec)
        self.reads_documents = spec.maximum_sentences > 1

    def encode(self, raw: Raw) -> Encoded:
        """The ids of a text that is not blank; a document that is given as a text is cut into sentences."""
        if not self.reads_documents:
            raw = [raw if isinstance(raw, str) else " ".join(raw)]
        elif isinstance(raw, str):
            raw = split_sentences(raw)
        sentences = [sentence for sentence in raw if not is_blank(sentence)]
        kept, left = sentences[: self.spec.maximum_sentences], sentences[self.spec.maximum_sentences :]
        read = [self.codec.encode_beginning(sentence) for sentence in kept]
        unread = sum(beyond for _, beyond in read) + sum(map(len, self.codec.encode(left)))
        return Encoded(kept, [ids for ids, _ in read], unread)

    def batch(self, texts: Sequence[Encoded]) -> Padded | Documents:
        """What a network reads."""
        if not self.reads_documents:
            return self.codec.pad([text.ids[0] for text in texts])
        rows = [ids for text in texts for ids in text.ids]
        return grouped_documents(
            [len(text.ids) for text in texts],
            [len(ids) for ids in rows],
            lambda group: self.codec.pad([rows[number] for number in group]),
        )

    def shaded(self, text: Encoded, words: Tensor | None, sentences: Tensor | None) -> ShadedText:
        """The words of a text with their weights; pieces of one word together.

        Args:
            text: as it was read.
            words: `(T,)`, or of a document `(L, T)`; None without attention over words.
            sentences: `(L,)`; None without attention over sentences.
        """
        rows = None if words is None else words.reshape(-1, words.shape[-1]).tolist()
        weights = None if sentences is None else sentences.tolist()
        return ShadedText(
            [
                self._sentence(
                    sentence,
                    ids,
                    None if rows is None else rows[number],
                    None if weights is None else weights[number],
                )
                for number, (sentence, ids) in enumerate(zip(text.sentences, text.ids, strict=True))
            ]
        )

    def _sentence(
        self, sentence: str, ids: list[int], weights: list[float] | None, weight: float | None
    ) -> ShadedSentence:
        words, numbers = self.codec.words_in(sentence)
        # Of a text that was cut the last token may be EOS, in place of a word.
        numbers = [
            None if token == self.spec.end else number
            for token, number in zip(ids, numbers[: len(ids)], strict=True)
        ]
        shown: list[str] = []
        sums: list[float] = []
        before: int | None = None
        for place, number in enumerate(numbers):
            if number is None or number != before:
                special = f" {self.codec.tokens([ids[place]])[0]}"
                shown.append(special if number is None else words[number])
                sums.append(0.0)
            sums[-1] += weights[place] if weights is not None else 0.0
            before = number
        return ShadedSentence(shown, None if weights is None else sums, weight)
