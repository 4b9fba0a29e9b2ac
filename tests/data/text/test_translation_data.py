"""The translation data module."""

import importlib
import logging
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from through_loaders import assert_every_item_once, shared, trained_on

import data.text.preparation
from data.core.data_module import check_same_data
from data.text.corpus import Corpus, PairCorpus
from data.text.toys import Copy, Reverse
from data.text.translation import TranslationData
from data.text.vocabulary import Characters, Words
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec

SMALL = {
    "symbols": 20,
    "minimum_length": 5,
    "maximum_length": 15,
    "train": 300,
    "validation": 20,
    "test": 30,
}


class Lines(PairCorpus):
    """Given pairs."""

    name = "lines"
    languages = ("en", "de")

    def __init__(self, **splits: list[tuple[str, str]]) -> None:
        self.splits = splits

    def fingerprint(self) -> str:
        return repr(self.splits)

    def load(self) -> dict[str, Dataset]:
        return {
            split: Dataset.from_dict({"source": [s for s, _ in pairs], "target": [t for _, t in pairs]})
            for split, pairs in self.splits.items()
        }


def module(cache: Path, corpus: Corpus | None = None, **options: Any) -> TranslationData:
    defaults: dict[str, Any] = {
        "tokenizer": Words(joint=True),
        "batch_tokens": 400,
        "maximum_length": 16,
        "seed": 1,
        "cache_dir": cache,
    }
    return TranslationData(corpus=corpus or Reverse(seed=5, **SMALL), **defaults | options)


def ready(cache: Path, corpus: Corpus | None = None, **options: Any) -> TranslationData:
    made = module(cache, corpus, **options)
    made.prepare_data()
    made.setup("fit")
    made.setup("test")
    return made


def order(data: TranslationData, epochs: int = 1) -> list[list[int]]:
    loader = data.train_dataloader()
    seen = []
    for epoch in range(epochs):
        loader.batches.set_epoch(epoch)
        seen += [batch.index.tolist() for batch in loader]
    return seen


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_batches(cache: Path) -> None:
    data = ready(cache)
    pairs = Reverse(seed=5, **SMALL).load()["train"]
    source, target = data.spec.text("source"), data.spec.text("target")
    codec = TextCodec(source)
    for batch in data.train_dataloader():
        rows = pairs[batch.index.tolist()]
        assert batch.source_text == rows["source"]
        assert batch.target_text == rows["target"]
        assert max(batch.source.ids.numel(), batch.target.ids[:, 1:].numel()) <= 400
        for side, text in ((batch.source, rows["source"]), (batch.target, rows["target"])):
            assert side.ids.dtype == side.lengths.dtype == torch.int64
            assert side.lengths.max() == side.ids.shape[1]
            assert (side.ids[~side.keep_mask] == source.pad).all()
            for ids, length, sentence in zip(side.ids, side.lengths, text, strict=True):
                assert ids[length - 1] == source.eos
                assert codec.decode(ids.tolist()) == sentence
        assert (batch.target.ids[:, 0] == target.bos).all()
        assert not (batch.source.ids == source.bos).any()
        assert batch.alignment is not None
        assert batch.alignment.shape == batch.target.ids[:, 1:].shape
        predicted = batch.target.ids[:, 1:]
        aligned = torch.gather(batch.source.ids, 1, batch.alignment.clamp(min=0))
        real = batch.target.keep_mask[:, 1:]
        assert (aligned[real] == predicted[real]).all()
        assert (batch.alignment[~real] == -1).all()


def test_batches_reach_across_pieces_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(ready(tmp_path / "whole").train_dataloader())
    monkeypatch.setattr("data.text.preparation._CHUNK", 7)
    pieces = list(ready(tmp_path / "pieces").train_dataloader())
    for one, other in zip(whole, pieces, strict=True):
        assert one.source_text == other.source_text
        for expected, found in (
            (one.source.ids, other.source.ids),
            (one.target.ids, other.target.ids),
            (one.alignment, other.alignment),
        ):
            assert expected is not None
            assert found is not None
            assert torch.equal(expected, found)


def test_a_start_looks_at_its_files_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(cache)
    looked: list[Path] = []
    content_hash = data.text.preparation.content_hash
    monkeypatch.setattr(
        data.text.preparation, "content_hash", lambda paths: (looked.extend(paths), content_hash(paths))[1]
    )
    ready(cache)
    assert len(set(looked)) == len(looked) == 7, "text and ids of three splits, and the summary"


@pytest.mark.parametrize("workers", [0, 1])
def test_every_item_once(cache: Path, workers: int) -> None:
    assert_every_item_once(ready(cache, num_workers=workers), [300, 20, 30])


def test_processes_share_every_split(cache: Path) -> None:
    shared(lambda: ready(cache, batch_tokens=100), 2, [300, 20, 30])


def test_validation_has_one_order_longest_first(cache: Path) -> None:
    data = ready(cache, batch_tokens=20)
    orders = [[batch.index.tolist() for batch in data.val_dataloader()] for _ in range(2)]
    assert orders[0] == orders[1]
    longest = [int(batch.source.lengths.max()) for batch in data.val_dataloader()]
    assert len(longest) > 10
    assert longest == sorted(longest, reverse=True)


def test_a_corpus_without_alignment_has_none(cache: Path) -> None:
    pairs = [("a b", "c"), ("d", "e f")]
    data = ready(cache, Lines(train=pairs, val=pairs, test=pairs[:1]))
    assert all(batch.alignment is None for batch in data.train_dataloader())


def test_spec(cache: Path) -> None:
    data = ready(cache)
    spec = data.spec
    assert (spec.name, spec.text("source").size, spec.text("source").maximum_length) == ("reverse", 24, 16)
    assert spec.text("source").tokenizer == spec.text("target").tokenizer
    assert DataSpec.from_dict(spec.to_dict()) == spec
    assert len(spec.test_hash) == len(spec.vocabulary_hash) == 64
    separate = ready(cache, tokenizer=Words(joint=False)).spec
    assert separate.test_hash == spec.test_hash
    other = ready(cache, Copy(seed=5, **SMALL)).spec
    assert other.test_hash != spec.test_hash
    assert other.vocabulary_hash == spec.vocabulary_hash  # the same symbols, equally often
    lines = [("a b", "c")]
    spec = ready(cache, Lines(train=lines, val=lines * 2, test=lines)).spec
    assert (spec.text("source").language, spec.text("target").language) == ("en", "de")
    lines = [("a b", "d")]
    other = ready(cache, Lines(train=lines, val=lines * 2, test=lines), tokenizer=Words(joint=False)).spec
    lines = [("a b", "e")]
    another = ready(cache, Lines(train=lines, val=lines * 2, test=lines), tokenizer=Words(joint=False)).spec
    assert other.text("source") == another.text("source")
    assert other.vocabulary_hash != another.vocabulary_hash, "of both sides"


def test_there_is_no_spec_before_setup(cache: Path) -> None:
    with pytest.raises(RuntimeError, match=r"setup\(\)"):
        _ = module(cache).spec


def test_test_splits_begin_with_test(cache: Path) -> None:
    lines = [("a b", "c")]
    data = ready(cache, Lines(train=lines, val=lines, test_b=lines * 2, test_a=lines * 3, test=lines * 4))
    assert data.test_splits == ["test", "test_a", "test_b"]
    assert [len(next(iter(loader)).index) for loader in data.test_dataloader()] == [4, 3, 2]
    assert data.baselines == {split: {"majority_exact_match": 1.0} for split in data.test_splits}


def test_long_pairs_are_counted_never_silently_lost(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    short, fits, source_long, target_long = ("a", "b"), ("a a", "b b"), ("x y z", "b"), ("a", "b b b")
    rows = [source_long, short, target_long, fits]
    with caplog.at_level(logging.WARNING, logger="data.text.text_data"):
        data = ready(cache, Lines(train=rows, val=rows, test=rows[::-1]), maximum_length=3)
    assert data.report["train"].items() >= {"pairs": 4, "dropped": 2}.items()
    for split in ("val", "test"):
        assert data.report[split].items() >= {"pairs": 4, "truncated": 1}.items()
    assert "train: 2 of 4 pairs dropped" in caplog.text
    assert "val: 1 of 4 pairs truncated" in caplog.text
    train = list(data.train_dataloader())
    assert sorted(i for batch in train for i in batch.index.tolist()) == [1, 3]
    codec = TextCodec(data.spec.text("source"))
    for batch in train:
        for index, text, ids in zip(batch.index, batch.source_text, batch.source.ids, strict=True):
            assert text == rows[index][0] == codec.decode(ids.tolist())
    (batch,) = data.val_dataloader()
    row = batch.index.tolist().index(0)
    assert batch.source.lengths[row] == 3
    assert batch.source.ids[row, 2] == 3  # EOS all the same
    assert batch.source_text[row] == "x y z"
    assert batch.target.lengths[batch.index.tolist().index(2)] == 5  # references stay whole


def test_alignments_into_what_was_cut_off_are_none(cache: Path) -> None:
    data = ready(cache, Copy(seed=5, **SMALL | {"minimum_length": 2, "maximum_length": 6}), maximum_length=4)
    for batch in data.test_dataloader()[0]:
        assert batch.alignment is not None
        for row, symbols in enumerate(batch.source_text):
            count = len(symbols.split())
            known = list(range(count + 1)) if count < 4 else [0, 1, 2, 3, *[-1] * (count - 3)]
            assert batch.alignment[row, : count + 1].tolist() == known


def test_nothing_left_to_train_on(cache: Path) -> None:
    with pytest.raises(ValueError, match=r"all 300 training pairs of reverse .* maximum_length=3"):
        ready(cache, maximum_length=3)


@pytest.mark.parametrize(("name", "value"), [("batch_tokens", 0), ("maximum_length", 1)])
def test_senseless_numbers(cache: Path, name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least .*, got {value}"):
        module(cache, **{name: value})


def test_epochs_differ_and_seeds_differ_and_both_repeat(cache: Path) -> None:
    data = ready(cache)
    three = order(data, epochs=3)
    batches = len(three) // 3
    assert three[:batches] != three[batches : 2 * batches]
    assert order(ready(cache), epochs=3) == three
    assert order(ready(cache, seed=2), epochs=3) != three


def test_loading_leaves_global_random_numbers_alone(cache: Path) -> None:
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    data = ready(cache)
    for loader in (data.train_dataloader(), data.val_dataloader(), *data.test_dataloader()):
        list(loader)
    python, (kind, keys, *rest), state = before
    assert random.getstate() == python
    now = np.random.get_state()
    assert (now[0], list(now[2:])) == (kind, rest)
    assert (now[1] == keys).all()
    assert torch.equal(torch.get_rng_state(), state)


def test_a_given_specification_is_taken_over(cache: Path) -> None:
    original = ready(cache)
    again = ready(cache, tokenizer=Characters(), spec=original.spec)
    assert again.spec == original.spec
    ids, same = (next(iter(data.val_dataloader())).source.ids for data in (original, again))
    assert torch.equal(ids, same)


def test_a_specification_of_other_data_is_refused(cache: Path) -> None:
    spec = ready(cache).spec
    with pytest.raises(ValueError, match=r"name: reverse in the checkpoint, copy in the data; test split: "):
        ready(cache, Copy(seed=5, **SMALL), spec=spec)
    with pytest.raises(ValueError, match=r"^the checkpoint belongs to other data; vocabulary: "):
        check_same_data(spec, ready(cache, tokenizer=Words(joint=True, size=10)).spec)
    lines = [("a b", "c")]
    one = ready(cache, Lines(train=lines, val=lines * 2, test=lines))
    turned = Lines(train=lines, val=lines * 2, test=lines)
    turned.languages = ("de", "en")
    with pytest.raises(
        ValueError,
        match="source: text in en in the checkpoint, text in de in the data; target",
    ):
        ready(cache, turned, spec=one.spec)
    check_same_data(spec, ready(cache).spec)


def test_the_corpus_in_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "own-data.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "corpus_of_the_guide.py").write_text(code, encoding="utf-8")
    for split in ("train", "val", "test"):
        (tmp_path / f"{split}.en").write_text(f"title\na {split}\nwomen\n", encoding="utf-8")
        (tmp_path / f"{split}.nl").write_text(f"titel\neen {split}\nvrouwen\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    corpus = importlib.import_module("corpus_of_the_guide").MyCorpus(folder=str(tmp_path))
    (batch,) = ready(tmp_path, corpus).val_dataloader()
    assert sorted(batch.target_text) == ["een val", "vrouwen"]


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings(
    "ignore:.*does not have many workers",
    "ignore:.*LeafSpec.*:FutureWarning",  # torch's, inside lightning
    "ignore:The dirpath has changed",  # the resumed run must not write into the whole one's folder
)
@pytest.mark.parametrize(
    ("saving", "around_epoch_end", "workers"),
    [
        ({"every_n_train_steps": 1, "save_on_train_epoch_end": False}, (-7, -1, 0, 1), 0),
        ({"every_n_train_steps": 1, "save_on_train_epoch_end": False}, (-4,), 1),  # which has fetched ahead
        ({"every_n_epochs": 1, "save_on_train_epoch_end": True}, (0,), 0),
        ({"every_n_epochs": 1}, (-5,), 0),  # after a validation
    ],
)
def test_training_goes_on_with_the_very_next_batch(
    cache: Path, tmp_path: Path, saving: dict[str, Any], around_epoch_end: tuple[int, ...], workers: int
) -> None:
    def fit(data: TranslationData, name: str, checkpoint: Path | None = None) -> list[list[int]]:
        return trained_on(
            data, lambda batch: batch.index.tolist(), tmp_path / name, checkpoint, epochs=3, **saving
        )

    whole = fit(ready(cache, num_workers=workers), "whole")
    assert whole == order(ready(cache), epochs=3)
    for offset in around_epoch_end:
        taken = len(whole) // 3 + offset
        checkpoint = tmp_path / "whole" / f"{taken}.ckpt"
        resumed = fit(module(cache, num_workers=workers), f"from{taken}", checkpoint)
        assert resumed == whole[taken:]
