"""The networks of translation in small, and sentences for them."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from zoo.attention import (
    Additive,
    Cosine,
    Dot,
    Entmax,
    General,
    Hard,
    LinearConcat,
    LocalMonotonic,
    LocalPredictive,
    Location,
    ScaledDot,
    Soft,
    Sparsemax,
    Static,
    Uniform,
)
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, TextSpec
from zoo.networks.deep_fusion import DeepFusionDecoder
from zoo.networks.lstmn import LSTMN
from zoo.networks.positions import Learned, RotaryPositions, Sinusoidal
from zoo.networks.recurrent import GRU, LSTM, RecurrentLayer
from zoo.networks.seq2seq import BahdanauDecoder, FixedVectorDecoder, LuongDecoder, Seq2Seq
from zoo.networks.sequence_layers import AttentionLayer, BidirectionalLayer, ConvolutionalLayer
from zoo.networks.transformer import Transformer

SOURCE = TextSpec(tokenizer="source", size=11, maximum_length=20)
TARGET = TextSpec(tokenizer="target", size=13, maximum_length=20)
SPEC = DataSpec("toy", {"source": SOURCE, "target": TARGET})
SHARED = DataSpec("toy", {"source": SOURCE, "target": SOURCE})

DECODERS: dict[str, Callable[..., nn.Module]] = {
    "none": FixedVectorDecoder,
    "bahdanau": partial(BahdanauDecoder, attention={"score": Additive, "selection": Soft}),
    "luong-feeding": partial(
        LuongDecoder, attention={"score": General, "selection": Soft}, input_feeding=True
    ),
    "luong": partial(LuongDecoder, attention={"score": Dot, "selection": Soft}, input_feeding=False),
    "luong-local-m": partial(
        LuongDecoder,
        attention={"score": General, "selection": partial(LocalMonotonic, window=2)},
        input_feeding=False,
    ),
    "bahdanau-local-m": partial(
        BahdanauDecoder, attention={"score": Additive, "selection": partial(LocalMonotonic, window=1)}
    ),
    "luong-local-p": partial(
        LuongDecoder,
        attention={"score": General, "selection": partial(LocalPredictive, window=2)},
        input_feeding=True,
    ),
    "luong-sparsemax": partial(
        LuongDecoder, attention={"score": General, "selection": Sparsemax}, input_feeding=False
    ),
    "bahdanau-entmax": partial(BahdanauDecoder, attention={"score": Additive, "selection": Entmax}),
    "bahdanau-static": partial(BahdanauDecoder, attention={"score": Additive, "selection": Static}),
    "luong-static": partial(
        LuongDecoder, attention={"score": General, "selection": Static}, input_feeding=False
    ),
    "luong-feeding-static": partial(
        LuongDecoder, attention={"score": Dot, "selection": Static}, input_feeding=True
    ),
}


OWN = {"score": Additive, "selection": Soft}
FUSED: dict[str, tuple[str, RecurrentLayer]] = {
    "shallow-bahdanau": ("bahdanau", partial(LSTMN, attention=OWN, tape=3)),
    "shallow-luong": ("luong", partial(LSTMN, attention=OWN)),
    "deep": ("deep", GRU),
    "deep-tape": ("deep-tape", partial(LSTMN, attention=OWN)),
    "deep-local-m": ("deep-local-m", LSTM),
}
"""Decoders of LSTMN, and what their encoders are made of."""
DECODERS |= {
    "deep": partial(DeepFusionDecoder, attention=OWN, own=OWN),
    "deep-tape": partial(
        DeepFusionDecoder,
        attention={"score": General, "selection": Soft},
        own={"score": Dot, "selection": Soft},
        tape=2,
    ),
    "deep-local-m": partial(
        DeepFusionDecoder,
        attention={"score": General, "selection": partial(LocalMonotonic, window=2)},
        own=OWN,
    ),
}


def build(
    decoder: str = "bahdanau", recurrent: RecurrentLayer = GRU, spec: DataSpec = SPEC, **changes: object
) -> Seq2Seq:
    torch.manual_seed(0)
    sizes: dict[str, object] = {"embedding_size": 6, "hidden_size": 8, "layers": 2, "dropout": 0.0}
    return Seq2Seq(spec=spec, decoder=DECODERS[decoder], recurrent=recurrent, **(sizes | changes))  # type: ignore[arg-type]


def padded(*rows: list[int]) -> Padded:
    size = max(map(len, rows))
    ids = torch.tensor([row + [0] * (size - len(row)) for row in rows])
    return Padded(ids, torch.tensor([len(row) for row in rows]))


SOURCES = padded([4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3])
INPUTS = padded([2, 5, 6, 7], [2, 8, 9, 10, 11, 12], [2, 4])


def build_transformer(spec: DataSpec = SPEC, **changes: object) -> Transformer:
    torch.manual_seed(0)
    settings: dict[str, object] = {
        "attention": {"score": ScaledDot, "selection": Soft},
        "positions": Sinusoidal,
        "model_size": 8,
        "feed_forward_size": 12,
        "heads": 2,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "activation": nn.ReLU,
        "tie_embeddings": False,
    }
    return Transformer(spec=spec, **(settings | changes))  # type: ignore[arg-type]


def _reading(score: object, selection: object = Soft) -> dict[str, object]:
    return {"attention": {"score": score, "selection": selection}}


TRANSFORMERS: dict[str, dict[str, object]] = {
    "post-norm": {},
    "pre-norm": {"pre_norm": True, "activation": nn.GELU},
    "window": {"window": 1, "positions": RotaryPositions},
    "learned": {"positions": partial(Learned, maximum_length=20), "head_key_size": 3, "head_value_size": 5},
    "rotary": {"positions": RotaryPositions, "encoder_layers": 1},
    "additive": _reading(partial(Additive, hidden_size=5)),
    "cosine": _reading(Cosine),
    "location": _reading(Location),
    "local-m": _reading(General, partial(LocalMonotonic, window=1)),
    "local-p": _reading(Dot, partial(LocalPredictive, window=2)),
    "uniform": _reading(Uniform),
    "linear-concat": _reading(LinearConcat),
    "hard": _reading(Dot, Hard),
    "sparsemax": _reading(ScaledDot, partial(Sparsemax, temperature=[0.5, 2.0])),
    "entmax": _reading(General, Entmax),
    "static": _reading(ScaledDot, Static),
    "restricted": {"layer": partial(AttentionLayer, window=1)},
    "recurrent": {"layer": partial(BidirectionalLayer, recurrent=GRU)},
    "stacked": {"layer": ConvolutionalLayer},
    "dilated": {"layer": partial(ConvolutionalLayer, growth=3), "pre_norm": True},
}
"""Settings that differ from those of `build_transformer`."""

NETWORKS: dict[str, Callable[..., Seq2Seq | Transformer]] = {
    **{
        f"{decoder}-{recurrent.__name__}": partial(build, decoder, recurrent)
        for decoder in DECODERS
        for recurrent in (GRU, LSTM)
        if not decoder.startswith("deep")
    },
    **{f"lstmn-{name}": partial(build, *parts) for name, parts in FUSED.items()},
    **{
        f"transformer-{name}": partial(build_transformer, **changes) for name, changes in TRANSFORMERS.items()
    },
}
