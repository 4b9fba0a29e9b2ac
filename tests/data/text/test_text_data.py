"""Every kind of corpus through one preparation, cache, vocabulary and batching."""

import logging
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
import torch
from through_loaders import assert_every_item_once, indices, shared

from data.text.columns import Column, Degree, Group, Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.rows import RowBatch
from data.text.text_data import TextData
from data.text.vocabulary import Bpe, Characters, Vocabulary, Words
from zoo.core.batch import decoder_pair
from zoo.core.spec import DataSpec, DegreeSpec, LabelSpec
from zoo.core.text import TextCodec

Row = tuple[Any, ...]
BERT = ("pad", "unk", "cls", "sep", "mask")
BARE = ("pad", "unk")


class Given(Corpus):
    """Rows as they are given; counts how often they are read."""

    columns: Mapping[str, Column] = {}

    def __init__(self, columns: Mapping[str, Column], **splits: list[Row]) -> None:
        self.name, self.columns, self.splits, self.loads = "given", columns, splits, 0

    def fingerprint(self) -> str:
        return repr(self.splits)

    def load(self) -> Mapping[str, Iterator[Row]]:
        self.loads += 1
        return {split: iter(rows) for split, rows in self.splits.items()}


class Batch(NamedTuple):
    """All that rows have."""

    index: torch.Tensor
    rows: RowBatch


class AnyText(TextData):
    """Every column, as it comes."""

    needs: ClassVar = {}

    @staticmethod
    def collate(rows: RowBatch) -> Batch:
        return Batch(rows.index, rows)


class Stream(AnyText):
    """One stream of text."""

    stream = True
    loss_over = "text"


class Rated(AnyText):
    """What needs a text with a class."""

    needs: ClassVar = {"text": (Text, Sentences), "label": (Label,)}


def sentences(generator: random.Random) -> str:
    return " ".join(generator.choices("abcdefghij", k=generator.randint(1, 12)))


def rows(kind: str, count: int, seed: int) -> list[Row]:
    generator = random.Random(seed)
    made: list[Row] = []
    for number in range(count):
        text, other = sentences(generator), sentences(generator)
        document = [sentences(generator) for _ in range(generator.randint(1, 5))]
        label = generator.choice(["good", "bad"])
        made.append(
            {
                "text": (text,),
                "labelled": (text, label),
                "entailment": (text, other, label),
                "similarity": (text, other, generator.random() * 5),
                "ranking": (text, other, label, number // 4),
                "documents": (document, label),
            }[kind]
        )
    return made


KINDS: dict[str, Mapping[str, Column]] = {
    "text": {"text": Text("en")},
    "labelled": {"text": Text("en"), "label": Label()},
    "entailment": {"premise": Text(), "hypothesis": Text(), "label": Label(("bad", "good"))},
    "similarity": {"one": Text(), "other": Text(), "alike": Degree(0, 5)},
    "ranking": {"question": Text(), "answer": Text(), "label": Label(), "question_number": Group()},
    "documents": {"text": Sentences("en"), "label": Label()},
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def corpus(kind: str, **splits: list[Row]) -> Given:
    sizes = {"train": 60, "val": 20, "test": 30}
    made = {split: rows(kind, count, seed) for seed, (split, count) in enumerate(sizes.items())}
    return Given(KINDS[kind], **made | splits)


def ready(
    cache: Path,
    given: Corpus,
    kind: type[TextData] = AnyText,
    tokenizer: Vocabulary | None = None,
    spec: DataSpec | None = None,
    **options: Any,
) -> TextData:
    numbers = {"batch_tokens": 64, "maximum_length": 13, "seed": 1, **options}
    data = kind(corpus=given, tokenizer=tokenizer or Words(), cache_dir=cache, spec=spec, **numbers)
    data.prepare_data()
    data.setup()
    return data


@EVERY_KIND
def test_every_kind_is_prepared_once_and_batched(tmp_path: Path, kind: str) -> None:
    given = corpus(kind)
    data = ready(tmp_path, given)
    assert_every_item_once(data, [60, 20, 30])
    assert ready(tmp_path, given).spec == data.spec
    assert given.loads == 1, "what is in the cache is not read again"
    shared(lambda: ready(tmp_path, given, batch_tokens=200), 2, [60, 20, 30])
    one, again = (list(ready(tmp_path, given).train_dataloader()) for _ in range(2))
    assert [batch.index.tolist() for batch in one] == [batch.index.tolist() for batch in again]


@EVERY_KIND
def test_a_batch_says_what_the_rows_do(tmp_path: Path, kind: str) -> None:
    given = corpus(kind)
    data = ready(tmp_path, given)
    names = list(KINDS[kind])
    for batch in data.train_dataloader():
        for place, number in enumerate(batch.index.tolist()):
            for name, value in zip(names, given.splits["train"][number], strict=True):
                column = KINDS[kind][name]
                if isinstance(column, Text):
                    text = batch.rows.text[name]
                    ids = text.ids[place, : text.lengths[place]].tolist()
                    assert batch.rows.raw[name][place] == value
                    assert TextCodec(data.spec.text(name)).decode(ids) == value
                elif isinstance(column, Sentences):
                    assert batch.rows.raw[name][place] == value
                elif isinstance(column, Label):
                    assert data.spec.label(name).classes[batch.rows.values[name][place]] == value
                else:
                    assert batch.rows.values[name][place].item() == pytest.approx(value)


@EVERY_KIND
def test_what_a_checkpoint_says_is_used_and_nothing_is_made_anew(tmp_path: Path, kind: str) -> None:
    given = corpus(kind)
    spec = DataSpec.from_dict(ready(tmp_path, given).spec.to_dict())
    same = ready(tmp_path / "other", given, tokenizer=Characters(), spec=spec)
    assert same.spec == spec
    other = Given(given.columns, **given.splits | {"test": rows(kind, 5, seed=9)})
    with pytest.raises(ValueError, match="the checkpoint belongs to other data; test split: "):
        ready(tmp_path, other, spec=spec)


def test_the_specification_has_a_field_for_each_column(tmp_path: Path) -> None:
    assert ready(tmp_path, corpus("entailment")).spec.fields["label"] == LabelSpec(("bad", "good"))
    assert ready(tmp_path, corpus("similarity")).spec.fields["alike"] == DegreeSpec(0, 5)
    documents = ready(tmp_path, corpus("documents")).spec
    assert documents.label().classes == ("bad", "good"), "those of train, sorted"
    assert (documents.text("text").language, documents.text("text").maximum_sentences) == ("en", 50)
    assert list(ready(tmp_path, corpus("ranking")).spec.fields) == ["question", "answer", "label"]


def test_the_same_vocabulary_for_all_texts_or_one_for_each(tmp_path: Path) -> None:
    given = corpus("entailment", train=[("a b", "c d", "good"), ("a", "d", "bad")])
    own = ready(tmp_path, given, tokenizer=Words(joint=False)).spec
    joint = ready(tmp_path, given, tokenizer=Words(joint=True)).spec
    assert (own.text("premise").size, own.text("hypothesis").size) == (6, 6)
    assert joint.text("premise").tokenizer == joint.text("hypothesis").tokenizer
    assert joint.text("premise").size == 8


@pytest.mark.parametrize(
    ("special", "begins", "ends"), [(BERT, [2], [3]), (BARE, [], []), (("unk", "eos", "pad"), [], [1])]
)
@pytest.mark.parametrize("kind", ["labelled", "documents"])
def test_a_text_has_the_special_tokens_that_it_is_given(
    tmp_path: Path, kind: str, special: tuple[str, ...], begins: list[int], ends: list[int]
) -> None:
    for vocabulary in (Words(special=special), Bpe(size=20, special=special)):
        data = ready(tmp_path, corpus(kind), tokenizer=vocabulary, maximum_length=5)
        spec = data.spec.text("text")
        assert spec.special == {name: number for number, name in enumerate(special)}
        assert TextCodec(spec).encode(["a"])[0] == [*begins, *TextCodec(spec).encode(["a"])[0][len(begins) :]]
        for batch in data.train_dataloader():
            found = batch.rows.documents["text"].groups if kind == "documents" else [batch.rows.text["text"]]
            for ids, length in ((row, n) for padded in found for row, n in zip(*padded, strict=True)):
                assert ids[: len(begins)].tolist() == begins
                assert ids[: int(length)].tolist()[-1:] == ends or not ends
                assert (ids[int(length) :] == spec.pad).all()
        assert data.report["train"]["unknown_text"] == 0


def test_special_tokens_that_do_not_exist_are_refused() -> None:
    for special in (("pad", "unk", "start"), ("pad", "eos"), ("pad", "unk", "pad")):
        with pytest.raises(ValueError, match="special must name pad, unk and some of bos, eos, cls"):
            Words(special=special)


def test_unknown_tokens_are_counted_without_special_ones(tmp_path: Path) -> None:
    given = corpus("labelled", val=[("a z z b", "good"), ("z", "bad")])
    for special in (BERT, BARE):
        data = ready(tmp_path, given, tokenizer=Words(special=special))
        assert data.report["val"]["unknown_text"] == 3 / 5
    given = corpus("documents", val=[(["a z", "z"], "good"), (["b"], "bad")])
    assert ready(tmp_path, given).report["val"]["unknown_text"] == 2 / 4


def test_long_texts_lose_their_end_and_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = corpus("labelled", train=[("a b c d", "good"), ("a b", "bad"), ("a b c", "bad")])
    with caplog.at_level(logging.WARNING):
        data = ready(tmp_path, given, maximum_length=4)
    assert data.report["train"].items() >= {"texts": 3, "truncated": 1}.items()
    assert "train: 1 of 3 texts truncated" in caplog.text
    (batch,) = data.train_dataloader()
    text = batch.rows.text["text"]
    row = batch.index.tolist().index(0)
    assert (int(text.lengths[row]), int(text.ids[row, 3])) == (4, 3)


def test_copies_are_counted_by_their_texts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    train = [("a b", "good"), ("c", "bad"), ("d", "bad")]
    given = corpus("labelled", train=train, val=[("a b", "bad"), ("e", "bad")], test=[("c", "bad")])
    report = ready(tmp_path, given).report
    assert (report["val"]["in_train"], report["test"]["in_train"], report["test"]["in_val"]) == (1, 1, 0)
    assert "given texts of split val have copies, 1 in train; for example 'a b'" in caplog.text
    documents = [(["a", "b"], "good"), (["c"], "bad")]
    given = corpus("documents", train=documents, val=documents[:1], test=[(["c"], "good"), (["d"], "bad")])
    assert ready(tmp_path, given).report["test"]["in_train"] == 1


def test_documents_are_flat_lists_of_sentences_with_little_padding(tmp_path: Path) -> None:
    generator = random.Random(3)

    def words() -> str:
        return " ".join(generator.choices("abcdef", k=generator.choice([1, 2, 20, 60])))

    train = [([words() for _ in range(generator.randint(1, 6))], "good") for _ in range(40)]
    train.append((["a"], "bad"))
    given = corpus("documents", train=train)
    data = ready(tmp_path, given, maximum_length=100, batch_tokens=600)
    codec = TextCodec(data.spec.text("text"))
    real = padded = 0
    for batch in data.train_dataloader():
        documents = batch.rows.documents["text"]
        assert all(group.lengths.max() == group.ids.shape[1] for group in documents.groups)
        flat = [
            codec.decode(row[:n].tolist())
            for group in documents.groups
            for row, n in zip(*group, strict=True)
        ]
        for row, places, count in zip(batch.index.tolist(), documents.places, documents.lengths, strict=True):
            assert [flat[place] for place in places[:count]] == train[row][0]
        real += sum(int(group.lengths.sum()) for group in documents.groups)
        padded += sum(group.ids.numel() for group in documents.groups)
        assert documents.arranged(torch.arange(len(flat))).shape == documents.keep_mask.shape
    assert real / padded > 0.9


def test_long_documents_lose_their_end(tmp_path: Path) -> None:
    class Short(AnyText):
        maximum_sentences = 2

    train = [(["a", "b", "c"], "good"), (["a b c d"], "bad"), (["a b"], "bad")]
    data = ready(tmp_path, corpus("documents", train=train), Short, maximum_length=3)
    assert data.report["train"]["truncated"] == 2
    (batch,) = data.train_dataloader()
    documents = batch.rows.documents["text"]
    assert dict(zip(batch.index.tolist(), documents.lengths.tolist(), strict=True)) == {0: 2, 1: 1, 2: 1}
    assert max(int(group.lengths.max()) for group in documents.groups) == 3


def test_a_stream_predicts_every_token_but_the_first_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = corpus("text")
    data = ready(tmp_path, given, Stream, tokenizer=Characters(), maximum_length=7)
    codec = TextCodec(data.spec.text("text"))
    stream = [i for ids in codec.encode([text for (text,) in given.splits["val"]]) for i in ids]
    found: dict[int, list[int]] = {}
    for batch in data.val_dataloader():
        inputs, labels = decoder_pair(batch.rows.text["text"])
        assert inputs.lengths.max() <= 7
        for number, ids, length in zip(batch.index.tolist(), labels.ids, labels.lengths, strict=True):
            found[number] = ids[:length].tolist()
    assert [i for number in sorted(found) for i in found[number]] == stream[1:]
    assert data.report["val"]["texts"] == 20
    monkeypatch.setattr("data.text.preparation._CHUNK", 6)
    pieces = ready(tmp_path / "pieces", given, Stream, tokenizer=Characters(), maximum_length=7)
    lengths = torch.cat([batch.rows.text["text"].lengths for batch in pieces.val_dataloader()])
    assert int((lengths - 1).sum()) == len(stream) - 4, "in each of four pieces all but the first"


def test_the_loss_weight_follows_what_the_loss_is_a_mean_over(tmp_path: Path) -> None:
    class OverTokens(AnyText):
        loss_over = "text"

    for kind in (AnyText, OverTokens):
        parts = shared(lambda: ready(tmp_path, corpus("labelled"), kind), 2, [60, 20, 30])[0]  # noqa: B023
        half = len(parts) // 2
        for pair in zip(parts[:half], parts[half:], strict=True):
            texts = [batch.rows.text["text"].lengths for batch in pair]
            sizes = [int(one.sum()) if kind is OverTokens else len(one) for one in texts]
            assert [batch.rows.loss_weight for batch in pair] == [2 * one / sum(sizes) for one in sizes]


GOOD = {"train": [("a", "x"), ("b", "y")], "val": [("c", "x")], "test": [("d", "y")]}


@pytest.mark.parametrize(
    ("columns", "splits", "message"),
    [
        (KINDS["labelled"], {"val": [("c", "z")]}, "split val, row 0: label 'z' is no class of train .x, y."),
        (
            KINDS["labelled"],
            {"test": [("c", "x"), (" \u200b", "x")]},
            "split test of .* row 1: text is bla",
        ),
        (KINDS["labelled"], {"val": [(None, "x")]}, "row 0: text must be a text, got None"),
        (KINDS["labelled"], {"val": [("c", "")]}, "row 0: label must be the name of a class, got ''"),
        (
            KINDS["labelled"],
            {"val": [("c",)]},
            "given: a row must have text, label; got",
        ),
        (KINDS["labelled"], {"val": []}, "split val of corpus given is empty"),
        (KINDS["labelled"], {"val": GOOD["test"]}, "splits val and test of corpus given hold the same items"),
        ({"text": Text(), "label": Label(("x",))}, {}, "row 1: label must be one of x, got 'y'"),
        ({"text": Text(), "alike": Degree(0, 5)}, {}, "row 0: alike must be a number from 0 to 5, got 'x'"),
        ({"text": Text(), "question": Group()}, {}, "row 0: question must be a whole number, got 'x'"),
        ({"text": Sentences(), "label": Label()}, {}, "row 0: text must be a list of sentences, .* got 'a'"),
        (
            {"text": Sentences(), "label": Label()},
            {"train": [(["a", ""], "x")]},
            "row 0: text has a sentence that is blank",
        ),
    ],
)
def test_bad_rows_are_one_clear_message(
    tmp_path: Path, columns: Mapping[str, Column], splits: dict[str, list[Row]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ready(tmp_path, Given(columns, **GOOD | splits))
    assert not [path for path in (tmp_path / "text").iterdir() if path.suffix != ".lock"]


def test_a_corpus_without_what_the_data_module_needs_is_refused(tmp_path: Path) -> None:
    message = r"^corpus given must have a column label \(Label\) for Rated; it has text \(Text\)$"
    with pytest.raises(ValueError, match=message):
        ready(tmp_path, corpus("text"), Rated)
    assert ready(tmp_path, corpus("documents"), Rated).spec.label().classes == ("bad", "good")


@pytest.mark.parametrize("kind", ["documents", "ranking"])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    given = corpus(kind)
    before = [batch.index.tolist() for batch in ready(tmp_path, given).val_dataloader()]
    (folder,) = (path for path in (tmp_path / "text").iterdir() if path.suffix != ".lock")
    (folder / "val.ids.arrow").write_bytes((folder / "val.ids.arrow").read_bytes()[:-9])
    assert [batch.index.tolist() for batch in ready(tmp_path, given).val_dataloader()] == before
    assert given.loads == 2
    assert "is damaged" in caplog.text


def test_hashes_follow_texts_labels_and_classes(tmp_path: Path) -> None:
    spec = ready(tmp_path, Given(KINDS["labelled"], **GOOD)).spec
    other = ready(tmp_path, Given(KINDS["labelled"], **GOOD | {"test": [("d", "x")]})).spec
    assert other.test_hash != spec.test_hash
    assert other.vocabulary_hash == spec.vocabulary_hash
    named = {"text": Text("en"), "label": Label(("y", "x"))}
    turned = ready(tmp_path, Given(named, **GOOD)).spec
    assert turned.test_hash == spec.test_hash
    assert turned.vocabulary_hash != spec.vocabulary_hash


def test_before_data_is_read_the_fields_are_known(tmp_path: Path) -> None:
    data = AnyText(
        corpus=corpus("entailment"),
        tokenizer=Words(joint=True, special=BERT),
        cache_dir=tmp_path,
        **{"batch_tokens": 64, "maximum_length": 13, "seed": 1},
    )
    premise, hypothesis, label = data.placeholder().values()
    assert premise == hypothesis
    assert label == LabelSpec(("bad", "good"))
    assert indices(list(ready(tmp_path, data.corpus).val_dataloader())) != []
