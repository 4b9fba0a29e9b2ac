"""Exports of a trained Transformer for other programs: ONNX and CTranslate2."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.batch import Padded
from zoo.core.extras import require
from zoo.core.files import write_text
from zoo.core.spec import DataSpec
from zoo.inference import to_ctranslate2, to_onnx
from zoo.inference.exporting import (
    CannotExport,
    described,
    new_folder,
    require_free,
    require_license,
    unexported,
)
from zoo.inference.loading import trained_task
from zoo.networks.transformer import Transformer
from zoo.training.exported import CARD


class Format(NamedTuple):
    """A form that other programs read.

    Attributes:
        packages: that write and try it.
        files: names of what is written besides tokenizers and the card.
        lacks: what of a network it does not have; None where it has all.
        write: writes it into a folder.
        scores: log-probabilities `(B, T)` of target tokens, by the program that reads the folder.
        tolerance: by how much these may differ from those of torch.
        usage: lines of Python that translate.
    """

    packages: tuple[str, ...]
    files: tuple[str, ...]
    lacks: Callable[[Transformer], str | None]
    write: Callable[[Path, Transformer, DataSpec], None]
    scores: Callable[[Path, DataSpec, Padded, Tensor], Any]
    tolerance: float
    usage: str


def export_translator(
    run: str | Path, folder: str | Path, form: str, *, license_id: str | None = None, overwrite: bool = False
) -> Path:
    """Writes a trained Transformer for another program, and compares what that program computes.

    Args:
        run: a run's folder, for its best checkpoint, or a checkpoint file.
        folder: a new one.
        form: one of `FORMATS`.
        license_id: see `zoo.inference.exporting.export`.
        overwrite: whether the folder may replace an export of the same form.

    Returns:
        The folder.

    Raises:
        CheckpointError: the checkpoint is missing or cannot be used.
        CannotExport: the model is another, the form lacks a part of it, or the numbers are others there.
        ValueError: the packages for it are not installed.
    """
    to, folder = FORMATS[form], Path(folder).expanduser()
    require(to.packages, form)
    require_free(folder, overwrite, lambda found: _is_own(found, to))
    require_license(license_id)
    checkpoint = unexported(run)
    task, spec = trained_task(checkpoint).eval(), checkpoint.spec
    network = task.network
    if not isinstance(network, Transformer) or not {"source", "target"} <= spec.fields.keys():
        raise CannotExport(
            f"--format {form} is for translations by model=transformer, and {run} has a"
            f" {type(network).__name__}"
        )
    if lack := to.lacks(network):
        raise CannotExport(f"--format {form} has not what the model of {run} has: {lack}")
    target = spec.text("target")
    values = {"bos": target.bos, "eos": target.eos, "longest": target.maximum_length}
    card, _ = described(folder, checkpoint, task, license_id, to.usage.format(**values))
    with new_folder(folder) as made:
        try:
            to.write(made, network, spec)
        except Exception as error:  # whatever a part that it cannot follow makes the program raise
            said = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise CannotExport(f"--format {form} cannot write the model of {run}: {said}") from error
        for name in ("source", "target"):
            write_text(made / f"tokenizer_{name}.json", spec.text(name).tokenizer)
        write_text(made / CARD, card)
        _compare(made, to, network, spec)
    return folder


def _compare(folder: Path, to: Format, network: Transformer, spec: DataSpec) -> None:
    """Scores random texts of several lengths with torch and with the program."""
    draw = torch.Generator().manual_seed(0)
    source, target = spec.text("source"), spec.text("target")
    special = [{text.pad, text.unk, text.bos, text.eos} for text in (source, target)]
    read, write = (
        [one for one in range(text.size) if one not in left_out]
        for text, left_out in zip((source, target), special, strict=True)
    )
    lengths = torch.tensor([7, 2, 4])
    ids = torch.tensor(read)[torch.randint(len(read), (3, 7), generator=draw)]
    ids[torch.arange(3), lengths - 1] = source.eos
    ids = ids.masked_fill(torch.arange(7) >= lengths[:, None], source.pad)
    tokens = torch.tensor(write)[torch.randint(len(write), (3, 6), generator=draw)]
    tokens[:, -1] = target.eos
    inputs = torch.cat([torch.full((3, 1), target.bos), tokens[:, :-1]], 1)
    with torch.no_grad():
        features = network(Padded(ids, lengths), Padded(inputs, torch.full((3,), 6))).features
        expected = network.logits(features).float().log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
    found = torch.as_tensor(to.scores(folder, spec, Padded(ids, lengths), tokens))
    if not (difference := (found - expected).abs().max().item()) <= to.tolerance:
        raise CannotExport(
            f"what was written computes other log-probabilities, by {difference:.2g}; at most"
            f" {to.tolerance} is rounding: nothing is kept"
        )


def _is_own(folder: Path, to: Format) -> bool:
    names = {path.name for path in folder.iterdir()}
    known = {*to.files, CARD, "tokenizer_source.json", "tokenizer_target.json"}
    return to.files[0] in names and names <= known


FORMATS = {
    "onnx": Format(
        packages=("onnx", "onnxscript", "onnxruntime"),
        files=(to_onnx.ENCODER, to_onnx.DECODER),
        lacks=lambda network: None,
        write=to_onnx.write_onnx,
        scores=to_onnx.scores,
        tolerance=to_onnx.TOLERANCE,
        usage=to_onnx.USAGE,
    ),
    "ctranslate2": Format(
        packages=("ctranslate2",),
        files=(
            "model.bin",
            "config.json",
            *(f"{one}_vocabulary.json" for one in ("source", "target", "shared")),
        ),
        lacks=to_ctranslate2.cannot_convert,
        write=to_ctranslate2.write_ctranslate2,
        scores=to_ctranslate2.scores,
        tolerance=to_ctranslate2.TOLERANCE,
        usage=to_ctranslate2.USAGE,
    ),
}
