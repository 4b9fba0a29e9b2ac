"""Anyone's own text: two files, or one TSV or JSONL, for each split."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, compress, islice
from pathlib import Path

import numpy as np

from data.core.paths import did_you_mean
from data.core.splitting import position
from data.text.corpus import Pair, PairCorpus
from data.text.text_files import content_hash, read_jsonl, read_pairs, read_tsv
from data.text.translation import TranslationData
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec
from zoo.core.text import check_language

_log = logging.getLogger(__name__)

Files = str | list[str]
"""One TSV or JSONL, or the two files of source and target."""

_ALLOWED = (
    "one .tsv or .jsonl file, or a list of two text files, source and target; each plain or packed as .gz"
)

_LARGEST_SHARE = 0.05

_LOOKED_AT = 1000
"""Pairs of each split that are read before a run begins: many mistakes are of a whole file."""


@dataclass(kw_only=True)
class Parallel(PairCorpus):
    """Sentence pairs from files.

    Two files have one sentence a line, line n of one the translation of line n of the other. A TSV has
    source, a tab, target; a JSONL has objects with the keys `source` and `target`, or the codes of both
    languages where these are given.

    Splits that are not given are held out of `train` by source sentence: a hash of the sentence (case,
    punctuation and white space left out) decides, so no source sentence is in two splits, and the order of
    the file does not matter. Splits that are given are taken as they are, with a warning where they share
    pairs.

    Attributes:
        train: the training pairs.
        val: the validation pairs; None holds some out.
        test: the test pairs; None holds some out.
        held_out: about how many pairs to hold out for each such split; a twentieth of `train` at the most.
        source_language: ISO 639 code; may be empty.
        target_language: ISO 639 code; where it is empty there is no `bleu_tok_lc`.
    """

    train: Files
    val: Files | None = None
    test: Files | None = None
    held_out: int = 1000
    source_language: str = ""
    target_language: str = ""
    name: str = field(default="parallel", init=False)

    def __post_init__(self) -> None:
        if self.held_out < 1:
            raise ValueError(f"held_out must be at least 1, got {self.held_out}")
        for name in ("source_language", "target_language"):
            if getattr(self, name):
                try:
                    check_language(getattr(self, name))
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from error
        if self.source_language and self.source_language == self.target_language:
            raise ValueError(f"source_language and target_language are both {self.source_language}")
        self.languages = (self.source_language, self.target_language)
        given = {"train": self.train, "val": self.val, "test": self.test}
        self._files = {split: _paths(split, files) for split, files in given.items() if files is not None}
        for (split, paths), (other, others) in combinations(self._files.items(), 2):
            if same := sorted(set(map(os.path.realpath, paths)) & set(map(os.path.realpath, others))):
                raise ValueError(f"{other} must have files of its own; {same[0]} is in {split} as well")
        if missing := [
            f"{split} needs {path}, {_instead(path)}"
            for split, paths in self._files.items()
            for path in paths
            if not os.path.isfile(path)  # unlike `Path.is_file`, for names of any length
        ]:
            raise ValueError("; ".join(missing))

    def check_files(self) -> None:
        """See `Corpus`; reads the first pairs of each split.

        Raises:
            ValueError: they cannot be used; names file and line.
        """
        for split in self._files:
            for _ in islice(self._read(split), _LOOKED_AT):
                pass

    def fingerprint(self) -> str:
        """The parameters that split, how each file is read, and its hash."""
        contents = {
            split: ([path.suffix for path in paths], content_hash(paths))
            for split, paths in self._files.items()
        }
        return repr((contents, self.held_out, self.languages))

    def load(self) -> Mapping[str, Iterator[Pair]]:
        """Reads the files as they are needed.

        Raises:
            ValueError: a file cannot be used; names file and line. Or the pairs are too few to hold any out.
        """
        splits = {split: self._read(split) for split in self._files}
        held_out = [split for split in ("val", "test") if split not in splits]
        if not held_out:
            return splits
        places = np.fromiter((position(source) for source, _ in splits.pop("train")), np.float64)
        share = min(self.held_out / len(places), _LARGEST_SHARE)
        bounds = {"val": (0.0, share), "test": (share, 2 * share)}
        train = np.ones(len(places), dtype=bool)
        for split in held_out:
            chosen = (bounds[split][0] <= places) & (places < bounds[split][1])
            if not chosen.any():
                raise ValueError(
                    f"{len(places)} pairs have too few different sources to hold some out for {split}: "
                    f"give files, data.{split}="
                )
            train &= ~chosen
            splits[split] = compress(self._read("train"), chosen)
            _log.info(
                "%s: %d of %d pairs held out of train for %s", self.name, chosen.sum(), len(places), split
            )
        return splits | {"train": compress(self._read("train"), train)}

    def _read(self, split: str) -> Iterator[Pair]:
        paths = self._files[split]
        if len(paths) == 2:
            return read_pairs(*paths)
        if _ending(paths[0]) == ".tsv":
            return read_tsv(paths[0])
        keys = [("source", "target")]
        if all(self.languages):
            keys.append(self.languages)
        return read_jsonl(paths[0], keys)


class ParallelData(TranslationData):
    """`TranslationData` of a `Parallel` corpus, whose files are named on the command line."""

    recipe_for_few = "small_parallel"
    """The recipe that a warning names where an epoch has few batches."""

    def __init__(
        self,
        *,
        train: Files | None,
        val: Files | None = None,
        test: Files | None = None,
        held_out: int = 1000,
        source_language: str = "",
        target_language: str = "",
        tokenizer: Vocabulary,
        batch_tokens: int,
        maximum_length: int,
        seed: int,
        cache_dir: str | Path,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet, but sees that the files are there; arguments as those of the two classes.

        Raises:
            ValueError: a file is missing or named wrongly, or a number is too small.
        """
        if train is None:
            raise ValueError(f"train must name your files: {_ALLOWED}; for example data.train=[a.en,a.de]")
        super().__init__(
            corpus=Parallel(
                train=train,
                val=val,
                test=test,
                held_out=held_out,
                source_language=source_language,
                target_language=target_language,
            ),
            tokenizer=tokenizer,
            batch_tokens=batch_tokens,
            maximum_length=maximum_length,
            seed=seed,
            cache_dir=cache_dir,
            num_workers=num_workers,
            worker_timeout=worker_timeout,
            spec=spec,
        )


def _paths(split: str, files: Files) -> list[Path]:
    """The files of a split, one or two.

    Raises:
        ValueError: there are too few or too many, or their endings say that they are something else.
    """
    named = [files] if isinstance(files, str) else files
    if not isinstance(named, Sequence) or not all(isinstance(file, str) for file in named):
        raise ValueError(f"{split} must be {_ALLOWED}; got {files!r}")
    paths = [Path(os.path.expanduser(file)) for file in named]  # as it stands where there is no such user
    names = ", ".join(map(str, paths)) or "none"
    if len(paths) not in (1, 2):
        raise ValueError(f"{split} must be {_ALLOWED}; got {len(paths)} files: {names}")
    tables = [_ending(path) in (".tsv", ".jsonl") for path in paths]
    if tables[0] != (len(paths) == 1) or len(set(tables)) > 1:
        raise ValueError(f"{split} must be {_ALLOWED}; got {names}")
    if len(paths) == 2 and os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
        raise ValueError(f"{split} must be {_ALLOWED}; got {paths[0]} twice")
    return paths


def _ending(path: Path) -> str:
    """The ending that tells the format."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _instead(path: Path) -> str:
    """What is there where a file should be, and the file beside it that may be meant."""
    if os.path.isdir(path):
        return "which is a folder"
    if os.path.exists(path):
        return "which is no ordinary file"
    if os.path.islink(path):
        return "which is a link to nothing"
    return f"which does not exist{did_you_mean(path)}"
