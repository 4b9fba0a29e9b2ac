"""Prepares a corpus once: text, vocabulary and ids go to disk, every later start maps them into memory.

A split is two files: `<split>.arrow` has the text, written while the corpus is read, `<split>.ids.arrow` its
ids. Whatever goes over a split takes some thousand pairs at a time, so memory does not grow with the corpus,
but for some bytes for each pair.
"""

import hashlib
import json
import logging
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from datasets import Dataset, concatenate_datasets

from data.core.cache import alone, require_space
from data.core.copies import Copies, Found, copies, hashes
from data.text.corpus import Corpus, Pair
from data.text.text_files import content_hash
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec
from zoo.core.text import SPECIAL_TOKENS, TextCodec, text_spec

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
        unknown: by split and side, which share of the tokens (EOS left out) the vocabulary does not know.
        copies: pairs of a split that are in another one, too; see `data.core.copies`.
    """

    splits: dict[str, Dataset]
    tokenizers: tuple[str, str]
    test_hash: str
    majority: dict[str, float]
    unknown: dict[str, dict[str, float]]
    copies: Copies


def prepare(corpus: Corpus, vocabulary: Vocabulary | DataSpec, cache_dir: Path) -> Prepared:
    """Maps the prepared corpus into memory, making it first where it does not exist.

    Args:
        corpus: the sentence pairs.
        vocabulary: what to train on the train split, or the specification whose tokenizers to use.
        cache_dir: prepared corpora lie below it, each in a folder that appears whole or not at all.

    Raises:
        ValueError: the corpus lacks a split or a column, a split is empty, or val is tested on.
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
        with alone(folder):
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


def most_frequent(texts: Iterable[str]) -> int:
    """Where the most frequent text stands first; of equally frequent ones, the one that stands first.

    Texts are counted by their hashes: eight bytes for each instead of a table of all.
    """
    hashes = np.fromiter(map(hash, texts), np.int64)
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    return int(first[counts == counts.max()].min())


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
    shared = ["zoo.core.text", "data.text.text_files", "data.core.splitting", __name__]
    for module in dict.fromkeys([*shared, *(base.__module__ for base in classes)]):
        file = getattr(sys.modules.get(module), "__file__", None)
        if file and module.partition(".")[0] not in sys.stdlib_module_names:
            yield Path(file).read_text(encoding="utf-8")


def _read(folder: Path) -> Prepared | None:
    """The prepared corpus; None where there is none, or one that was damaged."""
    try:
        for line in (folder / _CHECKSUMS).read_text(encoding="utf-8").splitlines():
            digest, name = line.split("  ", 1)
            if digest != content_hash([folder / name]):
                return None
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        splits = {split: _joined(folder, split) for split in summary["splits"]}
    except (OSError, ValueError):  # pyarrow's errors are ValueErrors
        return None
    source, target = summary["tokenizers"]
    found = {
        split: {other: Found(*copied) for other, copied in others.items()}
        for split, others in summary["copies"].items()
    }
    return Prepared(
        splits, (source, target), summary["test_hash"], summary["majority"], summary["unknown"], found
    )


def _joined(folder: Path, split: str) -> Dataset:
    """A split's text and ids side by side."""
    parts = [Dataset.from_file(str(folder / f"{split}{part}.arrow")) for part in ("", ".ids")]
    return concatenate_datasets(parts, axis=1)


def _load(corpus: Corpus) -> Mapping[str, Dataset | Iterable[Pair]]:
    """The corpus's splits; what is wrong with them as a whole is found before anything is written."""
    splits = corpus.load()
    for split in ("train", "val", "test"):
        if split not in splits:
            raise ValueError(f"corpus {corpus.name} has no split {split}; it has {', '.join(splits)}")
    for split, pairs in splits.items():
        if not isinstance(pairs, Dataset):
            continue
        for column in ("source", "target"):
            if column not in pairs.column_names:
                raise ValueError(
                    f"split {split} of corpus {corpus.name} has no column {column};"
                    f" it has {', '.join(pairs.column_names) or 'none'}"
                )
        if not len(pairs):
            raise ValueError(_empty(corpus.name, split))
    return splits


def _empty(name: str, split: str) -> str:
    return f"split {split} of corpus {name} is empty"


def _make(
    folder: Path,
    name: str,
    splits: Mapping[str, Dataset | Iterable[Pair]],
    vocabulary: Vocabulary | DataSpec,
) -> None:
    known = [pairs.data.nbytes for pairs in splits.values() if isinstance(pairs, Dataset)]
    _require_space(folder.parent, name, 5 * sum(known))
    unfinished = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)  # a killed process left it behind
    unfinished.mkdir()
    try:
        texts = {}
        for split, pairs in splits.items():
            path = unfinished / f"{split}.arrow"
            if not _write(path, _readable(f"split {split} of corpus {name}", _text(pairs))):
                raise ValueError(_empty(name, split))
            texts[split] = Dataset.from_file(str(path))
        _require_test_pairs(name, texts)
        _require_space(folder.parent, name, 4 * sum(text.data.nbytes for text in texts.values()))
        tokenizers = _tokenizers(texts["train"], vocabulary)
        for split, text in texts.items():
            where = f"{name}, split {split}"
            _write(unfinished / f"{split}.ids.arrow", _ids(where, text, tokenizers))
        unknown = {split: _unknown(unfinished / f"{split}.ids.arrow") for split in texts}
        summary = json.dumps(_summary(texts, tokenizers) | {"unknown": unknown})
        (unfinished / "summary.json").write_text(summary, encoding="utf-8")
        checksums = "".join(f"{content_hash([path])}  {path.name}\n" for path in sorted(unfinished.iterdir()))
        (unfinished / _CHECKSUMS).write_text(checksums, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # damaged: nobody makes what can be read
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _summary(texts: Mapping[str, Dataset], tokenizers: tuple[str, str]) -> dict[str, Any]:
    """What is known of the splits as a whole."""
    train = texts["train"]
    answer = train[most_frequent(_texts(train, "target"))]["target"]
    return {
        "splits": list(texts),
        "tokenizers": tokenizers,
        "test_hash": _pairs_hash(texts["test"]),
        "majority": {
            split: sum(target == answer for target in _texts(text, "target")) / len(text)
            for split, text in texts.items()
            if split.startswith("test")
        },
        "copies": copies({split: hashes(_pairs(text)) for split, text in texts.items()}),
    }


def _unknown(path: Path) -> dict[str, float]:
    """Which share of the tokens of each side is unknown; the EOS of each sentence does not count."""
    ids, unk = Dataset.from_file(str(path)), SPECIAL_TOKENS.index("<unk>")
    shares = {}
    for side in ("source", "target"):
        column = ids.data.column(f"{side}_ids")
        unknown = sum(pc.sum(pc.equal(chunk.flatten(), unk)).as_py() or 0 for chunk in column.chunks)
        tokens = sum(len(chunk.flatten()) - len(chunk) for chunk in column.chunks)
        shares[side] = unknown / max(tokens, 1)
    return shares


def _pairs(text: Dataset) -> Iterator[Pair]:
    return zip(_texts(text, "source"), _texts(text, "target"), strict=True)


def _pairs_hash(text: Dataset) -> str:
    """sha256 over the raw pairs of a split, in order."""
    return _sha256(chain.from_iterable(_pairs(text)))


def _require_test_pairs(name: str, texts: Mapping[str, Dataset]) -> None:
    """Refuses to test on what is validated on.

    Raises:
        ValueError: a test split holds the pairs of `val`.
    """
    validation = _pairs_hash(texts["val"])
    for split, text in texts.items():
        if split.startswith("test") and _pairs_hash(text) == validation:
            raise ValueError(
                f"splits val and {split} of corpus {name} hold the same pairs: what is chosen on the one"
                " would be reported on the other; give one of them files of its own (data=parallel: data.val="
                " or data.test=; published sets: docs/own-data.md)"
            )


def _require_space(place: Path, name: str, needed: int) -> None:
    """Refuses to begin what the disk cannot hold.

    Texts are written as they are, and each of their bytes becomes one id of four bytes at the most. How much
    text an iterator gives is known when it was read; then it is written, and the ids still are to be.
    """
    require_space(place, f"preparing {name}", needed + _VOCABULARY_BYTES)


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


def _text(pairs: Dataset | Iterable[Pair]) -> Iterator[pa.RecordBatch]:
    """Source, target and perhaps alignment, as they are."""
    if isinstance(pairs, Dataset):
        kinds = {"source": pa.string(), "target": pa.string(), "alignment": pa.list_(pa.int32())}
        columns = [column for column in kinds if column in pairs.column_names]
        for rows in pairs.select_columns(columns).iter(_CHUNK):
            yield pa.RecordBatch.from_pydict({name: pa.array(rows[name], kinds[name]) for name in columns})
        return
    rest = iter(pairs)
    while chunk := list(islice(rest, _CHUNK)):
        source, target = zip(*chunk, strict=True)
        yield pa.RecordBatch.from_pydict(
            {"source": pa.array(source, pa.string()), "target": pa.array(target, pa.string())}
        )


def _readable(what: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; a corpus that cannot be read must not look like a cache that cannot be written.

    Raises:
        ValueError: reading failed.
    """
    try:
        yield from batches
    except OSError as error:
        raise ValueError(f"{what} cannot be read: {error}") from error


def _ids(where: str, pairs: Dataset, tokenizers: tuple[str, str]) -> Iterator[pa.RecordBatch]:
    """The ids of both sides, in the order of the pairs."""
    codecs = {
        side: TextCodec(text_spec(tokenizer))
        for side, tokenizer in zip(("source", "target"), tokenizers, strict=True)
    }
    for start in range(0, len(pairs), _CHUNK):
        rows = pairs[start : start + _CHUNK]
        columns = {
            f"{side}_ids": pa.array(codec.encode(rows[side]), pa.list_(pa.int32()))
            for side, codec in codecs.items()
        }
        if "alignment" in rows:
            alignment = pa.array(rows["alignment"], pa.list_(pa.int32()))
            unequal = pc.not_equal(*map(pc.list_value_length, (alignment, columns["target_ids"])))
            if (row := unequal.index(True).as_py()) >= 0:
                positions, tokens = len(alignment[row]), len(columns["target_ids"][row])
                raise ValueError(
                    f"corpus {where}, row {start + row}: {positions} alignment positions for {tokens} target"
                    " tokens; choose the vocabulary whose tokens the corpus aligns"
                )
        yield pa.RecordBatch.from_pydict(columns)


def _write(path: Path, batches: Iterator[pa.RecordBatch]) -> bool:
    """Writes batches to an Arrow file; False, and no file, where there is none."""
    first = next(batches, None)
    if first is None:
        return False
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    return True
