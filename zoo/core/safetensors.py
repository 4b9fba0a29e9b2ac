"""Weights in the format of safetensors: a header in JSON with kinds, shapes and places, then plain bytes.

Nothing in such a file can run code, and each byte of it has one meaning: what leaves that open is refused
before memory is taken for it.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.files import whole_file
from zoo.core.reading import Unreadable, require_regular, unique_keys

SUFFIX = ".safetensors"
_KINDS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
}
"""Those that weights have: numbers and counts."""
_NAMES = {kind: name for name, kind in _KINDS.items()}
_LENGTH = 8
"""Bytes of the number that a file begins with, the header's length."""
_LONGEST_HEADER = 16 * 2**20
_MOST_AXES = 8
_ABOUT_ALL = "__metadata__"


class _Place(NamedTuple):
    """Where one tensor lies behind the header."""

    kind: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes a file of tensors, whole or not at all.

    Args:
        path: the file.
        tensors: by name; those that share memory are written each by itself.

    Raises:
        ValueError: a tensor is of a kind that weights do not have.
    """
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise ValueError(f"{name} holds {tensor.dtype}; weights hold {', '.join(map(str, _NAMES))}")
    # The largest numbers first, so that each begins at a multiple of its size.
    ordered = sorted(tensors.items(), key=lambda one: (-one[1].element_size(), one[0]))
    header: dict[str, Any] = {_ABOUT_ALL: {"format": "pt"}}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _LENGTH)
    with whole_file(path) as file:
        file.write(len(text).to_bytes(_LENGTH, "little"))
        file.write(text)
        for _, tensor in ordered:
            plain = tensor.detach().cpu().contiguous().reshape(-1)
            file.write(plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b"")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Reads a file of tensors.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is something else, or its header does not describe every byte of it exactly once.
    """
    require_regular(path)
    with open(path, "rb") as file:
        try:
            places, begin = _header(file, os.fstat(file.fileno()).st_size)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Unreadable(path, f"is not a readable file of weights: {_reason(error)}") from error
        found = {}
        for name, place in places.items():
            content = bytearray(place.end - place.begin)
            file.seek(begin + place.begin)
            if file.readinto(content) != len(content):
                raise Unreadable(path, "became shorter while it was read")
            flat = (
                torch.frombuffer(content, dtype=place.kind) if content else torch.empty(0, dtype=place.kind)
            )
            found[name] = flat.reshape(place.shape)
        return found


def _header(file: IO[bytes], size: int) -> tuple[dict[str, _Place], int]:
    """The place of each tensor, and where the bytes behind the header begin."""
    start = file.read(_LENGTH)
    length = int.from_bytes(start, "little")
    if len(start) < _LENGTH or length > size - _LENGTH:
        raise ValueError("it is cut off, or something else")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length:,} bytes, of at most {_LONGEST_HEADER:,}")
    text = file.read(length).decode("utf-8")
    header = json.loads(text, object_pairs_hook=unique_keys)
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    header.pop(_ABOUT_ALL, None)
    places = {name: _place(name, entry) for name, entry in header.items()}
    reached = 0
    for name, place in sorted(places.items(), key=lambda one: (one[1].begin, one[1].end)):
        if place.begin != reached:
            raise ValueError(f"{name!r} begins at byte {place.begin}, where {reached} is next")
        reached = place.end
    if reached != size - _LENGTH - length:
        raise ValueError(f"its header describes {reached:,} bytes, and {size - _LENGTH - length:,} are there")
    return places, _LENGTH + length


def _place(name: str, entry: Any) -> _Place:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"what it says of {name!r} is not dtype, shape and data_offsets")
    if entry["dtype"] not in _KINDS:
        raise ValueError(f"{name!r} is of kind {entry['dtype']!r}; weights are {', '.join(_KINDS)}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(one) is int and one >= 0 for one in numbers):
            raise ValueError(f"the shape and the offsets of {name!r} must be lists of numbers from 0 on")
    if len(offsets) != 2:
        raise ValueError(f"{name!r} has {len(offsets)} offsets, not 2")
    if len(shape) > _MOST_AXES:
        raise ValueError(f"{name!r} has {len(shape):,} axes, of at most {_MOST_AXES}")
    kind, (begin, end) = _KINDS[entry["dtype"]], offsets
    if end - begin != math.prod(shape) * kind.itemsize:
        raise ValueError(f"{name!r} of shape {tuple(shape)} has not {end - begin:,} bytes")
    return _Place(kind, tuple(shape), begin, end)


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "its header is nested too deeply"
    if isinstance(error, UnicodeDecodeError | json.JSONDecodeError):
        return "its header is no JSON"
    return " ".join(str(error).split())
