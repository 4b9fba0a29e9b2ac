"""Prepared corpora on disk."""

import abc
import errno
import fcntl
import logging
import shutil
import subprocess
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from datasets import Dataset

import data.core.cache
import data.text.preparation
from data.text.corpus import Corpus, PairCorpus
from data.text.preparation import most_frequent, prepare
from data.text.vocabulary import Characters, Vocabulary, Words
from zoo.core.spec import DataSpec
from zoo.core.text import text_spec

PROJECT = Path(__file__).parents[3]


class Sentences(PairCorpus):
    """A few sentences; counts how often it is read."""

    name = "sentences"

    def __init__(self, *, mark: str = "", **splits: list[tuple[str, str]]) -> None:
        pairs = [("b c", "C B"), ("d", "D"), ("e", "D")]
        self.pairs: dict[str, list[tuple[str, str]]] = {
            "train": pairs,
            "val": pairs,
            "test": [("x", "D")],
            **splits,
        }
        self.mark, self.loads = mark, 0

    def fingerprint(self) -> str:
        return repr((self.mark, self.pairs))

    def load(self) -> dict[str, Dataset]:
        self.loads += 1
        return {
            split: Dataset.from_dict({"source": [s for s, _ in pairs], "target": [t for _, t in pairs]})
            for split, pairs in self.pairs.items()
        }


class Aligned(Sentences):
    """With alignments for words."""

    aligned = True

    def load(self) -> dict[str, Dataset]:
        return {
            split: pairs.add_column("alignment", [list(range(len(t.split()) + 1)) for t in pairs["target"]])
            for split, pairs in super().load().items()
        }


def folders(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "text").iterdir() if path.suffix != ".lock")


def test_it_is_made_once(tmp_path: Path) -> None:
    corpus = Sentences()
    first = prepare(corpus, Words(), tmp_path)
    again = prepare(corpus, Words(), tmp_path)
    assert corpus.loads == 1
    assert first.tokenizers == again.tokenizers
    assert first.test_hash == again.test_hash
    for split, pairs in corpus.pairs.items():
        assert [(row["source"], row["target"]) for row in again.splits[split]] == pairs
        assert again.splits[split][:] == first.splits[split][:]
    assert [path.name.startswith("sentences-") for path in folders(tmp_path)] == [True]


def test_it_lies_on_disk_not_in_memory(tmp_path: Path) -> None:
    files = prepare(Sentences(), Words(), tmp_path).splits["train"].cache_files
    assert [Path(file["filename"]).name for file in files] == ["train.arrow", "train.ids.arrow"]


def test_what_changes_the_result_makes_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variants: list[tuple[Corpus, Vocabulary]] = [
        (Sentences(), Words()),
        (Sentences(mark="other"), Words()),
        (Sentences(val=[("q", "Q")]), Words()),
        (Sentences(), Words(joint=True)),
        (Sentences(), Characters()),
    ]
    for number, (corpus, vocabulary) in enumerate(variants, start=1):
        prepare(corpus, vocabulary, tmp_path)
        assert len(folders(tmp_path)) == number
    monkeypatch.setattr(data.text.preparation, "_code", lambda *_: iter(["changed"]))
    prepare(Sentences(), Words(), tmp_path)
    assert len(folders(tmp_path)) == len(variants) + 1


def test_the_vocabulary_is_that_of_the_train_split(tmp_path: Path) -> None:
    source, target = prepare(
        Sentences(test=[("zzz", "ZZZ")], val=[("yyy", "YYY")]), Words(), tmp_path
    ).tokenizers.values()
    assert "zzz" not in source + target
    assert "yyy" not in source + target
    assert "▁b" in source
    assert "▁C" in target


def test_a_given_vocabulary_is_used_and_none_trained(tmp_path: Path) -> None:
    other = prepare(Sentences(train=[("x y", "D X")]), Words(), tmp_path)
    fields = {name: text_spec(tokenizer) for name, tokenizer in other.tokenizers.items()}
    spec = DataSpec("sentences", fields, vocabulary_hash="hash")
    prepared = prepare(Sentences(), spec, tmp_path)
    assert prepared.tokenizers == other.tokenizers
    assert prepared.splits["test"][0]["source_ids"] == [4, 3]  # x is known, b and c are not
    assert prepared.splits["train"][0]["source_ids"] == [1, 1, 3]


def test_long_corpora_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.text.preparation, "_CHUNK", 2)
    train = [(f"w{i} v", "T " * (i % 3 + 1)) for i in range(7)]
    rows = prepare(Sentences(train=train), Words(), tmp_path).splits["train"]
    assert [row["source"] for row in rows] == [source for source, _ in train]
    assert [len(row["target_ids"]) for row in rows] == [i % 3 + 2 for i in range(7)]


class Text(str):
    """Text that can be watched."""


class Streamed(Sentences):
    """Gives its pairs one after the other, once."""

    def load(self) -> dict[str, Iterator[tuple[str, str]]]:  # type: ignore[override]
        self.loads += 1
        return {split: iter(pairs) for split, pairs in self.pairs.items()}


def test_an_iterator_gives_what_a_table_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.text.preparation, "_CHUNK", 2)
    pairs = [(f"w{number} v", f"T {number}") for number in range(5)]
    table = prepare(Sentences(train=pairs), Words(), tmp_path)
    stream = prepare(Streamed(train=pairs, mark="streamed"), Words(), tmp_path)
    assert len(folders(tmp_path)) == 2, "the second was not that of the first"
    assert stream.tokenizers == table.tokenizers
    assert (stream.test_hash, stream.majority) == (table.test_hash, table.majority)
    for split, rows in table.splits.items():
        assert stream.splits[split][:] == rows[:]


def test_an_iterator_is_never_held_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.text.preparation, "_CHUNK", 100)
    alive, most = weakref.WeakSet[Text](), []

    def pairs() -> Iterator[tuple[str, str]]:
        for number in range(5000):
            source = Text(f"word {number}")
            alive.add(source)
            most.append(len(alive))
            yield source, "target"

    corpus = Streamed()
    corpus.pairs["train"] = pairs()  # type: ignore[assignment]
    corpus.fingerprint = lambda: "streamed"  # type: ignore[method-assign]
    assert len(prepare(corpus, Words(), tmp_path).splits["train"]) == 5000
    assert max(most) <= 300


def test_a_mistake_found_while_reading_leaves_nothing(tmp_path: Path) -> None:
    def pairs() -> Iterator[tuple[str, str]]:
        yield "a", "b"
        raise ValueError("file, line 2")

    corpus = Streamed()
    corpus.pairs["test"] = pairs()  # type: ignore[assignment]
    corpus.fingerprint = lambda: "streamed"  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="file, line 2"):
        prepare(corpus, Words(), tmp_path)
    assert not folders(tmp_path)


def test_what_cannot_be_read_is_no_failure_to_write(tmp_path: Path) -> None:
    def pairs() -> Iterator[tuple[str, str]]:
        yield "a", "b"
        raise OSError(errno.EIO, "Input/output error", "corpus.gz")

    corpus = Streamed()
    corpus.pairs["val"] = pairs()  # type: ignore[assignment]
    corpus.fingerprint = lambda: "streamed"  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=r"^split val of corpus sentences cannot be read: .*'corpus\.gz'$"):
        prepare(corpus, Words(), tmp_path)
    assert not folders(tmp_path)


@pytest.mark.parametrize("split", ["train", "test"])
def test_an_empty_iterator(tmp_path: Path, split: str) -> None:
    with pytest.raises(ValueError, match=f"split {split} of corpus sentences is empty"):
        prepare(Streamed(**{split: []}), Words(), tmp_path)
    assert not folders(tmp_path)


def test_what_is_prepared_depends_on_the_code_that_prepares_it(tmp_path: Path) -> None:
    """That of everyone involved, the classes that they are made from included."""
    code = "".join(data.text.preparation._code(Aligned(), Words()))
    for file in (
        "data/text/preparation.py",
        "data/text/vocabulary.py",
        "data/text/corpus.py",
        "zoo/core/text.py",
    ):
        assert (PROJECT / file).read_text(encoding="utf-8") in code
    assert Path(__file__).read_text(encoding="utf-8") in code
    assert Path(abc.__file__).read_text(encoding="utf-8") not in code, "Python's own differ by version"


def test_a_crash_leaves_nothing_that_blocks_or_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(data.text.preparation, "_write", crash)
        with pytest.raises(KeyboardInterrupt):
            prepare(Sentences(), Words(), tmp_path)
    assert not folders(tmp_path)
    assert len(prepare(Sentences(), Words(), tmp_path).splits["train"]) == 3


def test_what_a_killed_process_left_is_neither_used_nor_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:  # no clean-up, as after SIGKILL
        killed.setattr(shutil, "rmtree", lambda *_, **__: None)
        killed.setattr(Path, "rename", lambda *_: None)
        with pytest.raises(RuntimeError, match="cannot be read back"):
            prepare(Sentences(), Words(), tmp_path)
    (left,) = folders(tmp_path)
    (left / "half").touch()
    assert len(prepare(Sentences(), Words(), tmp_path).splits["train"]) == 3
    (made,) = folders(tmp_path)
    assert not (made / "half").exists()


def damage_summary(folder: Path) -> None:
    (folder / "summary.json").write_text('{"splits": ["train"')


def damage_rows(folder: Path) -> None:
    (folder / "train.arrow").write_bytes((folder / "train.arrow").read_bytes()[:-100])


def damage_bit(folder: Path) -> None:
    content = bytearray((folder / "train.arrow").read_bytes())
    content[content.index(b"b c")] ^= 1
    (folder / "train.arrow").write_bytes(content)


def damage_empty(folder: Path) -> None:
    (folder / "val.arrow").write_bytes(b"")


def damage_missing(folder: Path) -> None:
    (folder / "val.arrow").unlink()


def damage_other(folder: Path) -> None:
    shutil.copy(folder / "test.arrow", folder / "train.arrow")


def damage_checksums(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text("nonsense\n")


@pytest.mark.parametrize(
    "damage",
    [
        damage_summary,
        damage_rows,
        damage_bit,
        damage_empty,
        damage_missing,
        damage_other,
        damage_checksums,
        shutil.rmtree,
    ],
)
def test_a_damaged_folder_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    good = prepare(Sentences(), Words(), tmp_path).splits["train"][:]
    (folder,) = folders(tmp_path)
    damage(folder)
    corpus = Sentences()
    assert prepare(corpus, Words(), tmp_path).splits["train"][:] == good
    assert corpus.loads == 1
    assert folders(tmp_path) == [folder]
    assert ("is damaged" in caplog.text) is (damage is not shutil.rmtree)
    assert prepare(corpus, Words(), tmp_path).splits["train"][:] == good
    assert corpus.loads == 1, "now it is whole"


def test_the_checksums_are_those_of_a_common_tool(tmp_path: Path) -> None:
    prepare(Sentences(), Words(), tmp_path)
    (folder,) = folders(tmp_path)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


@pytest.mark.parametrize("damaged", [False, True])
def test_concurrent_starts_prepare_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    if damaged:
        prepare(Sentences(), Words(), tmp_path)
        damage_rows(folders(tmp_path)[0])
    written: list[Path] = []
    write = data.text.preparation._write
    monkeypatch.setattr(
        data.text.preparation, "_write", lambda path, rows: (written.append(path), write(path, rows))[1]
    )
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: prepare(Sentences(), Words(), tmp_path), range(4)))
    assert len({prepared.test_hash for prepared in made}) == 1
    assert all(len(prepared.splits["train"]) == 3 for prepared in made)
    assert len(folders(tmp_path)) == 1
    assert len(written) == 6, "text and ids of three splits, by one of the four"


def test_waiting_for_another_process_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prepare(Sentences(), Words(), tmp_path)
    (folder,) = folders(tmp_path)
    shutil.rmtree(folder)
    said = Event()
    handler = logging.Handler()
    handler.emit = lambda record: said.set()  # type: ignore[method-assign]
    with (
        caplog.at_level(logging.INFO, logger=data.core.cache.__name__),
        folder.with_name(f".{folder.name}.lock").open() as lock,
        ThreadPoolExecutor(1) as pool,
    ):
        logging.getLogger(data.core.cache.__name__).addHandler(handler)
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = pool.submit(prepare, Sentences(), Words(), tmp_path)
        assert said.wait(10)
        assert not waiting.done()
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert len(waiting.result(10).splits["train"]) == 3
        logging.getLogger(data.core.cache.__name__).removeHandler(handler)
    assert f"waiting for another process that prepares {folder}" in caplog.text


def test_a_disk_too_full_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("word " * 1000, "Wort " * 1000)] * 10
    corpus = Sentences(train=pairs)

    def disk(free: int) -> None:
        monkeypatch.setattr(
            data.text.preparation.shutil, "disk_usage", lambda path: SimpleNamespace(free=free)
        )

    disk(10_400_000)
    with pytest.raises(RuntimeError) as error:
        prepare(corpus, Words(), tmp_path)
    assert str(error.value) == (
        f"preparing sentences needs up to 10.5 MB below {tmp_path / 'text'} (paths.cache_dir),"
        " where 10.4 MB are free"
    )
    assert not folders(tmp_path)
    disk(10_510_000)
    for vocabulary in (Words(), Characters()):
        prepare(corpus, vocabulary, tmp_path)
    for folder in folders(tmp_path):
        assert sum(path.stat().st_size for path in folder.iterdir()) < 510_000, "the estimate is a bound"


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    place = tmp_path / "file"
    place.write_text("in the way")
    return place


def test_an_unwritable_cache_names_its_key(unwritable: Path) -> None:
    with pytest.raises(RuntimeError, match=r"file.text \(paths\.cache_dir\)"):
        prepare(Sentences(), Words(), unwritable)


@pytest.mark.parametrize("split", ["test", "test_more"])
def test_what_is_chosen_on_is_not_reported_on(tmp_path: Path, split: str) -> None:
    pairs = [("b c", "C B"), ("d", "D")]
    message = f"^splits val and {split} of corpus sentences hold the same items: .* files of its own"
    for kind in (Sentences, Streamed):
        with pytest.raises(ValueError, match=message):
            prepare(kind(val=pairs, **{split: pairs}), Words(), tmp_path)
        assert not folders(tmp_path)


@pytest.mark.parametrize("split", ["train", "val", "test", "test_more"])
def test_an_empty_split(tmp_path: Path, split: str) -> None:
    with pytest.raises(ValueError, match=f"split {split} of corpus sentences is empty"):
        prepare(Sentences(**{split: []}), Words(), tmp_path)


def test_a_missing_column(tmp_path: Path) -> None:
    class Renamed(Sentences):
        def load(self) -> dict[str, Dataset]:
            splits = super().load()
            return splits | {"val": splits["val"].rename_column("target", "translation")}

    with pytest.raises(
        ValueError, match="val of corpus sentences has no column target; it has source, trans"
    ):
        prepare(Renamed(), Words(), tmp_path)
    assert not (tmp_path / "text").exists()


def test_a_missing_split(tmp_path: Path) -> None:
    corpus = Sentences()
    del corpus.pairs["val"]
    with pytest.raises(ValueError, match="sentences has no split val; it has train, test"):
        prepare(corpus, Words(), tmp_path)


def test_alignments_must_fit_the_tokens(tmp_path: Path) -> None:
    prepared = prepare(Aligned(), Words(), tmp_path)
    assert prepared.splits["train"]["alignment"][:] == [[0, 1, 2], [0, 1], [0, 1]]
    with pytest.raises(ValueError, match=r"train, row 0: 3 alignment positions for 4 target tokens"):
        prepare(Aligned(), Characters(), tmp_path)
    assert len(folders(tmp_path)) == 1


def test_the_row_whose_alignment_does_not_fit_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data.text.preparation, "_CHUNK", 2)
    train = [("x", "D")] * 5 + [("x", "two!")]  # a mark of its own, which splitting at blanks does not see
    with pytest.raises(ValueError, match=r"train, row 5: 2 alignment positions for 3 target tokens"):
        prepare(Aligned(train=train), Words(), tmp_path)


def test_the_folder_may_lie_below_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    prepare(Sentences(), Words(), Path("~/cache"))
    assert len(folders(tmp_path / "cache")) == 1


def test_the_test_hash_is_over_raw_pairs_in_order(tmp_path: Path) -> None:
    def test_hash(*pairs: tuple[str, str]) -> str:
        return prepare(Sentences(test=list(pairs)), Words(), tmp_path).test_hash

    one, two = ("a", "b c"), ("d  e", "f")
    hashes = [test_hash(one, two), test_hash(two, one), test_hash(one), test_hash(one, ("d e", "f"))]
    hashes += [test_hash(("a b", "c"), two), test_hash(("ab", " c"), two), test_hash(one, ("d  e", "f "))]
    assert len(set(hashes)) == len(hashes)
    assert test_hash(one, two) == hashes[0]
    again = prepare(Sentences(test=[one, two], val=[("q", "r")]), Characters(), tmp_path)
    assert again.test_hash == hashes[0]


def test_majority_baseline(tmp_path: Path) -> None:
    assert most_frequent(iter(["a", "c", "b", "c", "b"])) == 1, "of equals the first"
    tests = {"test": [("x", "D"), ("y", "E")], "test_more": [("x", "D")]}
    assert prepare(Sentences(**tests), Words(), tmp_path).majority == {
        "target": {"test": 0.5, "test_more": 1.0}
    }
