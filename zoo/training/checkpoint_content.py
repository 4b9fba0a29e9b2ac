"""What a checkpoint file may hold: ordinary tensors, stored as torch writes them."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, strided

from zoo.core.reading import leaves


def damage(path: Path) -> str | None:
    """A checkpoint's damage, or None, found without unpacking more than the file's size.

    Unlike torch it compares checksums: a flipped bit would be another weight.

    Raises:
        zipfile.BadZipFile: the file is no archive.
    """
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            return "its content is compressed, as torch never does"
        if sum(entry.file_size for entry in entries) > path.stat().st_size:
            return "it says that it holds more than it does"
        broken = archive.testzip()
    return f"the checksum of {broken} is wrong" if broken else None


def require_usable(loaded: Any) -> None:
    """Refuses tensors of unusual kinds, and containers that contain themselves.

    Raises:
        ValueError: says what was found.
    """
    for leaf in leaves(loaded):
        if isinstance(leaf, Tensor) and (kind := _unusable(leaf)):
            raise ValueError(f"it holds a tensor that {kind}")


def _unusable(tensor: Tensor) -> str | None:
    if tensor.is_quantized:
        return "is quantized"
    if tensor.is_nested or tensor.layout is not strided:
        return "is sparse or nested"
    if tensor.device.type != "cpu":
        return f"has no values (it is on the device {tensor.device})"
    if tensor.is_complex():
        return "has complex numbers"
    size, held = tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes()
    return f"claims {size:,} bytes where the file holds {held:,}" if size > held else None


def step_of(value: Any) -> int:
    """The training step that a file says.

    Raises:
        ValueError: it is no such number.
    """
    if type(value) is not int or value < 0:
        raise ValueError(f"global_step must be a whole number from 0 on, got {value!r}")
    return value


def finite_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that a file holds.

    Raises:
        ValueError: one is no tensor of floating-point numbers or counts, or is not finite.
    """
    wrong = [name for name, weight in weights.items() if not isinstance(name, str) or not _is_weight(weight)]
    if wrong:
        raise ValueError(f"weights are tensors of floating-point numbers with names, not {wrong[0]!r}")
    broken = [name for name, weight in weights.items() if not weight.isfinite().all()]
    if broken:
        raise ValueError(f"weights are not finite: {', '.join(broken)}")
    return dict(weights)


def _is_weight(weight: Any) -> bool:
    """Whether it is a tensor of floating-point numbers, or of counts."""
    usual = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64)
    return isinstance(weight, Tensor) and weight.dtype in usual
