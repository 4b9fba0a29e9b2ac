"""Files of weights: the library `safetensors`, in which nothing can run code, with clear refusals."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from zoo.core.files import write_bytes
from zoo.core.reading import Unreadable, require_regular

_KINDS = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64)
"""Those that weights have: numbers and counts."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes a file of tensors, whole or not at all.

    Args:
        path: the file.
        tensors: by name; those that share memory are written each by itself.

    Raises:
        ValueError: a tensor is of a kind that weights do not have.
    """
    if wrong := _of_other_kind(tensors):
        raise ValueError(wrong)
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    write_bytes(path, save(plain, metadata={"format": "pt"}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Reads a file of tensors.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is something else, or holds what weights do not.
    """
    require_regular(path)
    try:
        tensors: dict[str, Tensor] = load(path.read_bytes())
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise Unreadable(path, f"is not a readable file of weights: {reason}") from error
    if wrong := _of_other_kind(tensors):
        raise Unreadable(path, f"is not a readable file of weights: {wrong}")
    return tensors


def _of_other_kind(tensors: Mapping[str, Tensor]) -> str | None:
    for name, tensor in tensors.items():
        if tensor.dtype not in _KINDS:
            return f"{name} holds {tensor.dtype}; weights hold {', '.join(map(str, _KINDS))}"
    return None
