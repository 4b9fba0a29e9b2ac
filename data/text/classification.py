"""The data module of texts that are classified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from data.core.data_module import require_at_least
from data.text.columns import Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.labelled.folds import FOLDS, FoldedCorpus
from data.text.rows import RowBatch
from data.text.vector_data import VectorTextData
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec
from zoo.tasks.classification.batch import ClassificationBatch

if TYPE_CHECKING:
    from data.text.preparation import Prepared


class ClassificationData(VectorTextData):
    """Texts, or documents of sentences, with a label each; see `VectorTextData`. Longer ones lose their end.

    Attributes:
        fold: the fold that is tested on, of a corpus that is cross-validated; else None.

    After `setup`:

    Attributes:
        baselines: for each test split, `majority_accuracy` in [0, 1]: always answering the most frequent
            training label.
    """

    batch_type = ClassificationBatch
    needs: ClassVar = {"text": (Text, Sentences), "label": (Label,)}

    def __init__(
        self,
        *,
        corpus: Corpus,
        tokenizer: Vocabulary,
        batch_tokens: int,
        maximum_length: int,
        seed: int,
        cache_dir: str | Path,
        fold: int | None = None,
        maximum_sentences: int = 50,
        vectors: str | None = None,
        tune_vectors: bool = True,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet; other arguments as for `VectorTextData`.

        Args:
            corpus: see there.
            tokenizer: see there.
            batch_tokens: see there.
            maximum_length: see there; of documents, tokens of a sentence.
            seed: see there.
            cache_dir: see there.
            fold: which fold to test on, for a corpus that is cross-validated.
            maximum_sentences: of a document.
            vectors: see there.
            tune_vectors: see there.
            num_workers: see there.
            worker_timeout: see there.
            spec: see there.

        Raises:
            ValueError: a number is too small, the corpus lacks a column, or the fold is none of its own.
        """
        if isinstance(corpus, FoldedCorpus):
            corpus.choose(fold)
        elif fold is not None:
            raise ValueError(f"fold must be null: {corpus.name} has a test split of its own, got {fold}")
        require_at_least(("maximum_sentences", maximum_sentences, 1))
        super().__init__(
            corpus=corpus,
            tokenizer=tokenizer,
            batch_tokens=batch_tokens,
            maximum_length=maximum_length,
            seed=seed,
            cache_dir=cache_dir,
            vectors=vectors,
            tune_vectors=tune_vectors,
            num_workers=num_workers,
            worker_timeout=worker_timeout,
            spec=spec,
        )
        self.fold, self.maximum_sentences = fold, maximum_sentences
        self.folds = FOLDS if isinstance(corpus, FoldedCorpus) else None

    @staticmethod
    def collate(rows: RowBatch) -> ClassificationBatch:
        """The batch."""
        documents = rows.documents.get("text")
        return ClassificationBatch(
            index=rows.index,
            text=rows.text["text"] if documents is None else documents,
            labels=rows.values["label"],
            raw=rows.raw["text"],
            place=rows.values.get("place"),
            loss_weight=rows.loss_weight,
        )

    def _baselines(self, prepared: Prepared) -> dict[str, dict[str, float]]:
        shares = prepared.majority["label"]
        return {split: {"majority_accuracy": share} for split, share in shares.items()}
