"""Vocabularies."""

import json
import random
import time
from typing import Any

import pytest

from data.text.vocabulary import Bpe, Characters, EnglishWords, Tokens, Vocabulary, Words
from zoo.core.text import TextCodec, text_spec

ENGLISH = ["the old man sees the cat.", "the cat sees the man!", "a dog"]
GERMAN = ["der alte Mann sieht die Katze.", "die Katze sieht den Mann!", "ein Hund"]
EACH = pytest.mark.parametrize("kind", [Bpe, Words, Characters])


def make(kind: type[Vocabulary], **options: Any) -> Vocabulary:
    return kind(**({"size": 60} if kind is Bpe else {}), **options)


def entries(tokenizer: str) -> list[str]:
    return sorted(json.loads(tokenizer)["model"]["vocab"], key=json.loads(tokenizer)["model"]["vocab"].get)


@EACH
def test_special_tokens_come_first(kind: type[Vocabulary]) -> None:
    for tokenizer in make(kind).build(ENGLISH, GERMAN):
        assert entries(tokenizer)[:4] == ["<pad>", "<unk>", "<s>", "</s>"]


@EACH
def test_joint_is_one_vocabulary_of_both_sides(kind: type[Vocabulary]) -> None:
    source, target = make(kind, joint=True).build(ENGLISH, GERMAN)
    assert source == target
    codec = TextCodec(text_spec(source))
    for sentence in ENGLISH + GERMAN:
        assert codec.decode(codec.encode([sentence])[0]) == sentence


@EACH
def test_separate_vocabularies_know_their_own_side(kind: type[Vocabulary]) -> None:
    source, target = make(kind, joint=False).build(ENGLISH, GERMAN)
    assert source == make(kind).build(ENGLISH, ENGLISH)[1]
    assert target == make(kind).build(GERMAN, GERMAN)[0]
    assert source != target


@EACH
def test_training_is_deterministic(kind: type[Vocabulary]) -> None:
    assert make(kind).build(ENGLISH, GERMAN) == make(kind).build(iter(ENGLISH), iter(GERMAN))


@pytest.mark.parametrize("vocabulary", [Bpe(size=200), Words()])
def test_punctuation_stands_alone(vocabulary: Vocabulary) -> None:
    codec = TextCodec(text_spec(vocabulary.build(ENGLISH, GERMAN)[0]))
    assert codec.tokens(codec.encode(["the man!"])[0]) == ["the", "man", "!", "</s>"]
    assert codec.tokens(codec.encode(["the man."])[0])[:2] == ["the", "man"]


def test_sizes_are_bounds() -> None:
    assert len(entries(Bpe(size=30).build(ENGLISH, GERMAN)[0])) == 30
    assert len(entries(Words(size=7).build(ENGLISH, GERMAN)[0])) == 7
    assert entries(Words(size=5).build(ENGLISH, GERMAN)[0])[4] == "▁the"  # the most frequent ones stay


@EACH
def test_texts_without_a_token_are_refused(kind: type[Vocabulary]) -> None:
    with pytest.raises(ValueError, match=r"finds no token .*lower data\.tokenizer\.minimum_count"):
        make(kind).build([" "], GERMAN)


def test_a_size_below_the_alphabet_is_said(caplog: pytest.LogCaptureFixture) -> None:
    Bpe(size=60).train(ENGLISH)
    assert not caplog.records
    tokenizer = Bpe(size=10).train(ENGLISH)
    (said,) = caplog.messages
    assert said.startswith("data.tokenizer.size=10 is too small for the characters")
    assert f"has {len(entries(tokenizer))} tokens" in said


def test_rare_words_are_unknown() -> None:
    kept = entries(Words(minimum_count=2).build(ENGLISH, GERMAN)[0])[4:]
    assert set(kept) == {"▁the", "▁man", "▁sees", "▁cat"}


def test_characters_are_single() -> None:
    assert all(len(entry) == 1 for entry in entries(Characters().build(ENGLISH, GERMAN)[0])[4:])


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Bpe, {"size": 4}, "size .* got 4"),
        (Words, {"size": 4}, "size .* got 4"),
        (Words, {"minimum_count": 0}, "got 0"),
    ],
)
def test_senseless_numbers(kind: type[Vocabulary], options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**options)


def test_endless_words_are_left_out_of_what_pieces_are_learned_from(caplog: pytest.LogCaptureFixture) -> None:
    blob = "".join(random.Random(1).choices("abcdefghij", k=300_000))
    start = time.perf_counter()
    found = make(Bpe).build([*ENGLISH, f"a {blob} dog"], GERMAN)
    assert time.perf_counter() - start < 5  # it took minutes
    assert found == make(Bpe).build([*ENGLISH, "a dog"], GERMAN)
    assert "nothing is learned from 1 words of more than 1000 characters" in caplog.text
    assert "1 words" not in caplog.text.partition("1000 characters")[2]


@pytest.mark.parametrize("kind", [Tokens, EnglishWords, Words])
def test_case_may_be_lost(kind: type[Words]) -> None:
    (tokenizer,) = kind(lowercase=True).build(["The cat ."])
    codec = TextCodec(text_spec(tokenizer))
    assert codec.encode(["THE Cat ."]) == codec.encode(["the cat ."])
    (cased,) = kind().build(["The cat ."])
    assert TextCodec(text_spec(cased)).encode(["THE"])[0][0] == text_spec(cased).unk


def test_tokens_stand_between_blanks() -> None:
    text = "it do n't say `` so '' -lrb- u.s. -rrb- , ok ?"
    (tokenizer,) = Tokens(special=("pad", "unk")).build([text])
    codec = TextCodec(text_spec(tokenizer))
    assert codec.tokens(codec.encode([text])[0]) == text.split()
    assert codec.decode(codec.encode([text])[0]) == text


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_word_that_looks_like_a_special_token_is_none(lowercase: bool) -> None:
    """The published files of WikiText have `<unk>` where a rare word stood."""
    (tokenizer,) = Tokens(special=("pad", "unk"), lowercase=lowercase).build(["a <unk> b", "<UNK> a <pad>"])
    spec = text_spec(tokenizer)
    assert spec.size == 4
    ids = TextCodec(spec).encode(["a <unk> b"])[0]
    assert [int(one) for one in ids][1] == spec.unk


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't, can't and WON'T.", "I do n't , ca n't and WO N'T ."),
        ("The film's good; they'll see I'm 'right'.", "The film 's good ; they 'll see I 'm ' right ' ."),
        ("A well-made (3.5) film...!!", "A well-made ( 3.5 ) film ... !!"),
        ('"So" -- AT&T, 10:30.', '" So " -- AT&T , 10:30 .'),
    ],
)
def test_english_is_cut_nearly_as_in_the_penn_treebank(text: str, tokens: str) -> None:
    (tokenizer,) = EnglishWords(special=("pad", "unk")).build([text])
    codec = TextCodec(text_spec(tokenizer))
    assert codec.tokens(codec.encode([text])[0]) == tokens.split()
