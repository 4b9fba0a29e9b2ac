"""Texts with masked tokens: what is chosen, what stands in its place, which texts are put together."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.core.batching import Part
from data.text.columns import Column, Sentences, Text
from data.text.corpus import Corpus
from data.text.masked import MaskedData
from data.text.masked_rows import Documents, MaskedRows, packed
from data.text.vocabulary import Words
from data.text.wordpiece import WordPiece
from zoo.core.spec import TextSpec
from zoo.core.text import TextCodec

SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
SIZE = 4096
TEXT = TextSpec("tokenizer", SIZE, 35, special=SPECIAL)


def documents(count: int = 400, seed: int = 0) -> Documents:
    """Documents of even tokens, or of odd ones, in sentences of 1 to 9 tokens."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 12, count)
    lengths = [rng.integers(1, 10, number) for number in counts]
    ends = np.cumsum(np.concatenate(lengths))
    document_ends = ends[np.cumsum(counts) - 1]
    tokens = np.concatenate(
        [rng.integers(3, SIZE // 2, one.sum()) * 2 + number % 2 for number, one in enumerate(lengths)]
    )
    return Documents(tokens, ends, document_ends)


def rows(split: str = "train", *, pairs: bool = True, seed: int = 1, **changes: Any) -> MaskedRows:
    return MaskedRows(documents(**changes), TEXT, split=split, seed=seed, pairs=pairs)


def test_chunks_are_whole_sentences_that_fit() -> None:
    #        0-4 | 4-7 | 7-9 || 9-10 || 10-22 | 22-24
    ends, documents_end = np.array([4, 7, 9, 10, 22, 24]), np.array([9, 10, 24])
    found = packed(Documents(np.arange(24), ends, documents_end), 8)
    assert found.tolist() == [[0, 7], [7, 9], [10, 18], [18, 24]]


def test_chunks_cover_every_document() -> None:
    source = documents()
    chunks = packed(source, 32)
    assert (np.diff(chunks, axis=1) <= 32).all()
    assert (chunks[1:, 0] >= chunks[:-1, 1]).all()
    owner = np.searchsorted(source.document_ends, chunks[:, 0], side="right")
    assert (chunks[:, 1] <= source.document_ends[owner]).all()
    left_out = len(source.tokens) - np.diff(chunks, axis=1).sum()
    assert left_out <= len(source.document_ends)  # one token alone, at the end of a document


def test_shares_of_masks_are_those_of_the_paper() -> None:
    """Section 3.1: 15 % are chosen, of these 80 % MASK, 10 % random, 10 % as they were."""
    source = rows()
    kinds, chosen, words = np.zeros(3), 0, 0
    random: list[int] = []
    for epoch in range(8):
        batch = source[Part(epoch, np.arange(len(source)))]
        now = batch.text.ids.flatten()[batch.places]
        kinds += [(now == 4).sum(), ((now != 4) & (now != batch.labels)).sum(), (now == batch.labels).sum()]
        random += now[(now != 4) & (now != batch.labels)].tolist()
        chosen += len(batch.places)
        words += int((batch.text.lengths - 3).sum())
        assert not torch.isin(batch.labels, torch.tensor([0, 2, 3, 4])).any()
        assert len(batch.places.unique()) == len(batch.places)
        assert np.array_equal(
            source.mask_counts(epoch, np.arange(len(source))),
            (batch.places // batch.text.ids.shape[1]).bincount(minlength=len(source)),
        )
    assert chosen / words == pytest.approx(0.15, abs=0.01)
    # Four deviations of a share of so many draws.
    for share, kind in zip((0.8, 0.1, 0.1), kinds / chosen, strict=True):
        assert kind == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / chosen))
    assert min(random) > 4
    assert np.mean(random) == pytest.approx(SIZE / 2, rel=0.05)


def test_half_of_the_pairs_follow_and_the_others_are_of_other_documents() -> None:
    source = rows()
    follows, numbers = [], np.arange(len(source))
    for epoch in range(6):
        batch = source[Part(epoch, numbers)]
        assert batch.follows is not None
        ids = batch.text.ids.flatten().scatter(0, batch.places, batch.labels).view_as(batch.text.ids)
        follows += batch.follows.tolist()
        for row, (length, next_one) in enumerate(
            zip(batch.text.lengths.tolist(), batch.follows.tolist(), strict=True)
        ):
            tokens = ids[row, :length].tolist()
            seps = [place for place, one in enumerate(tokens) if one == 3]
            assert tokens[0] == 2
            assert len(seps) == 2
            assert seps[1] == length - 1
            assert batch.segments[row, :length].tolist() == [0] * (seps[0] + 1) + [1] * (length - seps[0] - 1)
            first, second = tokens[1 : seps[0]], tokens[seps[0] + 1 : -1]
            assert first
            assert second
            joined = first + second
            start = int(source._chunks[row, 0])
            there = source._documents.tokens[start : start + len(joined)].tolist()
            assert (joined == there) == bool(next_one)
    assert np.mean(follows) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(follows)))


def same(one: Any, other: Any) -> bool:
    return all(
        torch.equal(a, b)
        for a, b in zip(
            (*one.text, one.segments, one.places, one.labels),
            (*other.text, other.segments, other.places, other.labels),
            strict=True,
        )
    )


def test_draws_belong_to_the_epoch_and_the_row() -> None:
    source = rows()
    numbers = np.arange(20)
    assert same(source[Part(3, numbers)], rows()[Part(3, numbers)])
    assert not same(source[Part(3, numbers)], source[Part(4, numbers)])
    assert not same(source[Part(3, numbers)], rows(seed=2)[Part(3, numbers)])
    together, alone = source[Part(3, numbers)], source[Part(3, numbers[7:8])]
    length = int(alone.text.lengths[0])
    assert torch.equal(together.text.ids[7, :length], alone.text.ids[0])
    evaluated = rows("val")
    assert same(evaluated[Part(0, numbers)], evaluated[Part(5, numbers)])
    assert same(evaluated[Part(0, numbers)], rows("val", seed=2)[Part(0, numbers)])


def test_single_texts_have_one_segment() -> None:
    batch = rows(pairs=False)[Part(0, np.arange(30))]
    assert batch.follows is None
    assert not batch.segments.any()
    assert ((batch.text.ids == 3).sum(1) == 1).all()
    assert int(batch.text.lengths.max()) <= 35


def test_one_document_alone_has_no_other_to_take_from() -> None:
    batch = rows(count=1)[Part(0, np.arange(1))]
    assert batch.follows is not None
    assert batch.follows.all()


@dataclass(kw_only=True)
class Stories(Corpus):
    """Documents of sentences, or the same as texts."""

    documents: bool
    name: str = "stories"

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"text": Sentences("en") if self.documents else Text("en")}

    def fingerprint(self) -> str:
        return repr(self)

    def load(self) -> dict[str, list[tuple[Any, ...]]]:
        stories = [
            [f"the {animal} sat .", "It slept well !"] for animal in ("cat", "dog", "cow", "hen", "pig")
        ]
        told = [(story if self.documents else " ".join(story),) for story in stories]
        return {"train": told, "val": told[:2][::-1], "test": told[2:]}


def set_up(folder: Path, corpus: Corpus, **changes: Any) -> MaskedData:
    settings: dict[str, Any] = {
        "tokenizer": WordPiece(size=100, lowercase=True, joint=True),
        "next_sentence": True,
        "batch_tokens": 64,
        "maximum_length": 16,
    }
    data = MaskedData(corpus=corpus, seed=1, cache_dir=folder, **(settings | changes))
    data.prepare_data()
    data.setup()
    return data


@pytest.mark.parametrize("as_documents", [True, False])
def test_documents_and_texts_become_batches(tmp_path: Path, as_documents: bool) -> None:
    data = set_up(tmp_path, Stories(documents=as_documents))
    codec = TextCodec(data.spec.text("text"))
    assert set(data.spec.fields) == {"text", "follows"}
    seen = 0
    for batch in data.train_dataloader():
        ids = batch.text.ids.flatten().scatter(0, batch.places, batch.labels).view_as(batch.text.ids)
        for row, follows in zip(ids.tolist(), batch.follows.tolist(), strict=True):
            text = codec.decode(row)
            seen += 1
            if follows:  # the whole story, whose pieces the decoder joins
                assert text.startswith("the ")
                assert text.endswith("it slept well!")
        assert len(batch.index) <= 4
    assert seen == 5
    assert "follows" not in set_up(tmp_path, Stories(documents=True), next_sentence=False).spec.fields


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tokenizer": Words()}, "no cls, mask, sep"),
        ({"batch_tokens": 10}, "batch_tokens must be at least maximum_length=16"),
        ({"maximum_length": 5}, "maximum_length must be at least 8"),
    ],
)
def test_what_makes_no_masks_is_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        set_up(tmp_path, Stories(documents=True), **changes)
