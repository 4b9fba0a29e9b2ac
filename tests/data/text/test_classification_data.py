"""Texts and documents that are classified: batches, places, folds, baselines."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from through_loaders import assert_every_item_once

from data.text.classification import ClassificationData
from data.text.columns import Column, Label, Place, Sentences, Text
from data.text.corpus import Corpus
from data.text.labelled.folds import Example, FoldedCorpus, held_out, ten_folds
from data.text.labelled.needles import Needle, NeedleDocuments
from data.text.vocabulary import Bpe, Tokens, Vocabulary
from zoo.core.batch import Documents, Padded
from zoo.core.text import TextCodec

BARE = Tokens(special=("pad", "unk"), lowercase=True)
WITH_CLS = Tokens(special=("pad", "unk", "cls", "sep"))
WITH_EOS = Tokens()
SIZES: dict[str, Any] = {"seed": 1, "train": 60, "validation": 20, "test": 30}


def ready(corpus: Corpus, cache: Path, tokenizer: Vocabulary = BARE, **options: Any) -> ClassificationData:
    numbers = {"batch_tokens": 200, "maximum_length": 12, "seed": 1, **options}
    data = ClassificationData(corpus=corpus, tokenizer=tokenizer, cache_dir=cache, **numbers)
    data.prepare_data()
    data.setup()
    return data


def needle() -> Needle:
    return Needle(**SIZES, minimum_length=3, maximum_length=20)


def documents() -> NeedleDocuments:
    return NeedleDocuments(**SIZES, minimum_length=3, maximum_length=20, sentences=5)


@pytest.mark.parametrize("tokenizer", [BARE, WITH_CLS, WITH_EOS])
def test_batches_say_what_the_rows_do(tmp_path: Path, tokenizer: Vocabulary) -> None:
    corpus, rows = needle(), needle().load()["test"]
    data = ready(corpus, tmp_path, tokenizer)
    codec = TextCodec(data.spec.text("text"))
    assert_every_item_once(data, [60, 20, 30])
    for batch in data.test_dataloader()[0]:
        assert isinstance(batch.text, Padded)
        assert batch.place is not None
        assert batch.place.shape == (len(batch.index), 1)
        for row, number in enumerate(batch.index.tolist()):
            text, label, (place,) = rows[number]
            assert batch.raw[row] == text
            assert data.spec.label().classes[batch.labels[row]] == label
            room = 12 - codec.spec.added
            found = int(batch.place[row, 0])
            assert (found < 0) == (not 0 <= place < room)
            if found >= 0:
                assert codec.tokens(batch.text.ids[row].tolist())[found] in (text.split()[place], "<unk>")
    cut = [place for _, label, (place,) in rows if place >= 12 - codec.spec.added]
    assert cut, "some places are cut off"
    assert data.report["test"]["truncated"] > 0


@pytest.mark.parametrize("tokenizer", [BARE, WITH_CLS])
def test_of_documents_a_place_is_a_sentence_and_a_token(tmp_path: Path, tokenizer: Vocabulary) -> None:
    rows = documents().load()["test"]
    data = ready(documents(), tmp_path, tokenizer, maximum_sentences=3)
    spec = data.spec.text("text")
    codec, room = TextCodec(spec), 12 - spec.added
    assert spec.maximum_sentences == 3
    for batch in data.test_dataloader()[0]:
        assert isinstance(batch.text, Documents)
        assert batch.place is not None
        longest = max(group.ids.shape[1] for group in batch.text.groups)
        padded = [
            torch.nn.functional.pad(one.ids, (0, longest - one.ids.shape[1])) for one in batch.text.groups
        ]
        arranged = batch.text.arranged(torch.cat(padded))
        for row, number in enumerate(batch.index.tolist()):
            document, _, (sentence, place) = rows[number]
            assert batch.raw[row] == document
            found = batch.place[row].tolist()
            if not (0 <= sentence < 3 and 0 <= place < room):
                assert found == [-1, -1]
            else:
                ids = arranged[row, found[0]].tolist()
                assert codec.tokens(ids)[found[1]] in (document[sentence].split()[place], "<unk>")


def test_throughput_counts_and_majority(tmp_path: Path) -> None:
    data = ready(documents(), tmp_path, maximum_sentences=5, maximum_length=21)
    test, train = (documents().load()[split] for split in ("test", "train"))
    batches = list(data.test_dataloader()[0])
    assert sum(int(batch.throughput_counts["texts"]) for batch in batches) == 30
    words = sum(len(sentence.split()) for document, _, _ in test for sentence in document)
    assert sum(int(batch.throughput_counts["words"]) for batch in batches) == words
    labels = [label for _, label, _ in train]
    frequent = max(set(labels), key=labels.count)
    share = sum(label == frequent for _, label, _ in test) / 30
    assert data.baselines == {"test": {"majority_accuracy": pytest.approx(share)}}


def test_a_place_needs_tokens_that_are_words(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tokens"):
        ready(needle(), tmp_path, Bpe(size=40))


class Given(Corpus):
    """Rows as they are given, the same for each split but for their order."""

    columns: Mapping[str, Column] = {}

    def __init__(self, columns: Mapping[str, Column], rows: list[tuple[Any, ...]]) -> None:
        self.name, self.columns, self.rows = "given", columns, rows

    def fingerprint(self) -> str:
        return repr(self.rows)

    def load(self) -> Mapping[str, list[tuple[Any, ...]]]:
        return {"train": self.rows, "val": self.rows[::-1], "test": self.rows}


@pytest.mark.parametrize(
    ("text", "place"), [("a b", [2]), ("a b", [0, 1]), (["a", "b c"], [1]), (["a"], [1, 0])]
)
def test_a_place_beyond_its_text_is_refused(tmp_path: Path, text: Any, place: list[int]) -> None:
    kind: Column = Text() if isinstance(text, str) else Sentences()
    columns: dict[str, Column] = {"text": kind, "label": Label(), "place": Place()}
    rows = [(text, "x", place), (text * 2 if isinstance(text, list) else f"{text} c", "y", place)]
    with pytest.raises(ValueError, match="row 0: there is no place"):
        ready(Given(columns, rows), tmp_path)


def test_documents_and_their_texts_have_one_test_hash(tmp_path: Path) -> None:
    rows = [(["a b .", "c ."], "x"), (["d ."], "y")]
    one = ready(Given({"text": Sentences(), "label": Label()}, rows), tmp_path)
    flat = [(" ".join(document), label) for document, label in rows]
    other = ready(Given({"text": Text(), "label": Label()}, flat), tmp_path)
    assert one.spec.test_hash == other.spec.test_hash


class Folded(FoldedCorpus):
    """A hundred texts, a quarter of them of one label."""

    name = "folded"
    columns: ClassVar = {"text": Text(), "label": Label(("few", "many"))}

    def fingerprint(self) -> str:
        return str(self.fold)

    def examples(self) -> list[Example]:
        return [(f"text {number}", "many" if number % 4 else "few") for number in range(100)]


def test_folds_are_disjoint_stratified_and_together_all(tmp_path: Path) -> None:
    seen: list[str | list[str]] = []
    for fold in range(10):
        corpus = Folded()
        data = ready(corpus, tmp_path, fold=fold)
        assert data.fold == fold
        splits = corpus.load()
        texts = {split: [text for text, _ in rows] for split, rows in splits.items()}
        assert sorted(map(len, texts.values())) == [9, 10, 81]
        assert len({str(text) for rows in texts.values() for text in rows}) == 100
        assert sum(label == "few" for _, label in splits["test"]) in (2, 3)
        assert sum(label == "few" for _, label in splits["val"]) == 2
        seen += texts["test"]
    assert sorted(map(str, seen)) == sorted(str(text) for text, _ in Folded().examples())


def test_folds_are_drawn_with_the_seed_of_the_data() -> None:
    labels = ["a", "b"] * 50
    torch.manual_seed(5)
    first = ten_folds(labels), held_out(labels)
    torch.manual_seed(6)
    again = ten_folds(labels), held_out(labels)
    assert all((one == other).all() for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("fold", [None, -1, 10])
def test_a_fold_must_be_one_of_ten(tmp_path: Path, fold: int | None) -> None:
    with pytest.raises(ValueError, match="fold must be 0 to 9"):
        ready(Folded(), tmp_path, fold=fold)


def test_a_corpus_with_splits_has_no_fold(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fold must be null"):
        ready(needle(), tmp_path, fold=1)
