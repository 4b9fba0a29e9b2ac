"""The toys whose answer stands in one known word."""

from typing import Any

import pytest

from data.text.labelled.needles import FILLERS, NEEDLES, NOTHING, Needle, NeedleDocuments
from zoo.core.sentences import split_sentences

SMALL: dict[str, Any] = {
    **{"seed": 1, "minimum_length": 2, "maximum_length": 9},
    **{"train": 300, "validation": 50, "test": 50},
}


def test_one_word_decides_and_its_place_is_known() -> None:
    for split, size in (("train", 300), ("val", 50), ("test", 50)):
        rows = Needle(**SMALL).load()[split]
        assert len(rows) == size
        assert {label for _, label, _ in rows} == {*NEEDLES, NOTHING}
        for text, label, (place,) in rows:
            words = text.split()
            assert 2 <= len(words) <= 9
            if label == NOTHING:
                assert place == -1
            else:
                assert words.pop(place) in NEEDLES[label]
            assert set(words) <= set(FILLERS)


def test_one_sentence_of_a_document_decides() -> None:
    rows = NeedleDocuments(**SMALL, sentences=4).load()["train"]
    assert {sentence for _, _, (sentence, _) in rows} == {-1, 0, 1, 2, 3}
    for document, label, (sentence, place) in rows:
        assert len(document) == 4
        assert split_sentences(" ".join(document)) == document
        words = [one.removesuffix(" .").split() for one in document]
        if label == NOTHING:
            assert (sentence, place) == (-1, -1)
        else:
            assert words[sentence].pop(place) in NEEDLES[label]
        assert {word for one in words for word in one} <= set(FILLERS)


def test_no_row_stands_twice() -> None:
    few = SMALL | {"maximum_length": 2, "train": 380}
    texts = [text for rows in Needle(**few).load().values() for text, _, _ in rows]
    assert len(set(texts)) == len(texts) == 480


def test_the_seed_is_the_data_and_more_of_train_changes_no_test() -> None:
    test = Needle(**SMALL).load()["test"]
    assert Needle(**SMALL | {"train": 1000}).load()["test"] == test
    assert Needle(**SMALL | {"seed": 2}).load()["test"] != test
    assert Needle(**SMALL).fingerprint() != Needle(**SMALL | {"seed": 2}).fingerprint()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"minimum_length": 0}, "minimum_length"),
        ({"minimum_length": 10}, "maximum_length"),
        ({"minimum_length": 1, "maximum_length": 1}, "400 different rows"),
        ({"test": 0}, "test"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Needle(**SMALL | options)


def test_a_document_has_a_sentence() -> None:
    with pytest.raises(ValueError, match="sentences"):
        NeedleDocuments(**SMALL, sentences=0)
