"""Prepares a corpus once: vocabulary and ids go to disk, every later start maps them into memory."""

import fcntl
import hashlib
import json
import logging
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from datasets import Dataset

from data.corpus import Corpus
from data.vocabulary import Vocabulary
from zoo.spec import DataSpec
from zoo.text import TextCodec, text_spec

_log = logging.getLogger(__name__)

_CHUNK = 10_000

_VOCABULARY_BYTES = 10_000_000
"""More than vocabularies take, and whatever else does not grow with the corpus."""

_CHECKSUMS = "SHA256SUMS"
"""Written last, in the format of `sha256sum`: what is not in it, or not as it says, is not used."""


@dataclass(frozen=True)
class Prepared:
    """A corpus with its vocabulary and ids.

    Attributes:
        splits: columns source, target, source_ids, target_ids (int32, ending in EOS), perhaps alignment.
        tokenizers: JSON of both sides.
        test_hash: sha256 over the raw pairs of the test split, in order.
        majority: exact match on each test split of always answering the most frequent training target.
    """

    splits: dict[str, Dataset]
    tokenizers: tuple[str, str]
    test_hash: str
    majority: dict[str, float]


def prepare(corpus: Corpus, vocabulary: Vocabulary | DataSpec, cache_dir: Path) -> Prepared:
    """Maps the prepared corpus into memory, making it first where it does not exist.

    Args:
        corpus: the sentence pairs.
        vocabulary: what to train on the train split, or the specification whose tokenizers to use.
        cache_dir: prepared corpora lie below it, each in a folder that appears whole or not at all.

    Raises:
        ValueError: the corpus lacks a split or a column, or a split is empty.
        RuntimeError: the folder cannot be written, or the disk is too full.
    """
    own = vocabulary.vocabulary_hash if isinstance(vocabulary, DataSpec) else repr(vocabulary)
    key = _sha256([*_code(corpus, vocabulary), corpus.fingerprint(), own])[:20]
    folder = cache_dir.expanduser() / "translation" / f"{corpus.name}-{key}"
    if prepared := _read(folder):
        return prepared
    splits = _load(corpus)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if (prepared := _read(folder)) is None:
                if folder.exists():
                    _log.warning("%s is damaged: preparing %s anew", folder, corpus.name)
                _make(folder, corpus.name, splits, vocabulary)
                prepared = _read(folder)
    except OSError as error:
        raise RuntimeError(f"cannot write below {folder.parent} (paths.cache_dir): {error}") from error
    if prepared is None:
        raise RuntimeError(f"{folder} was written but cannot be read back: is the disk failing?")
    return prepared


def majority_baseline(train_targets: Iterable[str], test_targets: Sequence[str]) -> float:
    """Exact match, in [0, 1], of always answering the most frequent training target."""
    answer, _ = Counter(train_targets).most_common(1)[0]
    return sum(target == answer for target in test_targets) / len(test_targets)


def vocabulary_hash(tokenizers: tuple[str, str]) -> str:
    """sha256 over the JSON of both sides' tokenizers."""
    return _sha256(tokenizers)


def _sha256(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{json.dumps(text)}\n".encode())
    return digest.hexdigest()


def _code(*participants: object) -> Iterator[str]:
    """The source of all that shapes what is prepared: when it changes, what was prepared is not used."""
    classes = (base for participant in participants for base in type(participant).__mro__)
    modules = dict.fromkeys(["zoo.text", __name__, *(base.__module__ for base in classes)])
    for module in modules:
        file = getattr(sys.modules[module], "__file__", None)
        if file and module.partition(".")[0] not in sys.stdlib_module_names:
            yield Path(file).read_text(encoding="utf-8")


def _read(folder: Path) -> Prepared | None:
    """The prepared corpus; None where there is none, or one that was damaged."""
    try:
        for line in (folder / _CHECKSUMS).read_text(encoding="utf-8").splitlines():
            digest, name = line.split("  ", 1)
            if digest != _checksum(folder / name):
                return None
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        splits = {split: Dataset.from_file(str(folder / f"{split}.arrow")) for split in summary["splits"]}
    except (OSError, ValueError):  # pyarrow's errors are ValueErrors
        return None
    source, target = summary["tokenizers"]
    return Prepared(splits, (source, target), summary["test_hash"], summary["majority"])


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load(corpus: Corpus) -> dict[str, Dataset]:
    """The corpus's splits, whose mistakes are found before anything is written."""
    splits = corpus.load()
    for split in ("train", "val", "test"):
        if split not in splits:
            raise ValueError(f"corpus {corpus.name} has no split {split}; it has {', '.join(splits)}")
    for split, pairs in splits.items():
        for column in ("source", "target"):
            if column not in pairs.column_names:
                raise ValueError(
                    f"split {split} of corpus {corpus.name} has no column {column};"
                    f" it has {', '.join(pairs.column_names) or 'none'}"
                )
        if not len(pairs):
            raise ValueError(f"split {split} of corpus {corpus.name} is empty")
    return splits


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time make a folder; the others wait. A killed process lets go of its lock."""
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.info("waiting for another process that prepares %s", folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(folder: Path, name: str, splits: dict[str, Dataset], vocabulary: Vocabulary | DataSpec) -> None:
    _require_space(folder.parent, name, splits)
    tokenizers = _tokenizers(splits["train"], vocabulary)
    test = splits["test"]
    summary = {
        "splits": list(splits),
        "tokenizers": tokenizers,
        "test_hash": _sha256(
            chain.from_iterable(zip(_texts(test, "source"), _texts(test, "target"), strict=True))
        ),
        "majority": {
            split: majority_baseline(_texts(splits["train"], "target"), list(_texts(pairs, "target")))
            for split, pairs in splits.items()
            if split.startswith("test")
        },
    }
    unfinished = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)  # a killed process left it behind
    unfinished.mkdir()
    try:
        for split, pairs in splits.items():
            _write(unfinished / f"{split}.arrow", _encoded(f"{name}, split {split}", pairs, tokenizers))
        (unfinished / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        checksums = "".join(f"{_checksum(path)}  {path.name}\n" for path in sorted(unfinished.iterdir()))
        (unfinished / _CHECKSUMS).write_text(checksums, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # damaged: nobody makes what can be read
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _require_space(place: Path, name: str, splits: dict[str, Dataset]) -> None:
    """Refuses to begin what the disk cannot hold.

    Texts are written as they are, and each of their bytes becomes one id of four bytes at the most.

    Raises:
        RuntimeError: there is too little space; says how much is needed, how much is free, and where.
    """
    needed = 5 * sum(pairs.data.nbytes for pairs in splits.values()) + _VOCABULARY_BYTES
    free = shutil.disk_usage(place).free
    if free < needed:
        raise RuntimeError(
            f"preparing {name} needs up to {needed / 1e6:,.1f} MB below {place} (paths.cache_dir),"
            f" where {free / 1e6:,.1f} MB are free"
        )


def _tokenizers(train: Dataset, vocabulary: Vocabulary | DataSpec) -> tuple[str, str]:
    if isinstance(vocabulary, Vocabulary):
        return vocabulary.build(_texts(train, "source"), _texts(train, "target"))
    source, target = vocabulary.source, vocabulary.target
    if source is None or target is None:
        raise ValueError(f"the specification of {vocabulary.name} has no text on both sides")
    return source.tokenizer, target.tokenizer


def _texts(pairs: Dataset, side: str) -> Iterator[str]:
    for rows in pairs.select_columns([side]).iter(_CHUNK):
        yield from rows[side]


def _encoded(where: str, pairs: Dataset, tokenizers: tuple[str, str]) -> Iterator[pa.RecordBatch]:
    """The pairs with their ids, some thousand at a time: a large corpus need not fit into memory."""
    codecs = {
        side: TextCodec(text_spec(tokenizer))
        for side, tokenizer in zip(("source", "target"), tokenizers, strict=True)
    }
    for start in range(0, len(pairs), _CHUNK):
        rows = pairs[start : start + _CHUNK]
        columns = {side: pa.array(rows[side], pa.string()) for side in codecs}
        for side, codec in codecs.items():
            columns[f"{side}_ids"] = pa.array(codec.encode(rows[side]), pa.list_(pa.int32()))
        if "alignment" in rows:
            columns["alignment"] = pa.array(rows["alignment"], pa.list_(pa.int32()))
            unequal = pc.not_equal(*(pc.list_value_length(columns[c]) for c in ("alignment", "target_ids")))
            if (row := unequal.index(True).as_py()) >= 0:
                positions, tokens = len(columns["alignment"][row]), len(columns["target_ids"][row])
                raise ValueError(
                    f"corpus {where}, row {start + row}: {positions} alignment positions for {tokens} target"
                    " tokens; choose the vocabulary whose tokens the corpus aligns"
                )
        yield pa.RecordBatch.from_pydict(columns)


def _write(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    first = next(batches)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
