"""The Transformer as two ONNX graphs: what reads the source, and what scores the next token."""

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.networks.transformer import Transformer

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
TOLERANCE = 1e-4
"""The largest difference of log-probabilities between ONNX Runtime and torch, in float32."""


class _Encoder(nn.Module):
    """Source ids `(B, K)` and lengths `(B,)` to annotations `(B, K, D)`."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        read = Padded(source, lengths)
        # With weights no fused kernel is chosen by the length, which stays free in the graph.
        annotations, _ = self.network.encoder(
            self.network._embed_source(source), read.keep_mask, weights=True
        )
        encoded: Tensor = annotations
        return encoded


class _Decoder(nn.Module):
    """Written tokens `(B, T)`, BOS first, and what was read to log-probabilities `(B, T, V)` of the next."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, written: Tensor, annotations: Tensor, lengths: Tensor) -> Tensor:
        keep_mask = torch.arange(annotations.shape[1], device=lengths.device) < lengths[:, None]
        memory = self.network.decoder.prepare(annotations, keep_mask)
        decoded = self.network.decoder(self.network._embed_target(written), memory, weights=True)
        return self.network.logits(decoded.features).float().log_softmax(-1)


def write_onnx(folder: Path, network: Transformer, spec: DataSpec) -> None:
    """Writes both graphs; numbers of sentences and tokens are free.

    Args:
        folder: is there.
        network: in evaluation mode, on the CPU.
        spec: its data.
    """
    source, target = spec.text("source"), spec.text("target")
    ids = torch.full((2, 5), source.unk)
    lengths = torch.tensor([5, 3])
    written = torch.full((2, 4), target.bos)
    batch, read, tokens = (torch.export.Dim(name, min=1) for name in ("batch", "read", "tokens"))
    with torch.no_grad():
        annotations = _Encoder(network)(ids, lengths)
        _export(
            folder / ENCODER,
            _Encoder(network),
            {"source": ids, "lengths": lengths},
            "annotations",
            {"source": {0: batch, 1: read}, "lengths": {0: batch}},
        )
        _export(
            folder / DECODER,
            _Decoder(network),
            {"written": written, "annotations": annotations, "lengths": lengths},
            "log_probs",
            {"written": {0: batch, 1: tokens}, "annotations": {0: batch, 1: read}, "lengths": {0: batch}},
        )


def _export(
    path: Path, module: nn.Module, inputs: dict[str, Tensor], output: str, free: dict[str, dict[int, object]]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # that one name of an axis stands for several; what is written is tried
        torch.onnx.export(
            module.eval(),
            kwargs=inputs,
            f=path,
            input_names=list(inputs),
            output_names=[output],
            dynamic_shapes=free,
            external_data=False,
            dynamo=True,
            verbose=False,
        )


def scores(folder: Path, spec: DataSpec, source: Padded, tokens: Tensor) -> Any:
    """Log-probabilities `(B, T)` of target tokens by ONNX Runtime."""
    import onnxruntime

    encoder, decoder = (onnxruntime.InferenceSession(folder / name) for name in (ENCODER, DECODER))
    lengths = source.lengths.numpy()
    (annotations,) = encoder.run(None, {"source": source.ids.numpy(), "lengths": lengths})
    first = torch.full((len(tokens), 1), spec.text("target").bos)
    written = torch.cat([first, tokens[:, :-1]], 1).numpy()
    (found,) = decoder.run(None, {"written": written, "annotations": annotations, "lengths": lengths})
    return torch.as_tensor(found).gather(-1, tokens[..., None])[..., 0]


USAGE = """\
import numpy, onnxruntime, tokenizers

def translate(text):  # takes the most probable token at each step
    ids = source.encode(text).ids
    lengths = numpy.array([len(ids)])
    (annotations,) = encoder.run(None, {{"source": numpy.array([ids]), "lengths": lengths}})
    written = [{bos}]
    while written[-1] != {eos} and len(written) <= {longest}:
        given = {{"written": numpy.array([written]), "annotations": annotations, "lengths": lengths}}
        (log_probs,) = decoder.run(None, given)
        written.append(int(log_probs[0, -1].argmax()))
    return target.decode(written)

encoder = onnxruntime.InferenceSession("FOLDER/encoder.onnx")
decoder = onnxruntime.InferenceSession("FOLDER/decoder.onnx")
source = tokenizers.Tokenizer.from_file("FOLDER/tokenizer_source.json")
target = tokenizers.Tokenizer.from_file("FOLDER/tokenizer_target.json")
print(translate("a sentence"))
"""
"""How the graphs are used, for the model card."""
