"""BERT: its equations, its sizes, and that neither padding nor other texts of a batch change anything."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from network_cases import padded
from torch import Tensor, nn

from zoo.attention import Additive, Cosine, Dot, GumbelHard, Hard, Location, ScaledDot, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, DegreeSpec, LabelSpec, TextSpec
from zoo.networks.bert import Bert, BertPretraining, joined
from zoo.networks.bert_classifier import BertClassifier
from zoo.networks.positions import Learned

SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
TEXT = TextSpec("tokenizer", 23, 12, special=SPECIAL)
SPEC = DataSpec("toy", {"text": TEXT, "follows": LabelSpec(("random", "next"))})
TEXTS = padded([2, 9, 4, 7, 3, 8, 3], [2, 5, 3], [2, 4, 6, 3, 3])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 0, 1, 1], [0] * 7, [0, 0, 0, 0, 1, 0, 0]])
PLACES = torch.tensor([2, 3, 7 + 1, 14 + 1, 14 + 2])
SIZES = Path(__file__).parents[2] / "conf" / "model" / "size"


def settings(**changes: Any) -> dict[str, Any]:
    sizes: dict[str, Any] = {"model_size": 8, "feed_forward_size": 12, "heads": 2, "layers": 2}
    parts = {
        "attention": {"score": ScaledDot, "selection": Soft},
        "positions": partial(Learned, maximum_length=24),
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    return {**sizes, **parts, **changes}


def build(**changes: Any) -> BertPretraining:
    torch.manual_seed(0)
    network = BertPretraining(spec=SPEC, **settings(**changes))
    for weight in network.parameters():  # larger, so that differences show
        nn.init.normal_(weight, std=0.4)
    return network


def classifier(spec: DataSpec, **changes: Any) -> BertClassifier:
    torch.manual_seed(0)
    return BertClassifier(spec=spec, **settings(**changes))


PAIR = DataSpec("pairs", {"left": TEXT, "right": TEXT, "label": LabelSpec(("a", "b", "c"))})
SINGLE = DataSpec("texts", {"text": TEXT, "label": LabelSpec(("a", "b", "c"))})


@pytest.mark.parametrize(
    ("size", "parameters"),
    [
        ("tiny", 4_385_920),
        ("mini", 11_170_560),
        ("small", 28_763_648),
        ("medium", 41_373_184),
        ("base", 109_482_240),
    ],
)
def test_sizes_by_name_have_the_published_parameters(size: str, parameters: int) -> None:
    sizes = yaml.safe_load((SIZES / f"bert_{size}.yaml").read_text(encoding="utf-8"))
    text = TextSpec("published", 30_522, 512, special=SPECIAL)
    with torch.device("meta"):
        parts = settings(positions=partial(Learned, maximum_length=512)) | sizes
        network = Bert(text=text, longest=512, **parts)
    assert sum(weight.numel() for weight in network.parameters()) == parameters


def normalised(row: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = row - row.mean()
    return centred / (centred.square().mean() + 1e-12).sqrt() * norm.weight + norm.bias


def by_hand(network: BertPretraining, ids: list[int], segments: list[int]) -> Tensor:
    """Section 3 of the paper for one text, a token and a head at a time, in float64."""
    bert, size = network.bert, 8
    rows = [
        bert.tokens.weight[one] + bert.segments.weight[segment] + bert.positions.vectors[place]
        for place, (one, segment) in enumerate(zip(ids, segments, strict=True))
    ]
    rows = [normalised(row, bert.norm) for row in rows]
    for layer in bert.encoder.layers:
        heads = layer.self_attention.attention
        query, key, value = (
            [(part.weight @ row + part.bias).view(2, 4) for row in rows]
            for part in (heads.W_Q, heads.W_K, heads.W_V)
        )
        read = []
        for one in query:
            context = []
            for head in range(2):
                scores = torch.stack([one[head] @ other[head] / math.sqrt(4) for other in key])
                weights = scores.exp() / scores.exp().sum()
                context.append(
                    sum(weight * other[head] for weight, other in zip(weights, value, strict=True))
                )
            read.append(heads.W_O.weight @ torch.cat(context) + heads.W_O.bias)
        rows = [normalised(row + one, layer.residual_1.norm) for row, one in zip(rows, read, strict=True)]
        first, *_, second = layer.feed_forward
        inner = [first.weight @ row + first.bias for row in rows]
        inner = [one * 0.5 * (1 + torch.erf(one / math.sqrt(2))) for one in inner]
        outer = [second.weight @ one + second.bias for one in inner]
        rows = [normalised(row + one, layer.residual_2.norm) for row, one in zip(rows, outer, strict=True)]
    assert rows[0].shape == (size,)
    return torch.stack(rows)


def test_equations() -> None:
    network = build().double()
    found = network(TEXTS, SEGMENTS, PLACES)
    rows = []
    for row, length in enumerate(TEXTS.lengths.tolist()):
        ids, segments = TEXTS.ids[row, :length].tolist(), SEGMENTS[row, :length].tolist()
        features = by_hand(network, ids, segments)
        pooled = (network.bert.pooler.weight @ features[0] + network.bert.pooler.bias).tanh()
        follows = network.follows.weight @ pooled + network.follows.bias
        torch.testing.assert_close(found.follows[row], follows)
        rows.append(features)
    for number, place in enumerate(PLACES.tolist()):
        one = rows[place // 7][place % 7]
        one = network.head.dense.weight @ one + network.head.dense.bias
        one = normalised(one * 0.5 * (1 + torch.erf(one / math.sqrt(2))), network.head.norm)
        expected = network.bert.tokens.weight @ one + network.output.bias
        torch.testing.assert_close(network.output(found.features[number]), expected)


def test_the_output_shares_the_vectors_of_tokens() -> None:
    network = build()
    assert network.output.weight is network.bert.tokens.weight


@pytest.mark.parametrize(
    "attention",
    [
        {"score": score, "selection": selection}
        for score, selection in [
            (ScaledDot, Soft),
            (Dot, Soft),
            (Additive, Soft),
            (Cosine, Soft),
            (Location, Soft),
            (ScaledDot, GumbelHard),
        ]
    ],
    ids=lambda parts: "-".join(part.__name__ for part in parts.values()),
)
def test_neither_padding_nor_others_change_a_text(attention: dict[str, Callable[..., nn.Module]]) -> None:
    network = build(attention=attention).eval()
    found = network(TEXTS, SEGMENTS, PLACES)
    kinds = {type(part) for part in network.modules()}
    assert {attention["score"], attention["selection"]} <= kinds
    alone = Padded(TEXTS.ids[1:2, :3], TEXTS.lengths[1:2])
    single = network(alone, SEGMENTS[1:2, :3], torch.tensor([1]))
    torch.testing.assert_close(single.follows[0], found.follows[1])
    torch.testing.assert_close(single.features[0], found.features[2])
    spoiled = TEXTS.ids.masked_fill(~TEXTS.keep_mask, 11)
    other = network(Padded(spoiled, TEXTS.lengths), SEGMENTS, PLACES)
    torch.testing.assert_close(other.features, found.features)


def test_every_weight_learns() -> None:
    network = build()
    found = network(TEXTS, SEGMENTS, PLACES)
    (network.output(found.features).logsumexp(-1).sum() + found.follows.logsumexp(-1).sum()).backward()
    # A bias of keys moves all scores of a query alike.
    still = [
        name for name, weight in network.named_parameters() if weight.grad is None or not weight.grad.any()
    ]
    assert still == []


def test_what_cannot_learn_or_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="Hard samples"):
        build(attention={"score": Dot, "selection": Hard})
    with pytest.raises(ValueError, match="no cls and no sep"):
        BertPretraining(spec=DataSpec("toy", {"text": TextSpec("t", 9, 12)}), **settings())
    with pytest.raises(ValueError, match="maximum_length=9 is too small for sequences of 12"):
        build(positions=partial(Learned, maximum_length=9))


def test_two_texts_become_one_sequence() -> None:
    left, right = padded([2, 7, 8, 3], [2, 5, 3]), padded([2, 9, 3], [2, 6, 7, 8, 3])
    both, segments = joined(left, right, 0)
    assert both.lengths.tolist() == [6, 7]
    assert both.ids.tolist() == [[2, 7, 8, 3, 9, 3, 0, 0], [2, 5, 3, 6, 7, 8, 3, 0]]
    assert [row[:length] for row, length in zip(segments.tolist(), both.lengths, strict=True)] == [
        [0, 0, 0, 0, 1, 1],
        [0, 0, 0, 1, 1, 1, 1],
    ]


def test_a_pair_is_read_as_its_sequence() -> None:
    network = classifier(PAIR).eval()
    left, right = padded([2, 7, 8, 3], [2, 5, 3]), padded([2, 9, 3], [2, 6, 7, 8, 3])
    found = network(left, right).logits
    both, segments = joined(left, right, 0)
    torch.testing.assert_close(found, network.output(network.bert(both, segments).pooled))
    alone = network(Padded(left.ids[1:, :3], left.lengths[1:]), Padded(right.ids[1:], right.lengths[1:]))
    torch.testing.assert_close(found[1:], alone.logits)
    degrees = DataSpec("degrees", {"left": TEXT, "right": TEXT, "degree": DegreeSpec(1, 5)})
    assert classifier(degrees)(left, right).logits.shape == (2, 1)


def test_readings_are_those_of_cls_and_change_nothing() -> None:
    network = classifier(SINGLE)
    learning = network(TEXTS)
    (reading,) = network.eval()(TEXTS).readings
    assert learning.readings == ()
    torch.testing.assert_close(network(TEXTS).logits, learning.logits)
    weights = reading.attended.weights
    assert weights.shape == (3, 2, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2))
    assert not weights[1, :, 3:].any()


def test_equals_hugging_faces_with_the_same_weights() -> None:
    transformers = pytest.importorskip("transformers")
    network = build().eval()
    config = transformers.BertConfig(
        vocab_size=23,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=24,
    )
    theirs = transformers.BertForPreTraining(config).eval()
    ours = {
        "bert.embeddings.word_embeddings": network.bert.tokens,
        "bert.embeddings.token_type_embeddings": network.bert.segments,
        "bert.embeddings.LayerNorm": network.bert.norm,
        "bert.pooler.dense": network.bert.pooler,
        "cls.predictions.transform.dense": network.head.dense,
        "cls.predictions.transform.LayerNorm": network.head.norm,
        "cls.seq_relationship": network.follows,
    }
    for number, layer in enumerate(network.bert.encoder.layers):
        heads, start = layer.self_attention.attention, f"bert.encoder.layer.{number}."
        ours |= {
            f"{start}attention.self.query": heads.W_Q,
            f"{start}attention.self.key": heads.W_K,
            f"{start}attention.self.value": heads.W_V,
            f"{start}attention.output.dense": heads.W_O,
            f"{start}attention.output.LayerNorm": layer.residual_1.norm,
            f"{start}intermediate.dense": layer.feed_forward[0],
            f"{start}output.dense": layer.feed_forward[3],
            f"{start}output.LayerNorm": layer.residual_2.norm,
        }
    weights = {f"{name}.{key}": one for name, part in ours.items() for key, one in part.state_dict().items()}
    weights["bert.embeddings.position_embeddings.weight"] = network.bert.positions.vectors
    weights["cls.predictions.bias"] = network.output.bias
    missing, unexpected = theirs.load_state_dict(weights, strict=False)
    assert not unexpected
    assert all("decoder" in name or "position_ids" in name for name in missing)
    theirs.tie_weights()
    with torch.no_grad():
        theirs.cls.predictions.decoder.bias.copy_(network.output.bias)
        answer = theirs(input_ids=TEXTS.ids, token_type_ids=SEGMENTS, attention_mask=TEXTS.keep_mask.long())
        found = network(TEXTS, SEGMENTS, PLACES)
    torch.testing.assert_close(network.output(found.features), answer.prediction_logits.flatten(0, 1)[PLACES])
    torch.testing.assert_close(found.follows, answer.seq_relationship_logits)


def test_maps_of_all_heads() -> None:
    network = classifier(SINGLE).eval()
    maps, ids = network.attention_maps(TEXTS)
    (reading,) = network(TEXTS).readings
    assert torch.equal(ids, TEXTS.ids)
    torch.testing.assert_close(maps["heads"][-1][:, :, 0], reading.attended.weights)
    maps, ids = classifier(PAIR).eval().attention_maps(padded([2, 9, 3]), padded([2, 5, 6, 3]))
    assert ids.tolist() == [[2, 9, 3, 5, 6, 3]]
    assert [layer.shape for layer in maps["heads"]] == [(1, 2, 6, 6)] * 2
