"""The Transformer for CTranslate2: the same weights under the names of its `TransformerSpec`."""

from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from zoo.attention import MultiHeadAttention, ScaledDot, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, TextSpec
from zoo.core.text import SPECIAL_TOKENS
from zoo.networks.positions import RotaryPositions
from zoo.networks.transformer import DecoderLayer, EncoderLayer, Residual, Transformer

_ACTIVATIONS = {nn.ReLU: "RELU", nn.SiLU: "SWISH"}
TOLERANCE = 1e-4
"""The largest difference of a token's log-probability between CTranslate2 and torch, in float32."""
_ROWS_BEYOND = 512
"""Positions beyond the longest sentence, for searches that write more than a model was trained to."""


def write_ctranslate2(folder: Path, network: Transformer, spec: DataSpec) -> None:
    """Writes `model.bin`, `config.json` and the vocabularies.

    Args:
        folder: is there.
        network: for which `cannot_convert` says nothing.
        spec: its data.
    """
    from ctranslate2.specs import TransformerSpec, common_spec

    source, target = spec.text("source"), spec.text("target")
    first = _layers(network)[0]
    made = TransformerSpec.from_config(
        (len(network.encoder.layers), len(network.decoder.layers)),
        first.self_attention.attention.heads,
        pre_norm=first.residual_1.pre_norm,
        activation=common_spec.Activation[_ACTIVATIONS[type(first.feed_forward[1])]],
    )
    longest = max(source.maximum_length, target.maximum_length) + _ROWS_BEYOND
    for side, embedding, positions in (
        (made.encoder, network.embed_source, network.source_positions),
        (made.decoder, network.embed_target, network.target_positions),
    ):
        one = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        one.weight = _numbers(embedding.weight)
        side.position_encodings.encodings = _numbers(_table(positions, network.query_size, longest))
    stacks: list[tuple[Any, Any]] = [(made.encoder, network.encoder), (made.decoder, network.decoder)]
    for there, stack in stacks:
        if isinstance(stack.norm, nn.LayerNorm):
            _norm(there.layer_norm, stack.norm)
        for layer_there, layer in zip(there.layer, stack.layers, strict=True):
            _layer(layer_there, cast(EncoderLayer | DecoderLayer, layer))
    made.decoder.projection.weight = _numbers(network.output.weight)
    made.register_source_vocabulary(_tokens(source))
    made.register_target_vocabulary(_tokens(target))
    made.config.unk_token, made.config.bos_token = SPECIAL_TOKENS["unk"], SPECIAL_TOKENS["bos"]
    made.config.eos_token, made.config.decoder_start_token = SPECIAL_TOKENS["eos"], SPECIAL_TOKENS["bos"]
    made.validate()
    made.save(str(folder))


def cannot_convert(network: Transformer) -> str | None:
    """What of a Transformer CTranslate2 does not have; None where it has all."""
    for layer in _layers(network):
        own: Any = layer.self_attention
        if not hasattr(own, "window"):
            return "another layer than self-attention"
        if own.window is not None:
            return "a window"
        if type(layer.feed_forward[1]) not in _ACTIVATIONS:
            return f"the activation {type(layer.feed_forward[1]).__name__}"
        for one in _attentions(layer):
            score: Any = one.attention.score
            selection: Any = one.attention.selection
            if type(score) is not ScaledDot:
                return f"the score {type(score).__name__}"
            if type(selection) is not Soft or selection.temperature != 1:
                return "another selection than a softmax without a temperature"
            if (
                one.W_V.out_features != one.query_size
                or cast(nn.Linear, one.W_Q).out_features != one.query_size
            ):
                return "heads of other sizes than D / h"
    if isinstance(network.source_positions, RotaryPositions):
        return "rotary positions"
    return None


def _layers(network: Transformer) -> list[Any]:
    return [*network.encoder.layers, *network.decoder.layers]


def _attentions(layer: Any) -> list[MultiHeadAttention]:
    own = [layer.self_attention.attention]
    return [*own, layer.memory_attention] if isinstance(layer, DecoderLayer) else own


def _layer(there: Any, layer: EncoderLayer | DecoderLayer) -> None:
    _attention(there.self_attention, cast(Any, layer.self_attention).attention, layer.residual_1, own=True)
    last = layer.residual_2
    if isinstance(layer, DecoderLayer):
        _attention(there.attention, layer.memory_attention, layer.residual_2, own=False)
        last = layer.residual_3
    _feed_forward(there.ffn, layer.feed_forward, last)


def _attention(there: Any, one: MultiHeadAttention, residual: Residual, *, own: bool) -> None:
    """One product for queries, keys and values, or for keys and values of a memory alone."""
    query, key, value = cast(nn.Linear, one.W_Q), cast(nn.Linear, one.W_K), one.W_V
    _norm(there.layer_norm, residual.norm)
    products: list[list[nn.Linear]] = [[query, key, value]] if own else [[query], [key, value]]
    products.append([one.W_O])
    for linear, parts in zip(there.linear, products, strict=True):
        linear.weight = _numbers(torch.cat([part.weight for part in parts]))
        linear.bias = _numbers(torch.cat([part.bias for part in parts]))


def _feed_forward(there: Any, layers: Any, residual: Residual) -> None:
    _norm(there.layer_norm, residual.norm)
    for linear, layer in ((there.linear_0, layers[0]), (there.linear_1, layers[3])):
        linear.weight, linear.bias = _numbers(layer.weight), _numbers(layer.bias)


def _norm(there: Any, norm: nn.LayerNorm) -> None:
    there.gamma, there.beta = _numbers(norm.weight), _numbers(norm.bias)


def _table(positions: nn.Module, size: int, longest: int) -> Tensor:
    """What is added to embeddings at each position."""
    if isinstance(vectors := getattr(positions, "vectors", None), Tensor):
        return vectors
    table: Tensor = positions(torch.zeros(longest, size))
    return table


def _tokens(text: TextSpec) -> list[str]:
    read = Tokenizer.from_str(text.tokenizer)
    return [str(read.id_to_token(number)) for number in range(text.size)]


def _numbers(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()


def scores(folder: Path, spec: DataSpec, source: Padded, tokens: Tensor) -> Any:
    """Log-probabilities `(B, T)` of target tokens, the last of them EOS, by CTranslate2."""
    import ctranslate2

    translator = ctranslate2.Translator(str(folder), device="cpu", compute_type="float32")
    read, written = _tokens(spec.text("source")), _tokens(spec.text("target"))
    rows = [row[:length] for row, length in zip(source.ids.tolist(), source.lengths.tolist(), strict=True)]
    found = translator.score_batch(
        [[read[one] for one in row] for row in rows],
        [[written[one] for one in row[:-1]] for row in tokens.tolist()],
    )
    return [one.log_probs for one in found]


USAGE = """\
import ctranslate2, tokenizers

def translate(text):
    found = translator.translate_batch(
        [source.encode(text).tokens], beam_size=5, length_penalty=0, disable_unk=True,
        suppress_sequences=[["<pad>"], ["<s>"]], min_decoding_length=0, max_decoding_length={longest},
    )
    return target.decode([target.token_to_id(token) for token in found[0].hypotheses[0]])

translator = ctranslate2.Translator("FOLDER")
source = tokenizers.Tokenizer.from_file("FOLDER/tokenizer_source.json")
target = tokenizers.Tokenizer.from_file("FOLDER/tokenizer_target.json")
print(translate("a sentence"))
"""
"""How the model is used, for its card."""
