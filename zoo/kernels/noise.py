"""Keyed noise: random numbers of an item that are the same in any batch, on any devices, after any resume.

Everything that samples inside a network uses this module. By default the numbers come from torch's global
generator, whose state depends on all earlier drawings. Inside `keyed` each number is a function of its item's
key, the number of earlier drawings and its place in the drawing: SplitMix64 (Steele, Lea, Flood 2014, "Fast
splittable pseudorandom number generators") of their sum. Padding does not change the number at a place.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_BITS = 23
"""Bits of a number: with half of the last one added, float32 holds it exactly, and it is never 0 or 1."""


class _Stream:
    """The keys of B items and the number of drawings so far."""

    def __init__(self, keys: Tensor) -> None:
        self.keys, self.drawings = keys, 0


_stream: _Stream | None = None


@contextmanager
def keyed(index: Tensor, *numbers: int) -> Iterator[None]:
    """A context in which the random numbers of row b are functions of `index[b]` and `numbers`.

    Args:
        index: `(B,)` int64, different for each item; drawings have B rows, or several adjacent ones of each.
        numbers: others that the noise depends on, such as seed and epoch.
    """
    global _stream
    before = _stream
    offset = sum(
        (number + 1) * pow(_GOLDEN, 2 * place, 2**64) for place, number in enumerate(numbers, start=1)
    )
    _stream = _Stream(_mixed(index + _signed(offset)))
    try:
        yield
    finally:
        _stream = before


@contextmanager
def of_items(rows: Tensor) -> Iterator[None]:
    """A context in which drawings are for some of the items, as when others have left a search.

    Without keys it changes nothing.

    Args:
        rows: `(R,)`, their rows among those of `keyed`.
    """
    if _stream is None:
        yield
        return
    stream, keys = _stream, _stream.keys
    stream.keys = keys[rows]
    try:
        yield
    finally:
        stream.keys = keys


@contextmanager
def of_parts(rows: Tensor, numbers: Tensor) -> Iterator[None]:
    """A context in which drawings are for parts of the items, as for sentences of documents.

    The numbers of a part are functions of its item's key and its own number, whichever parts are drawn for
    together, and how often others were before. Without keys it changes nothing.

    Args:
        rows: `(R,)`, the row of each part's item among those of `keyed`.
        numbers: `(R,)` int64, the number of each part in its item.
    """
    global _stream
    if _stream is None:
        yield
        return
    before = _stream
    _stream = _Stream(_mixed(before.keys[rows] + (numbers + 1) * _signed(pow(_GOLDEN, 3, 2**64))))
    try:
        yield
    finally:
        _stream = before


def uniform(shape: Sequence[int], device: torch.device) -> Tensor:
    """Float32 numbers of a shape `(B, *)`, uniform between 0 and 1.

    Raises:
        ValueError: there are keys, and B is no multiple of their number.
    """
    if _stream is None:
        return torch.rand(shape, device=device)
    return keyed_uniform(shape, device)


def keyed_uniform(shape: Sequence[int], device: torch.device) -> Tensor:
    """`uniform` with keys; separate, since a compiled graph would fix the number of drawings."""
    return _drawn(1, shape, device).view(tuple(shape))


def _drawn(number: int, shape: Sequence[int], device: torch.device) -> Tensor:
    """`number` drawings of a shape at once, `(number, *shape)`, equal to one after the other."""
    assert _stream is not None
    rows, *sizes = shape
    items = len(_stream.keys)
    if rows % items:
        raise ValueError(f"drawings for {items} items cannot have {rows} rows")
    first = _stream.drawings + 1
    _stream.drawings += number
    drawings = torch.arange(first, first + number, device=device) * _signed(_GOLDEN)
    begins = _stream.keys + drawings[:, None]
    bits = _mixed(begins[..., None] + _places((rows // items, *sizes), device))
    return _shifted(bits, 64 - _BITS).view(number, *shape).float().add_(0.5).mul_(2.0**-_BITS)


@lru_cache(maxsize=64)  # a network's drawings have few shapes
def _places(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """`(prod(sizes),)`: a number for each place of a drawing, which does not depend on the sizes."""
    places = torch.zeros(1, dtype=torch.int64, device=device)
    for axis, size in enumerate(sizes, start=1):
        steps = torch.arange(size, device=device) * _signed(pow(_GOLDEN, 2 * axis + 1, 2**64))
        places = (places[:, None] + steps).flatten()
    return places


def normal_like(tensor: Tensor) -> Tensor:
    """Standard normal numbers with the shape `(B, *)`, dtype and device of a tensor."""
    if _stream is None:
        return torch.randn_like(tensor)
    return _normal(uniform(tensor.shape, tensor.device)).to(tensor.dtype)


def normals_like(tensor: Tensor, number: int) -> Sequence[Tensor]:
    """The results of `number` calls of `normal_like`, in less time."""
    if _stream is None:
        return [torch.randn_like(tensor) for _ in range(number)]
    return _normal(_drawn(number, tensor.shape, tensor.device)).to(tensor.dtype).unbind()


def _normal(uniform: Tensor) -> Tensor:
    return torch.erfinv(2 * uniform - 1).mul_(math.sqrt(2))


def gumbel_like(tensor: Tensor) -> Tensor:
    """Standard Gumbel numbers with the shape `(B, *)`, dtype and device of a tensor."""
    # Minus the logarithm of an exponential variable.
    if _stream is None:
        exponential = torch.empty_like(tensor).exponential_()
        return -exponential.clamp_min_(torch.finfo(tensor.dtype).tiny).log_()
    return -(-uniform(tensor.shape, tensor.device).log()).log().to(tensor.dtype)


def _mixed(bits: Tensor) -> Tensor:
    """The finaliser of SplitMix64 on int64, modulo 2**64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = _shifted(bits, shift).bitwise_xor_(bits).mul_(_signed(factor))
    return _shifted(bits, 31).bitwise_xor_(bits)


def _shifted(bits: Tensor, count: int) -> Tensor:
    """A logical shift to the right; torch's own shift keeps the sign."""
    return (bits >> count).bitwise_and_(2 ** (64 - count) - 1)


def _signed(number: int) -> int:
    """The number as int64, modulo 2**64."""
    return (number + 2**63) % 2**64 - 2**63
