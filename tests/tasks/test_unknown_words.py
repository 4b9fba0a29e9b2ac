"""Unknown words are copied from the source, in predictions, n-best lists and the scored text alike."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from data.text.vocabulary import Words
from zoo.attention import Additive, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.core.text import text_spec
from zoo.decoding import Beam, Greedy, Hypothesis
from zoo.networks.recurrent import GRU
from zoo.networks.seq2seq import BahdanauDecoder, FixedVectorDecoder, Seq2Seq
from zoo.tasks.translation.batch import TranslationBatch
from zoo.tasks.translation.task import Search, TranslationTask
from zoo.tasks.translation.unknown_words import copied_words

UNK, EOS = 1, 3
SIDES = Words().build(["A man sees"], ["Ein Mann sieht"])
SPEC = DataSpec(
    "pairs",
    {name: text_spec(side, maximum_length=8) for name, side in zip(("source", "target"), SIDES, strict=True)},
)
WORDS = ["▁A", "▁zebra", "▁sees", "▁Zwickau", ""]


@pytest.mark.parametrize(
    ("ids", "weights", "copied"),
    [
        ([7, UNK, EOS], [[1, 0, 0, 0, 0], [0.1, 0.5, 0.2, 0.2, 0], [0, 0, 0, 0, 1]], {1: "▁zebra"}),
        ([UNK, UNK], [[0, 0, 0, 1, 0], [0, 0, 0, 1, 0]], {0: "▁Zwickau", 1: "▁Zwickau"}),
        ([UNK], [[0, 0.1, 0, 0.2, 0.7]], {0: "▁Zwickau"}),  # EOS is no word
        ([UNK, UNK], [[0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], {}),  # nothing was looked at
        ([7, EOS], [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0]], {}),
        ([], [], {}),
    ],
    ids=["one", "twice", "eos", "nothing", "none", "empty"],
)
def test_the_word_with_the_largest_weight_is_copied(
    ids: list[int], weights: list[list[float]], copied: dict[int, str]
) -> None:
    assert copied_words(ids, UNK, torch.tensor(weights).view(-1, 5), WORDS) == copied


def test_a_batch_s_padding_and_a_sentence_without_words() -> None:
    assert copied_words([UNK], UNK, torch.tensor([[0.2, 0.1, 0.7]]), ["▁A"]) == {0: "▁A"}
    assert copied_words([UNK], UNK, torch.tensor([[1.0]]), []) == {}


def task(replace: bool, decoder: Callable[..., object] | None = None) -> TranslationTask:
    torch.manual_seed(0)
    decoder = decoder or partial(BahdanauDecoder, attention={"score": Additive, "selection": Soft})
    sizes = {"embedding_size": 8, "hidden_size": 8, "layers": 1, "dropout": 0.0}
    network = Seq2Seq(spec=SPEC, decoder=decoder, recurrent=GRU, **sizes)  # type: ignore[arg-type]
    network.output.bias.data[UNK] += 20.0  # it would say nothing else
    return TranslationTask(
        network=network,
        spec=SPEC,
        optimizer=partial(torch.optim.Adam, lr=0.01),
        scheduler=None,
        decoding=Beam(beam_size=2, length_penalty=1.0, n_best=2),
        label_smoothing=0.0,
        reinforce=None,
        monitor="val/bleu",
        replace_unknown=replace,
    ).eval()


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=2, length_penalty=1.0, n_best=2)])
def test_translations_copy_and_still_show_what_was_written(search: Search) -> None:
    raw = ["A  zebra sees Zwickau", "A man"]
    for text, translations in zip(raw, task(True).translate(raw, search), strict=True):
        for translation in translations:
            assert "<unk>" in translation.tokens
            assert "<unk>" not in translation.text
            assert translation.weights is not None
            best = translation.weights[:, :-1].argmax(1).tolist()  # all but EOS
            words = [
                text.split()[best[step]] for step, token in enumerate(translation.tokens) if token == "<unk>"
            ]
            assert [word for word in translation.text.split() if word in text.split()] == words


def test_by_default_unknown_words_are_not_written() -> None:
    for translations in task(False).translate(["A zebra sees Zwickau"]):
        assert all("<unk>" not in translation.tokens for translation in translations)


def test_what_is_scored_is_the_copied_text_of_a_source_that_was_cut(tmp_path: Path) -> None:
    """Three tokens of the source were read, EOS among them: no later word can be copied."""
    own, raw = task(True), "zebra yak Zwickau Ulm"
    source = Padded(torch.tensor([[UNK, UNK, EOS, 0, 0]]), torch.tensor([3]))
    target = Padded(torch.tensor([[2, UNK, EOS]]), torch.tensor([3]))
    own.setup("validate")
    own.predictions["val"] = []
    batch = TranslationBatch(torch.tensor([0]), source, target, [raw], ["Zebra"], None)
    with torch.no_grad():
        own.validation_step(batch, 0)
    (row,) = own.predictions["val"]
    assert set(row["prediction"].split()) <= {"zebra", "yak"}
    assert row["prediction"]


def test_without_attention_nothing_is_copied() -> None:
    (translations,) = task(True, FixedVectorDecoder).translate(["A zebra"], Greedy())
    assert "<unk>" in translations[0].tokens
    assert "zebra" not in translations[0].text


def test_a_hypothesis_without_tokens_has_no_text() -> None:
    nothing = Hypothesis([], float("-inf"), float("-inf"), False, torch.zeros(0, 3))
    assert task(True)._text(nothing, "A zebra", 3) == ""
