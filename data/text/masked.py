"""The data module of texts with masked tokens: what BERT is trained on (Devlin et al. 2019, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from data.core.batching import Layout, ShuffledBatches
from data.text.columns import Sentences, Text
from data.text.corpus import Corpus
from data.text.masked_rows import MaskedRows, documents_of
from data.text.text_data import TextData
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec, FieldSpec, LabelSpec
from zoo.tasks.masked_language_modelling.batch import MaskedBatch

if TYPE_CHECKING:
    from data.text.preparation import Prepared

FOLLOWS = LabelSpec(("random", "next"))
"""The classes of the second text of a pair."""


class MaskedData(TextData):
    """Documents, packed into sequences whose tokens are masked; see `TextData` and `MaskedRows`.

    The corpus has documents of sentences, or texts, in the column `text`; other columns are not read. A
    sequence has at most `maximum_length` tokens, CLS and SEP included, and belongs to one document.
    """

    batch_type = MaskedBatch
    needs: ClassVar = {"text": (Text, Sentences)}

    def __init__(
        self,
        *,
        corpus: Corpus,
        tokenizer: Vocabulary,
        next_sentence: bool,
        batch_tokens: int,
        maximum_length: int,
        seed: int,
        cache_dir: str | Path,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet; other arguments as for `TextData`.

        Args:
            corpus: see there.
            tokenizer: see there; with CLS, SEP and MASK.
            next_sentence: whether sequences are pairs of texts, of which half do not belong together.
            batch_tokens: see there; a batch has as many sequences of the maximum length as fit.
            maximum_length: see above.
            seed: see there; of masks and pairs, too.
            cache_dir: see there.
            num_workers: see there.
            worker_timeout: see there.
            spec: see there.

        Raises:
            ValueError: a number is out of range, the corpus lacks the text, or the vocabulary a token.
        """
        super().__init__(
            corpus=corpus,
            tokenizer=tokenizer,
            batch_tokens=batch_tokens,
            maximum_length=maximum_length,
            seed=seed,
            cache_dir=cache_dir,
            num_workers=num_workers,
            worker_timeout=worker_timeout,
            spec=spec,
        )
        if maximum_length < 8:
            raise ValueError(f"maximum_length must be at least 8 for texts with masks, got {maximum_length}")
        if maximum_length > batch_tokens:
            raise ValueError(
                f"batch_tokens must be at least maximum_length={maximum_length}, got {batch_tokens}"
            )
        if missing := {"cls", "sep", "mask"} - set(tokenizer.special):
            raise ValueError(
                f"tokenizer has no {', '.join(sorted(missing))} in special={list(tokenizer.special)};"
                " take data/tokenizer=wordpiece"
            )
        self.next_sentence = next_sentence

    def _fields(
        self, tokenizers: Mapping[str, str], classes: Mapping[str, tuple[str, ...]]
    ) -> dict[str, FieldSpec]:
        fields: dict[str, FieldSpec] = {"text": super()._fields(tokenizers, classes)["text"]}
        return fields | ({"follows": FOLLOWS} if self.next_sentence else {})

    def _rows(self, split: str, prepared: Prepared, spec: DataSpec) -> Any:
        """See `TextData`."""
        rows = MaskedRows(
            documents_of(prepared.splits[split], spec.text("text")),
            spec.text("text"),
            split=split,
            seed=self.seed,
            pairs=self.next_sentence,
        )
        if not len(rows):
            raise ValueError(f"split {split} of {self.corpus.name} has no text of two tokens or more")
        self.report[split] = {"documents": len(prepared.splits[split]), self.noun: len(rows)}
        return rows

    def _batches(self, split: str, seed: int | None, layout: Layout) -> Any:
        rows: Any = self._splits[split]
        size = self.batch_tokens // self.maximum_length
        return ShuffledBatches(len(rows), size, sizes=rows.mask_counts, seed=seed, layout=layout)

    @staticmethod
    def collate(rows: Any) -> MaskedBatch:
        """Not needed: `MaskedRows` makes whole batches."""
        raise NotImplementedError
