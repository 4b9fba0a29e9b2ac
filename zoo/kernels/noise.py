"""Random numbers that belong to an item: the same in any batch, on any number of devices, after any resume.

What samples inside a network asks here. As a rule the numbers come from torch's global generator, whose state
depends on everything that was drawn before. Inside `keyed` each is a function of its item's key, of how many
drawings came before and of its place in the drawing: SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable
pseudorandom number generators") of their sum, for all items at once. Rows may be padded to any length: what
lies at a place stays the same.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_BITS = 23
"""Of a number: with half of the last one added, float32 holds it exactly, and neither 0 nor 1 can come."""


class _Stream:
    """Of B items; knows how often it was drawn from."""

    def __init__(self, keys: Tensor) -> None:
        self.keys, self.drawings = keys, 0


_stream: _Stream | None = None


@contextmanager
def keyed(index: Tensor, *numbers: int) -> Iterator[None]:
    """Inside, the random numbers of row b are functions of `index[b]` and of `numbers`.

    Args:
        index: `(B,)` int64, of items that differ; drawings have B rows, or several neighbours of each.
        numbers: what else decides, such as seed and epoch.
    """
    global _stream
    before = _stream
    decided = sum(
        (number + 1) * pow(_GOLDEN, 2 * place, 2**64) for place, number in enumerate(numbers, start=1)
    )
    _stream = _Stream(_mixed(index + _signed(decided)))
    try:
        yield
    finally:
        _stream = before


@contextmanager
def of_items(rows: Tensor) -> Iterator[None]:
    """Inside, drawings are of some of the items alone, as a search draws that others have left.

    Without keys it changes nothing.

    Args:
        rows: `(R,)`, their places among those of `keyed`.
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


def uniform(shape: Sequence[int], device: torch.device) -> Tensor:
    """Float32 of a shape `(B, *)`, evenly distributed between 0 and 1.

    Raises:
        ValueError: there are keys, and B is no multiple of their number.
    """
    if _stream is None:
        return torch.rand(shape, device=device)
    return keyed_uniform(shape, device)


def keyed_uniform(shape: Sequence[int], device: torch.device) -> Tensor:
    """`uniform` where there are keys; apart, since a compiled graph would hold one number of drawings."""
    return _drawn(1, shape, device).view(tuple(shape))


def _drawn(number: int, shape: Sequence[int], device: torch.device) -> Tensor:
    """So many drawings of a shape at once, `(number, *shape)`: what one after the other gives."""
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
    """`(prod(sizes),)`: what tells the places of a drawing apart; that of each depends on no other size."""
    places = torch.zeros(1, dtype=torch.int64, device=device)
    for axis, size in enumerate(sizes, start=1):
        steps = torch.arange(size, device=device) * _signed(pow(_GOLDEN, 2 * axis + 1, 2**64))
        places = (places[:, None] + steps).flatten()
    return places


def normal_like(tensor: Tensor) -> Tensor:
    """From the standard normal distribution, of the shape `(B, *)`, dtype and device of another tensor."""
    if _stream is None:
        return torch.randn_like(tensor)
    return _normal(uniform(tensor.shape, tensor.device)).to(tensor.dtype)


def normals_like(tensor: Tensor, number: int) -> Sequence[Tensor]:
    """What so many calls of `normal_like` give, in less time."""
    if _stream is None:
        return [torch.randn_like(tensor) for _ in range(number)]
    return _normal(_drawn(number, tensor.shape, tensor.device)).to(tensor.dtype).unbind()


def _normal(uniform: Tensor) -> Tensor:
    return torch.erfinv(2 * uniform - 1).mul_(math.sqrt(2))


def gumbel_like(tensor: Tensor) -> Tensor:
    """Standard Gumbel, of the shape `(B, *)`, dtype and device of another tensor.

    Minus the logarithm of an exponential variable.
    """
    if _stream is None:
        exponential = torch.empty_like(tensor).exponential_()
        return -exponential.clamp_min_(torch.finfo(tensor.dtype).tiny).log_()
    return -(-uniform(tensor.shape, tensor.device).log()).log().to(tensor.dtype)


def _mixed(bits: Tensor) -> Tensor:
    """Each bit of the result depends on all of int64 `bits`; arithmetic is modulo 2**64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = _shifted(bits, shift).bitwise_xor_(bits).mul_(_signed(factor))
    return _shifted(bits, 31).bitwise_xor_(bits)


def _shifted(bits: Tensor, count: int) -> Tensor:
    """To the right, with zeros from the left, which torch's own shift of signed numbers does not do."""
    return (bits >> count).bitwise_and_(2 ** (64 - count) - 1)


def _signed(number: int) -> int:
    """The int64 of the same bits, modulo 2**64."""
    return (number + 2**63) % 2**64 - 2**63
