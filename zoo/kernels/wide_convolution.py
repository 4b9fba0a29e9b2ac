"""Wide convolutions over texts of unequal length.

A convolution over a padded batch computes as much for padding as for words. Here all texts stand in one line
with zeros between them, and each width of filters is one product with the line's windows.

Shapes: B texts, T words in the longest, E features of a word, w width, F filters, N positions of the line.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import Function, once_differentiable
from torch.nn import functional

from zoo.kernels.skip_padding import inverse, select
from zoo.kernels.transforms import transformed


def wide_convolutions(words: Tensor, lengths: Tensor, convolutions: Sequence[nn.Conv1d]) -> list[Tensor]:
    """`W x_{i-w+1:i} + b` for each i from the first word to the w - 1 zeros behind the last one.

    Args:
        words: `(B, T, E)`; what stands behind the end of a text is not read.
        lengths: `(B,)` words in each text.
        convolutions: filters with `padding=w - 1`.

    Returns:
        For each width `(B, T + w - 1, F)`, zeros behind the `length + w - 1` features of a text.

    Raises:
        RuntimeError: a second derivative is asked for on a CPU.
    """
    if not _is_faster(words):
        there = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        columns = torch.where(there.unsqueeze(-1), words, 0).mT
        found = []
        for convolution in convolutions:
            wider = functional.pad(there, (convolution.kernel_size[0] - 1, 0), value=True)
            found.append(torch.where(wider.unsqueeze(-1), convolution(columns).mT, 0))
        return found
    weights = [parameter for one in convolutions for parameter in (one.weight, one.bias)]
    return list(_Convolve.apply(words, lengths, *weights))


def _is_faster(words: Tensor) -> bool:
    return (
        words.device.type == "cpu"
        and not torch.compiler.is_compiling()
        and words.dtype in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
        and not transformed()
    )


class _Line(NamedTuple):
    """Texts in one line, each behind as many zeros as the widest filters see.

    Attributes:
        words: `(N,)`, the padded position `b T + t` of each word in the line; B T: none stands there.
        starts: `(B,)`, where the texts begin.
    """

    words: Tensor
    starts: Tensor

    def back(self, positions: int) -> Tensor:
        """`(positions,)`, where in the line each padded position stands; N: it is padding."""
        return inverse(self.words, positions)


def _lined(lengths: Tensor, longest: int, widest: int) -> _Line:
    gap = widest - 1
    ends = (lengths + gap).cumsum(0)
    starts = ends - lengths
    there = torch.arange(longest) < lengths[:, None]
    line = torch.full((int(ends[-1]) + gap,), len(lengths) * longest)
    line[(starts[:, None] + torch.arange(longest))[there]] = there.flatten().nonzero()[:, 0]
    return _Line(line, starts)


def _features(line: _Line, lengths: Tensor, longest: int, width: int) -> Tensor:
    """`(B (T + w - 1),)`, the first position of each feature's window; the number of windows: padding."""
    feature = torch.arange(longest + width - 1)
    starts = line.starts[:, None] - (width - 1) + feature
    return starts.where(feature < lengths[:, None] + width - 1, len(line.words)).flatten()


def _windows(line: Tensor, widest: int) -> Tensor:
    """`(N, widest E)`: each position of the line `(N, E)`, and those behind it."""
    longer = torch.cat([line, line.new_zeros(widest - 1, line.shape[1])])
    return longer.unfold(0, widest, 1).mT.flatten(1)


class _Convolve(Function):
    @staticmethod
    def forward(ctx: Any, words: Tensor, lengths: Tensor, *flat: Tensor) -> tuple[Tensor, ...]:
        weights, biases = flat[::2], flat[1::2]
        widest = max(weight.shape[2] for weight in weights)
        texts, longest, size = words.shape
        line = _lined(lengths, longest, widest)
        stream = select(words.flatten(0, 1), line.words)
        windows = _windows(stream, widest)
        found = []
        places = []
        for weight, bias in zip(weights, biases, strict=True):
            width = weight.shape[2]
            filters = weight.permute(2, 1, 0).reshape(width * size, -1)
            places.append(_features(line, lengths, longest, width))
            features = torch.addmm(bias, windows[:, : width * size], filters)
            found.append(select(features, places[-1]).view(texts, longest + width - 1, -1))
        ctx.save_for_backward(stream, *weights)
        ctx.line, ctx.places, ctx.shape, ctx.widest = line, places, words.shape, widest
        return tuple(found)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        stream, *weights = ctx.saved_tensors
        windows = _windows(stream, ctx.widest)
        count, size = stream.shape
        of_windows = torch.zeros_like(windows)
        found: list[Tensor] = []
        for weight, gradient, places in zip(weights, gradients, ctx.places, strict=True):
            width = weight.shape[2]
            features = select(gradient.flatten(0, 1), inverse(places, count))
            of_weight = features.t() @ windows[:, : width * size]
            found += [of_weight.view(-1, width, size).mT, features.sum(0)]
            of_windows[:, : width * size].addmm_(features, weight.mT.flatten(1))
        if not ctx.needs_input_grad[0]:
            return None, None, *found
        of_stream = stream.new_zeros(count + ctx.widest - 1, size)
        for number, part in enumerate(of_windows.chunk(ctx.widest, 1)):
            of_stream[number : number + count] += part
        back = ctx.line.back(ctx.shape[0] * ctx.shape[1])
        return select(of_stream[:count], back).view(ctx.shape), None, *found
