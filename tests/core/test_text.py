"""Text <-> ids."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data.text.vocabulary import Bpe, Characters, Vocabulary, Words
from zoo.core.spec import TextSpec
from zoo.core.text import TextCodec, is_blank, normalise, text_spec

SENTENCES = [
    "A man, in a blue shirt, is standing on a ladder.",
    'He said: "What?" (twice!) - for $5.50 & more.',
    "Ein Mädchen hält „Größe“ für 100 % käuflich …",
    "@@ l'homme d'à côté a vu le chat/chien",
]
VOCABULARIES = [Bpe(size=300), Words(), Characters()]


def codec(vocabulary: Vocabulary, sentences: list[str] = SENTENCES) -> TextCodec:
    return TextCodec(text_spec(vocabulary.build(sentences, sentences)[0], maximum_length=50, language="de"))


@pytest.fixture(params=VOCABULARIES, ids=lambda vocabulary: type(vocabulary).__name__)
def any_codec(request: pytest.FixtureRequest) -> TextCodec:
    return codec(request.param)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_decoding_gives_the_text_back(any_codec: TextCodec, sentence: str) -> None:
    ids = any_codec.encode([sentence])[0]
    assert any_codec.spec.unk not in ids
    assert any_codec.decode(ids) == sentence


@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda vocabulary: type(vocabulary).__name__)
@settings(deadline=None, derandomize=True)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_of_the_vocabulary_comes_back_normalised(vocabulary: Vocabulary, text: str) -> None:
    assert (own := codec(vocabulary, [*SENTENCES, text])).decode(own.encode([text])[0]) == normalise(text)


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("  am  hohen\tBrett\u00a0am \n", "am hohen Brett am"),
        ("Gro\u0308\u00dfe", "Größe"),  # NFC
        ("a\u2581b", "a_b"),  # the blank's own mark is no blank
        (" \t ", ""),
    ],
)
def test_what_is_normalised(raw: str, normal: str) -> None:
    assert normalise(raw) == normal
    assert normalise(normal) == normal
    for vocabulary in VOCABULARIES:
        own = codec(vocabulary, [*SENTENCES, raw])
        assert own.decode(own.encode([raw])[0]) == normal


@pytest.mark.parametrize("text", ["", " \t\r", "\u00a0\u2003", "\u200b", "\ufeff \u200d", "\x00"])
def test_nothing_to_see_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}.{text}")


def test_ids_end_in_eos_and_nothing_else_is_added(any_codec: TextCodec) -> None:
    spec = any_codec.spec
    for ids in any_codec.encode([*SENTENCES, "", " ".join(SENTENCES * 10)]):
        assert ids[-1] == spec.eos
        assert not {spec.bos, spec.eos, spec.pad} & set(ids[:-1])
    assert any_codec.encode([""]) == [[spec.eos]]
    assert len(any_codec.encode([" ".join(SENTENCES * 10)])[0]) > spec.maximum_length  # nothing is truncated


def test_special_tokens_written_in_a_sentence_are_only_text(any_codec: TextCodec) -> None:
    ids = any_codec.encode(["a </s> b <pad> c <s> <unk>"])[0]
    assert {any_codec.spec.eos, any_codec.spec.pad, any_codec.spec.bos}.isdisjoint(ids[:-1])


def test_special_tokens_have_their_ids(any_codec: TextCodec) -> None:
    spec = any_codec.spec
    assert any_codec.tokens([spec.pad, spec.unk, spec.bos, spec.eos]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert spec.size == len({any_codec.tokens([i])[0] + str(i) for i in range(spec.size)})


def test_decoding_skips_special_tokens(any_codec: TextCodec) -> None:
    ids = any_codec.encode(["in a blue shirt"])[0]
    assert (
        any_codec.decode([any_codec.spec.bos, *ids, any_codec.spec.pad, any_codec.spec.pad])
        == "in a blue shirt"
    )


@pytest.mark.parametrize(
    ("vocabulary", "text", "words"),
    [
        (Words(), "  A zebra,\tman-made  ", ["▁A", "▁zebra", ",", "▁man", "-", "made", ""]),
        (Words(), "Gro\u0308\u00dfe e\u0301te\u0301 x", ["▁Größe", "▁été", "▁x", ""]),
        (Words(), "a▁b <unk>", ["▁a", "_", "b", "▁", "<", "unk", ">", ""]),
        (Words(), "", [""]),
        (Characters(), "A z", ["A", "▁", "z", ""]),
    ],
)
def test_the_word_of_every_token(vocabulary: Vocabulary, text: str, words: list[str]) -> None:
    own = codec(vocabulary)
    assert own.words(text) == words
    assert len(own.encode([text])[0]) == len(words)


def test_a_piece_belongs_to_its_word() -> None:
    own = codec(Bpe(size=60))
    words = own.words("on shirtless zebras.")
    assert len(words) == len(own.encode(["on shirtless zebras."])[0]) > 5
    assert list(dict.fromkeys(words)) == ["▁on", "▁shirtless", "▁zebras", ".", ""]


@pytest.mark.parametrize(
    ("text", "words", "decoded"),
    [
        ("A zebra, man", {1: "▁Zwickau"}, "A Zwickau, man"),
        ("A zebra, man", {1: "-"}, "A-, man"),
        ("zebra man", {0: "▁<s>"}, "<s> man"),
        ("A zebra, man", {}, "A, man"),
        ("A man", {0: "▁One"}, "One man"),
    ],
)
def test_words_take_the_place_of_tokens(text: str, words: dict[int, str], decoded: str) -> None:
    own = codec(Words())
    assert own.decode_with(own.encode([text])[0], words) == decoded


def test_without_words_it_is_decoding(any_codec: TextCodec) -> None:
    for ids in any_codec.encode(SENTENCES):
        assert any_codec.decode_with([any_codec.spec.bos, *ids], {}) == any_codec.decode(ids)


def test_an_unknown_token_of_a_text_is_named_by_its_word() -> None:
    words = codec(Words())
    ids = words.encode(["A man, zebra here"])[0]
    assert words.tokens_of("A man, zebra here", ids) == ["A", "man", ",", "zebra", "here", "</s>"]
    cut = [*ids[:4], words.spec.eos]
    assert words.tokens_of("A man, zebra here", cut) == ["A", "man", ",", "zebra", "</s>"]


def test_tokens_name_every_id_readably() -> None:
    words, characters = codec(Words()), codec(Characters())
    ids = words.encode(["A man, zebra"])[0]
    assert words.tokens(ids) == ["A", "man", ",", "<unk>", "</s>"]
    assert characters.tokens(characters.encode(["A m"])[0]) == ["A", "␣", "m", "</s>"]


def test_pad() -> None:
    padded = codec(Words()).pad([[5, 6, 3], [3], [7, 3]])
    assert padded.ids.tolist() == [[5, 6, 3], [3, 0, 0], [7, 3, 0]]
    assert padded.lengths.tolist() == [3, 1, 2]
    assert padded.ids.dtype == padded.lengths.dtype == torch.int64
    assert padded.keep_mask.sum(dim=1).tolist() == [3, 1, 2]


def test_no_rows_make_an_empty_batch() -> None:
    assert codec(Words()).pad([]).ids.shape == (0, 0)


def test_a_side_is_described_by_its_tokenizer() -> None:
    spec = codec(Words(), ["a b"]).spec
    assert (spec.size, spec.maximum_length, spec.language) == (4 + 2, 50, "de")


def test_an_unreadable_tokenizer_says_so() -> None:
    with pytest.raises(ValueError, match="vocabulary cannot be read"):
        TextCodec(TextSpec(tokenizer="{}", size=5, maximum_length=5))


def test_of_a_long_text_the_beginning_is_encoded(any_codec: TextCodec) -> None:
    text = " ".join(SENTENCES * 4)
    (whole,) = any_codec.encode([text])
    ids, left_out = any_codec.encode_beginning(text)
    assert ids == [*whole[:49], any_codec.spec.eos]
    assert left_out == len(whole) - 50 > 0
    assert any_codec.encode_beginning("A man") == (any_codec.encode(["A man"])[0], 0)
