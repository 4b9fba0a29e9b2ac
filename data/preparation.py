"""Prepares a corpus once: vocabulary and ids go to disk, every later start maps them into memory."""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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

_CHUNK = 10_000

_STALE_SECONDS = 24 * 3600


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
        ValueError: the corpus lacks a split, or one is empty.
        RuntimeError: the folder cannot be written.
    """
    own = vocabulary.vocabulary_hash if isinstance(vocabulary, DataSpec) else repr(vocabulary)
    key = _sha256([*_code(corpus, vocabulary), corpus.fingerprint(), own])[:20]
    folder = cache_dir.expanduser() / "translation" / f"{corpus.name}-{key}"
    if prepared := _read(folder):
        return prepared
    _make(folder, corpus, vocabulary)
    if prepared := _read(folder):
        return prepared
    raise RuntimeError(f"{folder} was written but cannot be read back: is the disk full or failing?")


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
    for module in ("zoo.text", __name__, *(type(participant).__module__ for participant in participants)):
        if file := getattr(sys.modules[module], "__file__", None):
            yield Path(file).read_text(encoding="utf-8")


def _read(folder: Path) -> Prepared | None:
    """The prepared corpus; None where there is none, or one that was damaged."""
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        splits = {split: Dataset.from_file(str(folder / f"{split}.arrow")) for split in summary["rows"]}
    except (OSError, ValueError, KeyError):  # pyarrow's errors are ValueErrors
        return None
    if any(len(splits[split]) != rows for split, rows in summary["rows"].items()):
        return None
    source, target = summary["tokenizers"]
    return Prepared(splits, (source, target), summary["test_hash"], summary["majority"])


def _make(folder: Path, corpus: Corpus, vocabulary: Vocabulary | DataSpec) -> None:
    splits = corpus.load()
    for split in ("train", "val", "test"):
        if split not in splits:
            raise ValueError(f"corpus {corpus.name} has no split {split}; it has {', '.join(splits)}")
    for split, pairs in splits.items():
        if not len(pairs):
            raise ValueError(f"split {split} of corpus {corpus.name} is empty")
    tokenizers = _tokenizers(splits["train"], vocabulary)
    test = splits["test"]
    summary = {
        "rows": {split: len(pairs) for split, pairs in splits.items()},
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
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder.parent)
        temporary = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
        try:
            for split, pairs in splits.items():
                _write(
                    temporary / f"{split}.arrow", _encoded(f"{corpus.name}, split {split}", pairs, tokenizers)
                )
            (temporary / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
            _publish(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise RuntimeError(f"cannot write below {folder.parent} (paths.cache_dir): {error}") from error


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


def _publish(temporary: Path, folder: Path) -> None:
    """Gives the finished folder its name; another process may have been faster, with the same content."""
    try:
        os.rename(temporary, folder)
    except OSError:
        if _read(folder) is None:  # damaged, not finished by someone else
            shutil.rmtree(folder)
            os.rename(temporary, folder)


def _remove_stale(parent: Path) -> None:
    """Removes what killed processes left behind."""
    for left in parent.glob(".making-*"):
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
