"""Prepared corpora on disk."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from datasets import Dataset

import data.preparation
from data.corpus import Corpus
from data.preparation import majority_baseline, prepare
from data.vocabulary import Characters, Vocabulary, Words
from zoo.spec import DataSpec
from zoo.text import text_spec


class Sentences(Corpus):
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

    def load(self) -> dict[str, Dataset]:
        return {
            split: pairs.add_column("alignment", [list(range(len(t.split()) + 1)) for t in pairs["target"]])
            for split, pairs in super().load().items()
        }


def folders(cache: Path) -> list[Path]:
    return sorted((cache / "translation").iterdir())


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
    assert [Path(file["filename"]).name for file in files] == ["train.arrow"]


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
    monkeypatch.setattr(data.preparation, "_code", lambda *_: iter(["changed"]))
    prepare(Sentences(), Words(), tmp_path)
    assert len(folders(tmp_path)) == len(variants) + 1


def test_the_vocabulary_is_that_of_the_train_split(tmp_path: Path) -> None:
    source, target = prepare(
        Sentences(test=[("zzz", "ZZZ")], val=[("yyy", "YYY")]), Words(), tmp_path
    ).tokenizers
    assert "zzz" not in source + target
    assert "yyy" not in source + target
    assert "▁b" in source
    assert "▁C" in target


def test_a_given_vocabulary_is_used_and_none_trained(tmp_path: Path) -> None:
    other = prepare(Sentences(train=[("x y", "D X")]), Words(), tmp_path)
    source, target = (text_spec(tokenizer) for tokenizer in other.tokenizers)
    spec = DataSpec("sentences", source, target, "", "hash")
    prepared = prepare(Sentences(), spec, tmp_path)
    assert prepared.tokenizers == other.tokenizers
    assert prepared.splits["test"][0]["source_ids"] == [4, 3]  # x is known, b and c are not
    assert prepared.splits["train"][0]["source_ids"] == [1, 1, 3]


def test_long_corpora_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.preparation, "_CHUNK", 2)
    train = [(f"w{i} v", "T " * (i % 3 + 1)) for i in range(7)]
    rows = prepare(Sentences(train=train), Words(), tmp_path).splits["train"]
    assert [row["source"] for row in rows] == [source for source, _ in train]
    assert [len(row["target_ids"]) for row in rows] == [i % 3 + 2 for i in range(7)]


@pytest.mark.parametrize("when", ["write", "publish"])
def test_a_crash_leaves_nothing_that_blocks_or_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(data.preparation, f"_{when}", crash)
        with pytest.raises(KeyboardInterrupt):
            prepare(Sentences(), Words(), tmp_path)
    assert not folders(tmp_path)
    assert len(prepare(Sentences(), Words(), tmp_path).splits["train"]) == 3


def test_what_a_killed_process_left_is_neither_used_nor_kept_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:  # no clean-up, as after SIGKILL
        killed.setattr(shutil, "rmtree", lambda *_, **__: None)
        killed.setattr(data.preparation, "_publish", lambda *_: None)
        with pytest.raises(RuntimeError, match="cannot be read back"):
            prepare(Sentences(), Words(), tmp_path)
    (left,) = folders(tmp_path)
    assert len(prepare(Sentences(), Words(), tmp_path).splits["train"]) == 3
    assert left.exists()  # perhaps another process is at work there
    day_before_yesterday = time.time() - 2 * 24 * 3600
    os.utime(left, (day_before_yesterday, day_before_yesterday))
    prepare(Sentences(mark="other"), Words(), tmp_path)
    assert not left.exists()


def damage_summary(folder: Path) -> None:
    (folder / "summary.json").write_text('{"rows": {"train"')


def damage_rows(folder: Path) -> None:
    (folder / "train.arrow").write_bytes((folder / "train.arrow").read_bytes()[:-100])


def damage_missing(folder: Path) -> None:
    (folder / "val.arrow").unlink()


def damage_other(folder: Path) -> None:
    shutil.copy(folder / "test.arrow", folder / "train.arrow")


@pytest.mark.parametrize("damage", [damage_summary, damage_rows, damage_missing, damage_other])
def test_a_damaged_folder_is_made_anew(tmp_path: Path, damage: object) -> None:
    prepare(Sentences(), Words(), tmp_path)
    (folder,) = folders(tmp_path)
    damage(folder)  # type: ignore[operator]
    prepared = prepare(Sentences(), Words(), tmp_path)
    assert len(prepared.splits["train"]) == 3
    assert folders(tmp_path) == [folder]


def test_concurrent_starts(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: prepare(Sentences(), Words(), tmp_path), range(4)))
    assert len({prepared.test_hash for prepared in made}) == 1
    assert all(len(prepared.splits["train"]) == 3 for prepared in made)
    assert len(folders(tmp_path)) == 1


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    place = tmp_path / "file"
    place.write_text("in the way")
    return place


def test_an_unwritable_cache_names_its_key(unwritable: Path) -> None:
    with pytest.raises(RuntimeError, match=r"file.translation \(paths\.cache_dir\)"):
        prepare(Sentences(), Words(), unwritable)


@pytest.mark.parametrize("split", ["train", "val", "test", "test_more"])
def test_an_empty_split(tmp_path: Path, split: str) -> None:
    with pytest.raises(ValueError, match=f"split {split} of corpus sentences is empty"):
        prepare(Sentences(**{split: []}), Words(), tmp_path)


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


def test_the_test_hash_is_over_raw_pairs_in_order(tmp_path: Path) -> None:
    def test_hash(*pairs: tuple[str, str]) -> str:
        return prepare(Sentences(test=list(pairs)), Words(), tmp_path).test_hash

    one, two = ("a", "b c"), ("d  e", "f")
    hashes = [test_hash(one, two), test_hash(two, one), test_hash(one), test_hash(one, ("d e", "f"))]
    hashes += [test_hash(("a b", "c"), two), test_hash(one, ("d  e", "f "))]
    assert len(set(hashes)) == len(hashes)
    assert test_hash(one, two) == hashes[0]
    again = prepare(Sentences(test=[one, two], val=[("q", "r")]), Characters(), tmp_path)
    assert again.test_hash == hashes[0]


def test_majority_baseline(tmp_path: Path) -> None:
    assert majority_baseline(["a", "b", "b"], ["b", "c", "b", "a"]) == 0.5
    tests = {"test": [("x", "D"), ("y", "E")], "test_more": [("x", "D")]}
    assert prepare(Sentences(**tests), Words(), tmp_path).majority == {"test": 0.5, "test_more": 1.0}
