"""Tatoeba's English and German sentence pairs, in the selection that manythings.org publishes."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from data.core.paths import packed_or_not
from data.core.splitting import position, sentence_key
from data.text.corpus import Pair, PairCorpus, two_languages
from data.text.text_files import content_hash, read_tsv
from zoo.core.text import normalise

_log = logging.getLogger(__name__)

_COLUMNS = (2, 3)
"""English, German, and in newer files whose sentences they are."""


@dataclass(kw_only=True)
class Tatoeba(PairCorpus):
    """Short everyday sentences, one English sentence often with several German ones (169,197 pairs in 2018).

    A split is a set of English sentences: a hash of each (case, punctuation and white space left out) decides
    where it goes, so no English sentence is in two splits, and neither the order of the file nor later
    additions to it move one. Both directions have the same splits. What is left out is counted in the log:

    - pairs that stand in the file twice;
    - in `val` and `test`, all translations of a sentence but one, chosen by a hash: BLEU there has a single
      reference, and sentences that were translated often do not count more. Nor does a German sentence stand
      in them twice;
    - from `train`, pairs whose German sentence is in `val` or `test`, beside whichever English one: from
      German to English it would be a test sentence seen in training.

    Attributes:
        data_dir: the folder that holds `tatoeba_en_de/deu.txt.gz`, or `deu.txt`.
        source: language to translate from.
        target: language to translate to.
        held_out: share of the English sentences in `val`, and as many in `test`; above 0 and below 0.5.
    """

    data_dir: str | Path
    source: str = "en"
    target: str = "de"
    held_out: float = 0.01
    name: str = field(default="tatoeba", init=False)

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            if getattr(self, name) not in ("en", "de"):
                raise ValueError(f"{name} must be en or de, got {getattr(self, name)}")
        self.languages = two_languages(self.source, self.target)
        if not 0 < self.held_out < 0.5:
            raise ValueError(f"held_out must be above 0 and below 0.5, got {self.held_out}")

    def fingerprint(self) -> str:
        """The parameters that split, and the hash of the file."""
        return f"{self.source} {self.target} {self.held_out} {content_hash([self._file()])}"

    def check_files(self) -> None:
        """See `Corpus`."""
        self._file()

    def load(self) -> dict[str, list[Pair]]:
        """Reads and splits the file.

        Raises:
            FileNotFoundError: it is missing.
            ValueError: it cannot be used; names the line.
        """
        pairs = list(read_tsv(self._file(), _COLUMNS))
        distinct = list(
            {(normalise(english), normalise(german)): (english, german) for english, german in pairs}.values()
        )
        positions = [position(english) for english, _ in distinct]
        held_out = sorted(
            (place, position("\t".join(pair)), pair)
            for place, pair in zip(positions, distinct, strict=True)
            if place < 2 * self.held_out
        )
        single = _once(held_out)
        german = {sentence_key(pair[1]) for _, _, pair in single}
        training = [
            pair for place, pair in zip(positions, distinct, strict=True) if place >= 2 * self.held_out
        ]
        unseen = [pair for pair in training if sentence_key(pair[1]) not in german]
        _log.info(
            "%s: of %d pairs %d are repeated, %d are further translations in val and test, and %d German"
            " sentences of val and test are left out of train",
            *(self.name, len(pairs), len(pairs) - len(distinct), len(held_out) - len(single)),
            len(training) - len(unseen),
        )
        return {
            "train": self._turned(unseen),
            "val": self._turned(pair for place, _, pair in single if place < self.held_out),
            "test": self._turned(pair for place, _, pair in single if place >= self.held_out),
        }

    def _turned(self, pairs: Iterable[Pair]) -> list[Pair]:
        """The pairs in the direction of translation."""
        return [pair if self.source == "en" else (pair[1], pair[0]) for pair in pairs]

    def _file(self) -> Path:
        folder = Path(self.data_dir).expanduser() / "tatoeba_en_de"
        if path := packed_or_not(folder, "deu.txt"):
            return path
        raise FileNotFoundError(
            f"{folder} has neither deu.txt.gz nor deu.txt: get deu-eng.zip from"
            f" https://www.manythings.org/anki/ and put its deu.txt there (it changes over time, so it is not"
            " downloaded from here)"
        )


def _once(held_out: list[tuple[float, float, Pair]]) -> list[tuple[float, float, Pair]]:
    """The first of those that share a sentence on either side."""
    english: set[str] = set()
    german: set[str] = set()
    kept = []
    for row in held_out:
        keys = sentence_key(row[2][0]), sentence_key(row[2][1])
        if keys[0] not in english and keys[1] not in german:
            kept.append(row)
            english.add(keys[0])
            german.add(keys[1])
    return kept
