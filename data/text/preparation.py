"""Prepares a corpus once: text, vocabularies and ids go to disk, every later start maps them into memory.

A split is two files: `<split>.arrow` has the corpus's columns, written while it is read,
`<split>.ids.arrow` the ids of its texts and labels. Whatever goes over a split takes some thousand rows at a
time, so memory does not grow with the corpus, but for some bytes for each row.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from datasets import Dataset, concatenate_datasets

from data.core.cache import made_once, require_space
from data.core.copies import Copies, Found, copies, hashes
from data.text.columns import Alignment, Column, Label, Place, Sentences, Text
from data.text.corpus import Corpus, Rows
from data.text.text_files import content_hash
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec, text_spec

_CHUNK = 10_000

_VOCABULARY_BYTES = 10_000_000
"""More than vocabularies take, and whatever else does not grow with the corpus."""

_CHECKSUMS = "SHA256SUMS"
"""Written last, in the format of `sha256sum`: what is not in it, or not as it says, is not used."""


@dataclass(frozen=True)
class Prepared:
    """A corpus with its vocabularies and ids.

    Attributes:
        splits: the corpus's columns, and `<column>_ids` (int32) of each text (with EOS), of each document
            (a list of its sentences' ids) and of each label (its number).
        tokenizers: JSON of each text's.
        classes: names of each label's.
        test_hash: sha256 over the raw rows of the test split, in order.
        majority: by reference text or label, and by test split: the share of rows that have the value that is
            most frequent in train.
        unknown: by split and text, which share of the tokens (special ones left out) the vocabulary does not
            know.
        copies: rows of a split whose texts are in another one, too; see `data.core.copies`.
    """

    splits: dict[str, Dataset]
    tokenizers: dict[str, str]
    classes: dict[str, tuple[str, ...]]
    test_hash: str
    majority: dict[str, dict[str, float]]
    unknown: dict[str, dict[str, float]]
    copies: Copies

    @property
    def vocabulary_hash(self) -> str:
        """sha256 over the JSON of all tokenizers, and the names of all classes."""
        return _sha256([*self.tokenizers.values(), *self.classes.values()])


def prepare(corpus: Corpus, vocabulary: Vocabulary | DataSpec, cache_dir: Path) -> Prepared:
    """Maps the prepared corpus into memory, making it first where it does not exist.

    Args:
        corpus: the texts.
        vocabulary: what to train on the train split, or a specification whose tokenizers and classes to use.
        cache_dir: prepared corpora lie below it, each in a folder that appears whole or not at all.

    Raises:
        ValueError: the corpus lacks a split or a column, a split is empty, a value cannot be used, or val is
            tested on.
        RuntimeError: the folder cannot be written, or the disk is too full.
    """
    own = vocabulary.vocabulary_hash if isinstance(vocabulary, DataSpec) else repr(vocabulary)
    columns = dict(corpus.columns)
    key = _sha256([*_code(corpus, vocabulary, *columns.values()), repr(columns), corpus.fingerprint(), own])
    folder = cache_dir.expanduser() / "text" / f"{corpus.name}-{key[:20]}"
    if prepared := _read(folder):
        return prepared
    splits = _load(corpus)  # what it raises says nothing of the cache
    return made_once(
        folder,
        f"preparing {corpus.name}",
        lambda: _read(folder),
        lambda: _make(folder, corpus.name, columns, splits, vocabulary),
    )


def most_frequent(values: Iterable[str]) -> int:
    """Where the most frequent value stands first; of equally frequent ones, the one that stands first.

    Values are counted by their hashes: eight bytes for each instead of a table of all.
    """
    hashed = np.fromiter(map(hash, values), np.int64)
    _, first, counts = np.unique(hashed, return_index=True, return_counts=True)
    return int(first[counts == counts.max()].min())


def _sha256(values: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(f"{json.dumps(value)}\n".encode())
    return digest.hexdigest()


def _code(*participants: object) -> Iterator[str]:
    """The source of all that shapes what is prepared: when it changes, what was prepared is not used."""
    classes = (base for participant in participants for base in type(participant).__mro__)
    shared = ["zoo.core.text", "data.text.text_files", "data.core.splitting", __name__]
    modules = dict.fromkeys([*shared, *(base.__module__ for base in classes)])
    for module in dict.fromkeys([*modules, *(used for one in modules for used in _used_by(one))]):
        file = getattr(sys.modules.get(module), "__file__", None)
        if file and module.partition(".")[0] not in sys.stdlib_module_names:
            yield Path(file).read_text(encoding="utf-8")


def _used_by(module: str) -> list[str]:
    """The modules of the same package, or of the library, whose functions and classes a module imports."""
    packages = {module.partition(".")[0], "zoo"}
    values = vars(sys.modules[module]).values() if module in sys.modules else ()
    named = {getattr(value, "__module__", None) or "" for value in values}
    return sorted(one for one in named if one.partition(".")[0] in packages)


def _read(folder: Path) -> Prepared | None:
    """The prepared corpus; None where there is none, or one that was damaged."""
    try:
        for line in (folder / _CHECKSUMS).read_text(encoding="utf-8").splitlines():
            digest, name = line.split("  ", 1)
            if digest != content_hash([folder / name]):
                return None
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        splits = {split: _joined(folder, split) for split in summary.pop("splits")}
    except (OSError, ValueError):  # pyarrow's errors are ValueErrors
        return None
    summary["classes"] = {column: tuple(names) for column, names in summary["classes"].items()}
    summary["copies"] = {
        split: {other: Found(*copied) for other, copied in others.items()}
        for split, others in summary["copies"].items()
    }
    return Prepared(splits=splits, **summary)


def _joined(folder: Path, split: str) -> Dataset:
    """A split's columns and ids side by side."""
    parts = [Dataset.from_file(str(folder / f"{split}{part}.arrow")) for part in ("", ".ids")]
    return concatenate_datasets(parts, axis=1)


def _load(corpus: Corpus) -> Mapping[str, Rows]:
    """The corpus's splits; what is wrong with them as a whole is found before anything is written."""
    splits = corpus.load()
    for split in ("train", "val", "test"):
        if split not in splits:
            raise ValueError(f"corpus {corpus.name} has no split {split}; it has {', '.join(splits)}")
    for split, rows in splits.items():
        if not isinstance(rows, Dataset):
            continue
        for column in corpus.columns:
            if column not in rows.column_names:
                raise ValueError(
                    f"split {split} of corpus {corpus.name} has no column {column};"
                    f" it has {', '.join(rows.column_names) or 'none'}"
                )
        if not len(rows):
            raise ValueError(_empty(corpus.name, split))
    return splits


def _empty(name: str, split: str) -> str:
    return f"split {split} of corpus {name} is empty"


def _make(
    folder: Path,
    name: str,
    columns: Mapping[str, Column],
    splits: Mapping[str, Rows],
    vocabulary: Vocabulary | DataSpec,
) -> None:
    known = [rows.data.nbytes for rows in splits.values() if isinstance(rows, Dataset)]
    _require_space(folder.parent, name, 5 * sum(known))
    unfinished = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)  # a killed process left it behind
    unfinished.mkdir()
    try:
        tables = {}
        for split, rows in splits.items():
            path, where = unfinished / f"{split}.arrow", f"split {split} of corpus {name}"
            if not _write(path, _readable(where, _checked(where, rows, columns))):
                raise ValueError(_empty(name, split))
            tables[split] = Dataset.from_file(str(path))
        _require_test_of_its_own(name, tables, columns)
        _require_space(folder.parent, name, 4 * sum(table.data.nbytes for table in tables.values()))
        tokenizers = _tokenizers(tables["train"], columns, vocabulary)
        classes = _classes(tables["train"], columns, vocabulary)
        unknown = {}
        for split, table in tables.items():
            path = unfinished / f"{split}.ids.arrow"
            _write(path, _ids(f"corpus {name}, split {split}", table, columns, tokenizers, classes))
            unknown[split] = _unknown(Dataset.from_file(str(path)), tokenizers)
        prepared = Prepared(
            splits=tables,
            tokenizers=tokenizers,
            classes=classes,
            test_hash=_content_hash(tables["test"], columns),
            majority=_majority(tables, columns),
            unknown=unknown,
            copies=copies({split: hashes(_texts(table, columns)) for split, table in tables.items()}),
        )
        summary = {**vars(prepared), "splits": list(tables)}
        (unfinished / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        checksums = "".join(f"{content_hash([path])}  {path.name}\n" for path in sorted(unfinished.iterdir()))
        (unfinished / _CHECKSUMS).write_text(checksums, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _require_test_of_its_own(name: str, tables: Mapping[str, Dataset], columns: Mapping[str, Column]) -> None:
    """Refuses to test on what is validated on.

    Raises:
        ValueError: a test split holds the rows of `val`.
    """
    validation = _content_hash(tables["val"], columns)
    for split, table in tables.items():
        if split.startswith("test") and _content_hash(table, columns) == validation:
            raise ValueError(
                f"splits val and {split} of corpus {name} hold the same items: what is chosen on the one"
                " would be reported on the other; give one of them files of its own (docs/own-data.md)"
            )


def _require_space(place: Path, name: str, needed: int) -> None:
    """Refuses to begin what the disk cannot hold.

    Texts are written as they are, and each of their bytes becomes one id of four bytes at the most. How much
    text an iterator gives is known when it was read; then it is written, and the ids still are to be.
    """
    require_space(place, f"preparing {name}", needed + _VOCABULARY_BYTES)


def _tokenizers(
    train: Dataset, columns: Mapping[str, Column], vocabulary: Vocabulary | DataSpec
) -> dict[str, str]:
    texts = {name: column for name, column in columns.items() if isinstance(column, Text | Sentences)}
    if isinstance(vocabulary, DataSpec):
        return {name: vocabulary.text(name).tokenizer for name in texts}
    built = vocabulary.build(*(one.sentences(_values(train, name)) for name, one in texts.items()))
    return dict(zip(texts, built, strict=True))


def _classes(
    train: Dataset, columns: Mapping[str, Column], vocabulary: Vocabulary | DataSpec
) -> dict[str, tuple[str, ...]]:
    labels = {name: column for name, column in columns.items() if isinstance(column, Label)}
    if isinstance(vocabulary, DataSpec):
        return {name: vocabulary.label(name).classes for name in labels}
    return {name: one.classes or tuple(sorted(set(_values(train, name)))) for name, one in labels.items()}


def _content_hash(table: Dataset, columns: Mapping[str, Column]) -> str:
    """sha256 over the raw values of a split, row by row."""
    hashed = [name for name, column in columns.items() if column.hashed]
    kinds = [columns[name] for name in hashed]
    rows = _rows(table, hashed)
    return _sha256(kind.hashable(value) for row in rows for kind, value in zip(kinds, row, strict=True))


def _texts(table: Dataset, columns: Mapping[str, Column]) -> Iterator[tuple[Any, ...]]:
    """The texts of each row, hashable."""
    names = [name for name, column in columns.items() if isinstance(column, Text | Sentences)]
    return (tuple(tuple(one) if isinstance(one, list) else one for one in row) for row in _rows(table, names))


def _majority(tables: Mapping[str, Dataset], columns: Mapping[str, Column]) -> dict[str, dict[str, float]]:
    """For each reference text and each label, the share of rows that the most frequent answer fits."""
    majority = {}
    for name, column in columns.items():
        if isinstance(column, Label) or (isinstance(column, Text) and column.reference):
            answer = tables["train"][most_frequent(_values(tables["train"], name))][name]
            majority[name] = {
                split: sum(value == answer for value in _values(table, name)) / len(table)
                for split, table in tables.items()
                if split.startswith("test")
            }
    return majority


def _unknown(ids: Dataset, tokenizers: Mapping[str, str]) -> dict[str, float]:
    """Which share of the tokens of each text is unknown; the special ones around sentences do not count."""
    shares = {}
    for name, tokenizer in tokenizers.items():
        spec = text_spec(tokenizer)
        unknown = tokens = 0
        for chunk in ids.data.column(f"{name}_ids").chunks:
            sentences = chunk.flatten() if pa.types.is_list(chunk.type.value_type) else chunk
            values = sentences.flatten()
            unknown += pc.sum(pc.equal(values, spec.unk)).as_py() or 0
            tokens += len(values) - spec.added * len(sentences)
        shares[name] = unknown / max(tokens, 1)
    return shares


def _rows(table: Dataset, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for rows in table.select_columns(list(names)).iter(_CHUNK):
        yield from zip(*(rows[name] for name in names), strict=True)


def _values(table: Dataset, name: str) -> Iterator[Any]:
    return (value for (value,) in _rows(table, [name]))


def _checked(where: str, rows: Rows, columns: Mapping[str, Column]) -> Iterator[pa.RecordBatch]:
    """The corpus's columns, as they are.

    Raises:
        ValueError: a value cannot be used; names its row.
    """
    start = 0
    for chunk in _chunks(where, rows, list(columns)):
        arrays = {}
        for (name, column), values in zip(columns.items(), chunk, strict=True):
            for row, value in enumerate(values, start=start):
                if problem := column.problem(value):
                    raise ValueError(f"{where}, row {row}: {name} {problem}")
            arrays[name] = pa.array(values, column.arrow)
        start += len(chunk[0])
        yield pa.RecordBatch.from_pydict(arrays)


def _chunks(where: str, rows: Rows, names: list[str]) -> Iterator[list[Sequence[Any]]]:
    """The values of each column, some thousand rows at a time."""
    if isinstance(rows, Dataset):
        for table in rows.select_columns(names).iter(_CHUNK):
            yield [table[name] for name in names]
        return
    rest = iter(rows)
    while chunk := list(islice(rest, _CHUNK)):
        if wrong := next((row for row in chunk if len(row) != len(names)), None):
            raise ValueError(f"{where}: a row must have {', '.join(names)}; got {wrong!r}")
        yield list(zip(*chunk, strict=True))


def _readable(what: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; a corpus that cannot be read must not look like a cache that cannot be written.

    Raises:
        ValueError: reading failed.
    """
    try:
        yield from batches
    except OSError as error:
        raise ValueError(f"{what} cannot be read: {error}") from error


def _ids(
    where: str,
    table: Dataset,
    columns: Mapping[str, Column],
    tokenizers: Mapping[str, str],
    classes: Mapping[str, tuple[str, ...]],
) -> Iterator[pa.RecordBatch]:
    """The ids of all texts and labels, row by row.

    Raises:
        ValueError: a label is no class, or an alignment does not fit the tokens; names the row.
    """
    codecs = {name: TextCodec(text_spec(tokenizer)) for name, tokenizer in tokenizers.items()}
    numbers = {name: {one: number for number, one in enumerate(names)} for name, names in classes.items()}
    for start in range(0, len(table), _CHUNK):
        rows = table[start : start + _CHUNK]
        ids = {}
        for name, column in columns.items():
            if isinstance(column, Text):
                ids[f"{name}_ids"] = pa.array(codecs[name].encode(rows[name]), pa.list_(pa.int32()))
            elif isinstance(column, Sentences):
                encoded = iter(codecs[name].encode(list(column.sentences(rows[name]))))
                documents = [list(islice(encoded, len(document))) for document in rows[name]]
                ids[f"{name}_ids"] = pa.array(documents, pa.list_(pa.list_(pa.int32())))
            elif isinstance(column, Label):
                for row, label in enumerate(rows[name], start=start):
                    if label not in numbers[name]:
                        known = ", ".join(classes[name])
                        raise ValueError(
                            f"{where}, row {row}: {name} {label!r} is no class of train ({known})"
                        )
                ids[f"{name}_ids"] = pa.array([numbers[name][label] for label in rows[name]], pa.int32())
        for name, column in columns.items():
            if isinstance(column, Alignment):
                _require_fitting(
                    where, start, pa.array(rows[name], column.arrow), ids[f"{column.target}_ids"]
                )
            elif isinstance(column, Place):
                added = codecs[column.text].spec.added
                texts = zip(rows[name], rows[column.text], ids[f"{column.text}_ids"].to_pylist(), strict=True)
                for row, (place, text, tokens) in enumerate(texts, start=start):
                    _require_place(f"{where}, row {row}", place, text, tokens, added)
        yield pa.RecordBatch.from_pydict(ids)


def _require_fitting(where: str, start: int, alignment: pa.Array, ids: pa.Array) -> None:
    unequal = pc.not_equal(*map(pc.list_value_length, (alignment, ids)))
    if (row := unequal.index(True).as_py()) >= 0:
        raise ValueError(
            f"{where}, row {start + row}: {len(alignment[row])} alignment positions for {len(ids[row])}"
            " target tokens; choose the vocabulary whose tokens the corpus aligns"
        )


def _require_place(where: str, place: list[int], text: str | list[str], ids: list[Any], added: int) -> None:
    """Refuses a place that is no word of its text, and a text whose words are not its tokens."""
    sentences, rows = (text, ids) if isinstance(text, list) else ([text], [ids])
    *within, word = place
    sentence = within[0] if within else 0
    if len(within) != isinstance(text, list) or sentence >= len(sentences):
        raise ValueError(f"{where}: there is no place {place} in {text!r}")
    words, tokens = len(sentences[sentence].split()), len(rows[sentence]) - added
    if words != tokens:
        raise ValueError(
            f"{where}: {words} words are {tokens} tokens, but a place is a word: choose a vocabulary of words"
            " (data/tokenizer=tokens)"
        )
    if word >= words:
        raise ValueError(f"{where}: there is no place {place} in {text!r}")


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
