"""The data module of texts whose words may begin with vectors that somebody else has learned."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from data.core.paths import did_you_mean
from data.text.columns import Sentences, Text
from data.text.corpus import Corpus
from data.text.text_data import TextData
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec
from zoo.core.word_vectors import read_vectors, vector_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from datasets import Dataset as Table
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)


class VectorTextData(TextData):
    """`TextData` with a vector for each token of its vocabulary, read from a file of word vectors.

    Attributes:
        tune_vectors: whether vectors learn with the rest.
    """

    def __init__(
        self,
        *,
        corpus: Corpus,
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
        """Reads nothing yet; other arguments as for `TextData`.

        Args:
            corpus: see there.
            tokenizer: see there.
            batch_tokens: see there.
            maximum_length: see there.
            seed: see there; also of the vectors of words that the file lacks.
            cache_dir: see there.
            vectors: a file of word vectors, see `zoo.core.word_vectors`; None: all vectors are drawn by the
                model.
            tune_vectors: whether those of the file learn with the rest.
            num_workers: see there.
            worker_timeout: see there.
            spec: see there.

        Raises:
            ValueError: see there; or several texts have vocabularies of their own, where one has vectors.
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
        texts = [name for name, one in corpus.columns.items() if isinstance(one, Text | Sentences)]
        if vectors is not None and len(texts) > 1 and not tokenizer.joint:
            raise ValueError(
                f"vectors need one vocabulary for {' and '.join(texts)}: data.tokenizer.joint=true"
            )
        if vectors is None and not tune_vectors:
            raise ValueError("tune_vectors=false needs vectors: data.vectors=FILE")
        self.tune_vectors = tune_vectors
        self._file = None if vectors is None else Path(vectors).expanduser()
        self._vectors: Tensor | None = None
        self._texts = texts

    def check_training_files(self) -> None:
        """Sees before a training that there are vectors; a test or a resumed training needs none.

        Raises:
            FileNotFoundError: the file is missing.
            ValueError: it begins as no file of vectors does.
        """
        if self._file is None:
            return
        if not self._file.is_file():
            what = "is no file" if self._file.exists() else f"does not exist{did_you_mean(self._file)}"
            raise FileNotFoundError(f"vectors: {self._file} {what}")
        vector_size(self._file)

    @property
    def vectors(self) -> Tensor | None:
        """`(V, D)` float32, the vector of each token, read when it is first asked for; None without a file.

        A word that is not there as it is written has the vector of its small letters. Padding is zeros. Of
        words without a vector each number is drawn evenly from an interval around the mean, so wide that the
        numbers vary as those of the file do (Kim 2014, section 4.3).

        Raises:
            FileNotFoundError: the file is missing.
            ValueError: it cannot be used; names the line.
        """
        if self._file is not None and self._vectors is None:
            self._vectors = self._read(self._file)
        return self._vectors

    def _read(self, path: Path) -> Tensor:
        spec = self.spec.text(self._texts[0])
        special = set(spec.special.values())
        tokens = TextCodec(spec).tokens(range(spec.size))
        words = ["" if number in special else token for number, token in enumerate(tokens)]
        read = read_vectors(path, {form for word in words for form in (word, word.lower())})
        found = [read.vectors.get(word, read.vectors.get(word.lower())) for word in words]
        known = np.array([one is not None for one in found])
        if not known.any():
            raise ValueError(f"{path} has a vector for none of the {len(words)} tokens of {self.corpus.name}")
        filled = np.zeros((len(words), read.size), np.float32)
        filled[known] = [one for one in found if one is not None]
        mean, width = filled[known].mean(0), 3**0.5 * filled[known].std(0)
        drawn = np.random.default_rng(self.seed).uniform(mean - width, mean + width, filled.shape)
        filled[~known] = drawn[~known]
        filled[spec.pad] = 0
        self._report_coverage(path, known, len(words) - len(special))
        return torch.from_numpy(filled)

    def _report_coverage(self, path: Path, known: NDArray[np.bool_], words: int) -> None:
        """Says how many words, and which share of the tokens of each split, have a vector."""
        for split, table in self._prepare().splits.items():
            shares = [known[ids] for name in self._texts for ids in _ids(table, name)]
            self.report[split]["with_vector"] = float(np.concatenate(shares).mean())
        _log.info(
            "%s has vectors for %d of %d words, and so of %s",
            *(path, known.sum(), words),
            ", ".join(
                f"{self.report[split]['with_vector']:.1%} of the tokens of {split}" for split in self.report
            ),
        )


def _ids(table: Table, name: str) -> Iterator[NDArray[np.int64]]:
    """All token ids of a text or document, in parts."""
    for values in table.data.column(f"{name}_ids").chunks:
        while hasattr(values, "flatten") and hasattr(values.type, "value_type"):
            values = values.flatten()
        yield values.to_numpy()
