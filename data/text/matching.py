"""The data module of pairs of texts that are matched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from data.text.columns import Degree, Label, Text
from data.text.corpus import Corpus
from data.text.rows import RowBatch
from data.text.vector_data import VectorTextData
from data.text.vocabulary import Vocabulary
from zoo.core.overlap import shared_words, words_of
from zoo.core.spec import DataSpec, FieldSpec, OverlapSpec
from zoo.tasks.matching.batch import MatchingBatch

if TYPE_CHECKING:
    from datasets import Dataset as Table

    from data.text.preparation import Prepared


class MatchingData(VectorTextData):
    """Pairs of texts as token batches; see `TextData`. Longer texts than the maximum lose their end.

    The corpus has the texts `left` and `right`, and either a `label` or a `degree`; where it has a `group`,
    the pairs of a group are ranked, and an `alignment` says which tokens belong together.

    After `setup`:

    Attributes:
        baselines: for each test split, `majority_accuracy` in [0, 1]: always answering the most frequent
            class of train; of degrees `mean_mse`: always the mean of train.
    """

    batch_type = MatchingBatch
    needs: ClassVar = {"left": (Text,), "right": (Text,)}
    noun = "pairs"

    def __init__(
        self,
        *,
        corpus: Corpus,
        overlap: bool = False,
        tokenizer: Vocabulary,
        batch_tokens: int,
        maximum_length: int,
        seed: int,
        cache_dir: str | Path,
        vectors: str | None = None,
        tune_vectors: bool = True,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet.

        Args:
            corpus: the pairs.
            overlap: whether to count the words that both texts have, see `zoo.core.overlap`.
            tokenizer: see `VectorTextData`, as for the others.
            batch_tokens: see there.
            maximum_length: see there.
            seed: see there.
            cache_dir: see there.
            vectors: see there.
            tune_vectors: see there.
            num_workers: see there.
            worker_timeout: see there.
            spec: see there.

        Raises:
            ValueError: a number is too small, or the corpus lacks a column.
        """
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
        self.overlap = overlap

    @staticmethod
    def collate(rows: RowBatch) -> MatchingBatch:
        """The batch."""
        left, right = rows.raw["left"], rows.raw["right"]
        overlap = None
        if isinstance(counted := rows.spec.fields.get("overlap"), OverlapSpec):
            overlap = torch.tensor([shared_words(*pair, counted) for pair in zip(left, right, strict=True)])
        return MatchingBatch(
            index=rows.index,
            left=rows.text["left"],
            right=rows.text["right"],
            answers=rows.values["degree"] if "degree" in rows.values else rows.values["label"],
            left_text=left,
            right_text=right,
            group=rows.values.get("group"),
            overlap=overlap,
            alignment=rows.values.get("alignment"),
            loss_weight=rows.loss_weight,
        )

    def setup(self, stage: str | None = None) -> None:
        """See `TextData`.

        Raises:
            ValueError: see there; or answers of val or of a test split are such that no metric can rank them.
        """
        known = self._spec is not None
        super().setup(stage)
        if not known:
            for split, table in self._prepare().splits.items():
                if split != "train":
                    _require_differences(f"{self.corpus.name}, split {split}", table, self.spec)

    def _check_columns(self, corpus: Corpus) -> None:
        super()._check_columns(corpus)
        kinds = {"label": Label, "degree": Degree}
        asked = [name for name, kind in kinds.items() if isinstance(corpus.columns.get(name), kind)]
        if len(asked) != 1:
            raise ValueError(
                f"corpus {corpus.name} must have one column that pairs are asked for, label (Label) or degree"
                f" (Degree); it has {' and '.join(asked) or 'neither'}"
            )

    def _fields(
        self, tokenizers: Mapping[str, str], classes: Mapping[str, tuple[str, ...]]
    ) -> dict[str, FieldSpec]:
        fields = super()._fields(tokenizers, classes)
        if not self.overlap:
            return fields
        if self._given is not None and "overlap" in self._given.fields:
            weights = self._given.fields["overlap"]
        else:
            weights = OverlapSpec({} if self._prepared is None else word_weights(_texts(self._prepared)))
        return fields | {"overlap": weights}

    def _baselines(self, prepared: Prepared) -> dict[str, dict[str, float]]:
        if "label" in prepared.majority:
            shares = prepared.majority["label"]
            return {split: {"majority_accuracy": share} for split, share in shares.items()}
        tests = [split for split in prepared.splits if split.startswith("test")]
        degrees = {
            split: prepared.splits[split].with_format("numpy")["degree"][:] for split in ("train", *tests)
        }
        mean = degrees["train"].mean()
        return {split: {"mean_mse": float(((degrees[split] - mean) ** 2).mean())} for split in tests}


def _require_differences(where: str, table: Table, spec: DataSpec) -> None:
    """Refuses pairs in groups of which none is right, and degrees that are all the same.

    Args:
        where: corpus and split, for messages.
        table: the pairs.
        spec: describes them.

    Raises:
        ValueError: says what is missing.
    """
    answers = table.data.column("degree" if "degree" in spec.fields else "label_ids").unique().to_pylist()
    if "degree" in spec.fields and len(answers) == 1:
        raise ValueError(f"{where}: all pairs have the degree {answers[0]:g}, so nothing correlates with it")
    if "group" in table.column_names and "label" in spec.fields:
        classes = spec.label().classes
        if len(classes) - 1 not in answers:
            raise ValueError(
                f"{where}: no pair has the label {classes[-1]!r}, which is the right one, so there is nothing"
                " to rank; give others, or leave data.corpus.group out"
            )


def word_weights(texts: Iterator[str]) -> dict[str, float]:
    """Weights of words for `OverlapSpec`: `log(N / n) / log N` of a word in n of N texts; of stop words 0.

    Words of one text alone, whose weight is 1, are left out.
    """
    distinct = set(texts)
    counts = Counter(word for text in distinct for word in words_of(text))
    whole = math.log(max(len(distinct), 2))
    weights = {word: 1 - math.log(count) / whole for word, count in sorted(counts.items()) if count > 1}
    return weights | dict.fromkeys(sorted(ENGLISH_STOP_WORDS), 0.0)


def _texts(prepared: Prepared) -> Iterator[str]:
    """All texts of train."""
    for rows in prepared.splits["train"].select_columns(["left", "right"]).iter(10_000):
        yield from rows["left"]
        yield from rows["right"]
