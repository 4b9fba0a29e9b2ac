"""GPT as a classifier: its inputs, what it reads at the end of them, and the language model's loss beside."""

from functools import partial
from typing import Any

import pytest
import torch
from network_cases import padded
from torch import Tensor, nn

from zoo.attention import Additive, ScaledDot
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, DegreeSpec, LabelSpec, TextSpec
from zoo.networks.gpt_classifier import GptClassifier
from zoo.networks.positions import Learned

START, DELIMITER, EXTRACT = 20, 21, 22
TEXT = TextSpec("tokenizer", 20, 8, special={"pad": 0, "unk": 1, "eos": 3})
CLASSES = LabelSpec(("a", "b", "c"))
SINGLE = DataSpec("texts", {"text": TEXT, "label": CLASSES})
PAIR = DataSpec("pairs", {"left": TEXT, "right": TEXT, "label": CLASSES})
LEFT, RIGHT = padded([7, 8, 3], [5, 3], [9, 9, 4, 3]), padded([9, 3], [6, 7, 8, 3], [5, 3])


def build(spec: DataSpec, **changes: Any) -> GptClassifier:
    torch.manual_seed(0)
    settings: dict[str, Any] = {
        **{"model_size": 8, "feed_forward_size": 12, "heads": 2, "layers": 2},
        **{"attention": {"score": ScaledDot}, "positions": partial(Learned, maximum_length=20)},
        **{"dropout": 0.0, "attention_dropout": 0.0},
    }
    network = GptClassifier(spec=spec, **settings | changes)
    for weight in network.parameters():  # larger, so that differences show
        nn.init.normal_(weight, std=0.4)
    return network.double()


def test_its_inputs() -> None:
    network = build(PAIR)
    both = network.sequences([LEFT, RIGHT])
    assert both.lengths.tolist() == [6, 7, 7]
    assert [row[:length] for row, length in zip(both.ids.tolist(), both.lengths, strict=True)] == [
        [START, 7, 8, DELIMITER, 9, EXTRACT],
        [START, 5, DELIMITER, 6, 7, 8, EXTRACT],
        [START, 9, 9, 4, DELIMITER, 5, EXTRACT],
    ]
    assert not both.ids.masked_fill(both.keep_mask, 0).any()
    alone = network.sequences([LEFT])
    assert alone.ids.tolist() == [
        [START, 7, 8, EXTRACT, 0],
        [START, 5, EXTRACT, 0, 0],
        [START, 9, 9, 4, EXTRACT],
    ]
    around = TextSpec("tokenizer", 20, 8, special={"pad": 0, "unk": 1, "cls": 2, "sep": 3})
    network = build(DataSpec("texts", {"text": around, "label": CLASSES}))
    assert network.sequences([padded([2, 7, 8, 3])]).ids.tolist() == [[START, 7, 8, EXTRACT]]


def by_hand(network: GptClassifier, ids: list[int]) -> tuple[Tensor, Tensor]:
    """What one sequence says at its end, and the mean loss of its words, one after the other."""
    vectors = torch.cat([network.gpt.embed.weight, network.marks.weight])[ids][None]
    hidden = network.gpt.decoder(vectors + network.gpt.positions.vectors[: len(ids)]).features[0]
    losses = []
    for place, token in enumerate(ids[1:]):
        if token < START:
            scores = network.gpt.embed.weight @ hidden[place]
            losses.append(scores.exp().sum().log() - scores[token])
    return hidden[-1], torch.stack(losses).mean()


@pytest.mark.parametrize("both_orders", [False, True])
def test_classes_and_further_loss(both_orders: bool) -> None:
    network = build(PAIR, both_orders=both_orders, language_model_weight=0.25)
    found = network(LEFT, RIGHT)
    assert found.further_loss is not None
    rows = [([7, 8], [9]), ([5], [6, 7, 8]), ([9, 9, 4], [5])]
    for number, (left, right) in enumerate(rows):
        orders = [(left, right), (right, left)] if both_orders else [(left, right)]
        read = [by_hand(network, [START, *a, DELIMITER, *b, EXTRACT]) for a, b in orders]
        said = torch.stack([one for one, _ in read]).sum(0)
        expected = network.classify.weight @ said + network.classify.bias
        torch.testing.assert_close(found.logits[number], expected)
        loss = torch.stack([one for _, one in read]).mean()
        torch.testing.assert_close(found.further_loss[number].double(), 0.25 * loss, rtol=1e-6, atol=1e-6)
    evaluated = network.eval()(LEFT, RIGHT)
    assert evaluated.further_loss is None
    torch.testing.assert_close(evaluated.logits, found.logits)


def test_without_the_language_model_there_is_no_further_loss() -> None:
    assert build(SINGLE, language_model_weight=0.0)(LEFT).further_loss is None


@pytest.mark.parametrize("score", [ScaledDot, Additive])
def test_neither_padding_nor_others_change_a_text(score: type[nn.Module]) -> None:
    network = build(SINGLE, attention={"score": score})
    found = network(LEFT)
    wider = Padded(torch.cat([LEFT.ids, torch.full((3, 2), 11)], 1), LEFT.lengths)
    torch.testing.assert_close(network(wider).logits, found.logits)
    torch.testing.assert_close(network(wider).further_loss, found.further_loss)
    alone = network(Padded(LEFT.ids[1:2, :2], LEFT.lengths[1:2]))
    torch.testing.assert_close(alone.logits, found.logits[1:2])


def test_both_orders_answer_alike() -> None:
    degrees = DataSpec("degrees", {"left": TEXT, "right": TEXT, "degree": DegreeSpec(1, 5)})
    network = build(degrees, both_orders=True)
    assert network(LEFT, RIGHT).logits.shape == (3, 1)
    torch.testing.assert_close(network(LEFT, RIGHT).logits, network(RIGHT, LEFT).logits)


def test_every_weight_learns() -> None:
    network = build(PAIR)
    found = network(LEFT, RIGHT)
    assert found.further_loss is not None
    (found.logits.logsumexp(-1).sum() + found.further_loss.sum()).backward()
    assert [name for name, one in network.named_parameters() if one.grad is None or not one.grad.any()] == []


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="both_orders=true asks for pairs"):
        build(SINGLE, both_orders=True)
    with pytest.raises(ValueError, match="language_model_weight must be at least 0"):
        build(SINGLE, language_model_weight=-1.0)
    with pytest.raises(ValueError, match="maximum_length=8 is too small for sequences of 9"):
        build(SINGLE, positions=partial(Learned, maximum_length=8))


def test_maps_of_all_heads() -> None:
    maps, ids = build(PAIR).eval().attention_maps(padded([7, 8, 3]), padded([9, 3]))
    assert ids.tolist() == [[START, 7, 8, DELIMITER, 9, EXTRACT]]
    assert [layer.shape for layer in maps["heads"]] == [(1, 2, 6, 6)] * 2
    assert not maps["heads"][0].triu(1).any()
