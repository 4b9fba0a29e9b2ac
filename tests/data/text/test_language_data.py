"""Running text: corpora, vocabularies, windows and their order."""

import os
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from data.text.language import LanguageData
from data.text.running.corpora import (
    _ARTICLE,
    OwnRunningText,
    RunningText,
    Shakespeare,
    StandardLibrary,
    WikiText2,
    WikiText2Paragraphs,
)
from data.text.running.vocabulary import ByteBpe, EveryCharacter, WordsAndLines
from data.text.running.windows import Plan, Stream
from data.text.vocabulary import Vocabulary
from zoo.core.text import TextCodec, text_spec

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(kw_only=True)
class Letters(RunningText):
    name: str = field(default="letters", init=False)

    def fingerprint(self) -> str:
        return repr(self)

    def load(self) -> dict[str, list[tuple[str]]]:
        text = [(LETTERS[:17],), (LETTERS[17:22],), (LETTERS[22:],)]
        return {"train": text, "val": [(LETTERS,)], "test": text[:2]}


def ready(cache: Path, tokenizer: Vocabulary | None = None, **options: Any) -> LanguageData:
    numbers = {"batch_size": 3, "maximum_length": 4, "shuffled": False, "seed": 1, **options}
    data = LanguageData(corpus=Letters(), tokenizer=tokenizer or EveryCharacter(), cache_dir=cache, **numbers)
    data.prepare_data()
    data.setup()
    return data


@pytest.mark.parametrize("tokenizer", [EveryCharacter(), ByteBpe(size=300)])
def test_texts_come_back_as_they_were(tokenizer: Vocabulary) -> None:
    text = "To be,  or not\n\n\tto be: ünïcode\n"
    codec = TextCodec(text_spec(tokenizer.train([text])))
    assert codec.decode(codec.encode([text])[0]) == text


def test_words_and_the_ends_of_lines() -> None:
    text = " \n = Title = \n \n Words <unk> of a line . \n"
    codec = TextCodec(text_spec(WordsAndLines().train([text])))
    (ids,) = codec.encode([text])
    words = ["<eos>", "=", "Title", "=", "<eos>", "<eos>", "Words", "<unk>", "of", "a", "line", ".", "<eos>"]
    assert codec.tokens(ids) == words
    assert ids[7] == codec.spec.unk
    assert codec.spec.size == len(set(words)) + 1  # and padding
    assert codec.decode(ids) == "\n = Title =\n\n Words of a line .\n"


def test_an_article_begins_before_its_heading() -> None:
    text = " \n = One = \n \n text \n = = Part = = \n \n more \n \n = Two = \n \n end \n"
    assert _ARTICLE.split(text) == [text[: text.index(" \n = Two")], text[text.index(" \n = Two") :]]


def test_a_stream_reads_over_the_ends_of_chunks() -> None:
    stream = Stream([pa.array([[1, 2], [3]]), pa.array([[4], [5, 6, 7]]).slice(0, 2)])
    assert stream.starts.tolist() == [0, 2, 3, 4, 7]
    assert stream.read(1, 5).tolist() == [2, 3, 4, 5, 6]
    assert stream.read(3, 2).tolist() == [4, 5]
    assert stream.read(4, 3).tolist() == [5, 6, 7]


@pytest.mark.parametrize("size", range(2, 14))
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_every_token_but_the_first_is_predicted_once(size: int, stride: int) -> None:
    plan = Plan.through(np.array([0, size]), context=4, stride=stride)
    predicted = Counter()
    for start, length, known, _ in zip(*plan, strict=True):
        predicted.update(range(start + known + 1, start + length + 1))
    assert predicted == Counter(range(1, size))
    assert plan.lengths.max() <= 4
    for (start, length), (following, _) in pairwise(zip(plan.starts, plan.lengths, strict=True)):
        assert following == start + stride
        assert length == 4


@pytest.mark.parametrize("options", [{}, {"stride": 2}, {"apart": True}, {"evaluation_batch_size": 2}])
def test_evaluation_predicts_the_text_behind_what_it_reads(tmp_path: Path, options: dict[str, Any]) -> None:
    data = ready(tmp_path, **options)
    codec, pad = TextCodec(data.spec.text("text")), 0
    for loader in (data.val_dataloader(), *data.test_dataloader()):
        seen: list[str] = []
        for batch in loader:
            for tokens, targets in zip(batch.tokens, batch.targets, strict=True):
                real = targets != pad
                for place in real.nonzero().squeeze(1).tolist():
                    read, wanted = codec.tokens([int(tokens[place]), int(targets[place])])
                    assert LETTERS.index(wanted) == LETTERS.index(read) + 1
                    seen.append(wanted)
        text = LETTERS if loader is not None and len(seen) > 30 else LETTERS[:22]
        left_out = {text[0], LETTERS[17]} if options.get("apart") and text != LETTERS else {text[0]}
        assert sorted(seen) == sorted(set(text) - left_out)


def test_rows_go_on_from_batch_to_batch(tmp_path: Path) -> None:
    data = ready(tmp_path)
    codec = TextCodec(data.spec.text("text"))
    batches = list(data.train_dataloader())
    assert len({batch.tokens.shape for batch in batches}) == 1
    assert not batches[0].carried.any()
    assert all(batch.carried.all() for batch in batches[1:])
    for row in range(3):
        text = "".join("".join(codec.tokens(batch.tokens[row].tolist())) for batch in batches)
        assert text.removesuffix("<pad>") in LETTERS


def test_documents_that_are_apart_begin_anew(tmp_path: Path) -> None:
    data = ready(tmp_path, apart=True, batch_size=1)
    codec = TextCodec(data.spec.text("text"))
    begun = [
        codec.tokens(batch.tokens[0, :1].tolist())[0]
        for batch in data.train_dataloader()
        if not batch.carried.any()
    ]
    assert begun == [LETTERS[0], LETTERS[17], LETTERS[22]]


def test_random_windows_are_a_matter_of_seed_and_epoch(tmp_path: Path) -> None:
    def read(data: LanguageData, epoch: int, behind: int = 0) -> list[list[list[int]]]:
        loader = data.train_dataloader()
        loader.batches.set_epoch(epoch)
        loader.batches.seek(epoch, behind)
        batches = list(loader)
        assert not any(batch.carried.any() for batch in batches)
        assert all(torch.equal(one.tokens[:, 1:], one.targets[:, :-1]) for one in batches)
        return [batch.tokens.tolist() for batch in batches]

    data = ready(tmp_path, shuffled=True)
    first = read(data, 0)
    assert read(ready(tmp_path, shuffled=True), 0) == first
    assert read(data, 0, behind=1) == first[1:]
    assert read(data, 1) != first
    assert read(ready(tmp_path, shuffled=True, seed=2), 0) != first
    assert data.batch("train", [0]).tokens.tolist() == first[0][:1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"maximum_length": 36}, ["36 tokens, and data.maximum_length=36: every window is all of it"]),
        ({"maximum_length": 36, "shuffled": True}, ["36 tokens, and data.maximum_length=36"]),
        ({"batch_size": 10}, ["36 tokens, which are 9 windows of data.maximum_length=4: batches have these"]),
        ({"batch_size": 10, "shuffled": True}, []),
        ({"batch_size": 9}, []),
    ],
)
def test_a_short_text_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any], said: list[str]
) -> None:
    ready(tmp_path, **options)
    found = [one.getMessage() for one in caplog.records if one.name == "data.text.language"]
    assert len(found) == len(said)
    assert all(part in message for part, message in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"stride": 5}, "stride"),
        ({"stride": 0}, "stride"),
        ({"apart": True, "shuffled": True}, "apart"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_refuses(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ready(tmp_path, **options)


class TestOwnText:
    def test_the_end_of_a_file_is_held_out(self, tmp_path: Path) -> None:
        path = tmp_path / "book.txt"
        path.write_text(LETTERS[:20])
        splits = {
            split: "".join(text for (text,) in rows)
            for split, rows in OwnRunningText(train=str(path)).load().items()
        }
        assert splits == {"train": LETTERS[:16], "val": LETTERS[16:18], "test": LETTERS[18:20]}

    def test_whole_files_of_a_folder_are_held_out(self, tmp_path: Path) -> None:
        (tmp_path / "texts" / "below").mkdir(parents=True)
        for number in range(10):
            (tmp_path / "texts" / ("below" if number % 2 else "") / f"{number}.txt").write_text(
                f"text {number}"
            )
        corpus = OwnRunningText(train=str(tmp_path / "texts"), held_out=0.2)
        splits = {split: [text for (text,) in rows] for split, rows in corpus.load().items()}
        assert {split: len(texts) for split, texts in splits.items()} == {"train": 6, "val": 2, "test": 2}
        assert len({text for texts in splits.values() for text in texts}) == 10

    def test_given_splits_are_used(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / f"{name}.txt").write_text(name * 10)
        corpus = OwnRunningText(train=str(tmp_path / "a.txt"), test=str(tmp_path / "b.txt"))
        splits = {split: [text for (text,) in rows] for split, rows in corpus.load().items()}
        assert splits == {"train": ["a" * 9], "val": ["a"], "test": ["b" * 10]}

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            (" \n\n", r"book\.txt is blank"),
            ("abc", r"book\.txt has 3 characters, .*held_out=0\.1 .*left for val: .*data\.corpus\.val="),
            ("a text" + 9 * "\n", r"book\.txt has 15 characters, .*left for val and test: "),
        ],
    )
    def test_a_file_with_nothing_to_hold_out_is_named(self, tmp_path: Path, text: str, named: str) -> None:
        (tmp_path / "book.txt").write_text(text)
        with pytest.raises(ValueError, match=named):
            OwnRunningText(train=str(tmp_path / "book.txt")).load()

    def test_an_empty_file_is_named_before_anything_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "texts").mkdir()
        for name in ("a", "b"):
            (tmp_path / "texts" / f"{name}.txt").write_text(name * 10)
        OwnRunningText(train=str(tmp_path / "texts")).check_files()
        (tmp_path / "texts" / "b.txt").write_text("")
        with pytest.raises(ValueError, match=r"b\.txt is empty"):
            OwnRunningText(train=str(tmp_path / "texts")).check_files()

    def test_a_file_in_another_encoding_is_named_before_anything_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "book.txt"
        path.write_text("“text” " * 20_000, encoding="utf-8")  # whose beginning ends within a character
        OwnRunningText(train=str(path)).check_files()
        path.write_text("text" * 100, encoding="utf-16")
        with pytest.raises(ValueError, match=r"book\.txt is not UTF-8"):
            OwnRunningText(train=str(path)).check_files()

    def test_refuses(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        path = tmp_path / "book.txt"
        path.write_text("text")
        for options in (
            {"train": None},
            {"train": str(tmp_path / "bok.txt")},
            {"train": str(tmp_path / "empty")},
            {"train": str(path), "val": str(path)},
            {"train": str(path), "held_out": 0.5},
        ):
            with pytest.raises(ValueError):  # noqa: PT011  # each names another key
                OwnRunningText(**options)  # type: ignore[arg-type]


def test_the_standard_library_is_here() -> None:
    splits = StandardLibrary().load()
    assert all("import" in text for rows in splits.values() for (text,) in rows if len(text) > 5000)
    assert len(splits["train"]) > 60


def test_a_paragraph_of_wikitext_is_a_document_of_sentences(tmp_path: Path) -> None:
    (tmp_path / "wikitext2").mkdir()
    for split in ("train", "valid", "test"):
        text = f" \n = A heading = \n \n One {split} . Two , too . Three . \n Only one . \n Four . Five \n"
        (tmp_path / "wikitext2" / f"wiki.{split}.tokens").write_text(text)
    splits = WikiText2Paragraphs(data_dir=tmp_path).load()
    assert splits["val"] == [(["One valid", "Two , too", "Three ."],), (["Four", "Five"],)]
    assert [len(rows) for rows in splits.values()] == [2, 2, 2]


@pytest.mark.real_data
def test_shakespeare_is_split_as_published() -> None:
    splits = Shakespeare(data_dir=os.environ["ZOO_DATA_DIR"]).load()
    lengths = {split: len(text) for split, [(text,)] in splits.items()}
    assert lengths["val"] == 1_115_394 - int(0.9 * 1_115_394)
    assert sum(lengths.values()) == 1_115_394


@pytest.mark.real_data
def test_wikitext_2_has_the_published_tokens() -> None:
    splits = WikiText2(data_dir=os.environ["ZOO_DATA_DIR"]).load()
    codec = TextCodec(text_spec(WordsAndLines().train(text for (text,) in splits["train"])))
    counts = {
        split: sum(map(len, codec.encode([text for (text,) in rows]))) for split, rows in splits.items()
    }
    assert codec.spec.size == 33_278 + 1
    assert counts == {"train": 2_088_628, "val": 217_646, "test": 245_569}
