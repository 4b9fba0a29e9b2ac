"""Cross-entropy of a linear layer, without storing scores of all tokens x vocabulary."""

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo.kernels.cross_entropy_columns import Gradients, Output, add_tokens, smooth
from zoo.kernels.onednn import linear
from zoo.kernels.precision import at_least_float32, autocast_dtype
from zoo.kernels.transforms import transformed

_BYTES_ON_A_CPU = 1024
"""Of a word's scores that are stored at a time, of 256 tokens in float32 and 512 in half precision."""

_SCORES_ON_A_GPU = 2**27
"""Scores that are stored at a time, 256 MiB in half precision: large products keep a GPU busy."""


def linear_cross_entropy(
    features: Tensor, output: nn.Linear, labels: Tensor, *, padding: int, label_smoothing: float = 0.0
) -> Tensor:
    """The sum over tokens of `-log softmax(W f + b)` at their labels, with label smoothing as in torch.

    The vocabulary takes half of a small translation model's time: scores are written, exponentiated and read
    again by the backward pass, which writes a gradient of the same size. Here loss and gradient are computed
    together for some tokens at a time, on a CPU while their scores are in the cache
    (`zoo.kernels.cross_entropy_columns`). On a GPU one kernel (`zoo.kernels.cross_entropy_rows`) overwrites
    scores with their gradient.

    Beside the gradients of features and weights it stores scores in the precision of the product: on a CPU
    those of 256 tokens in float32 or of 512 in half precision, on a GPU at most 2^27.

    Args:
        features: `(..., D)`; under autocast the products have its precision, all else is float32.
        output: `(V, D)` weights and optionally `(V,)` biases.
        labels: `(...)` int64.
        padding: the label of tokens that are ignored.
        label_smoothing: probability that is spread evenly over all tokens (Szegedy et al. 2016).
    """
    features, labels = features.flatten(0, -2), labels.flatten()
    if transformed():
        return _plain_loss(output(features), labels, padding, label_smoothing)
    if not torch.is_grad_enabled():
        return _loss_alone(features, output, labels, padding, label_smoothing)
    features = features.to(autocast_dtype(features.device.type) or features.dtype)
    if _kernel_for(features) is None:  # the kernel passes over padding without waiting for the GPU
        real = labels != padding
        features, labels = features[real], labels[real]
    loss: Tensor = _LinearCrossEntropy.apply(
        features, output.weight, output.bias, labels, padding, float(label_smoothing)
    )
    return loss


def _plain_loss(scores: Tensor, labels: Tensor, padding: int, smoothing: float) -> Tensor:
    return functional.cross_entropy(
        scores.to(at_least_float32(scores)),
        labels,
        ignore_index=padding,
        label_smoothing=smoothing,
        reduction="sum",
    )


def _loss_alone(
    features: Tensor, output: nn.Linear, labels: Tensor, padding: int, smoothing: float
) -> Tensor:
    loss = torch.zeros((), dtype=at_least_float32(output.weight), device=features.device)
    for rows in _pieces(len(features), _SCORES_ON_A_GPU // output.out_features):
        loss += _plain_loss(output(features[rows]), labels[rows], padding, smoothing)
    return loss


def _pieces(count: int, rows: int) -> Iterator[slice]:
    return (slice(start, start + rows) for start in range(0, count, max(1, rows)))


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        padding: int,
        smoothing: float,
    ) -> Tensor:
        exact = at_least_float32(weight)
        matrix, kernel = weight.to(features.dtype), _kernel_for(features)
        vector = None if bias is None else bias.to(matrix.dtype)
        loss = torch.zeros((), dtype=exact, device=features.device)
        gradients = Gradients(
            torch.empty_like(features),
            torch.zeros_like(weight, dtype=exact),
            None if bias is None else torch.zeros_like(bias, dtype=exact),
        )
        if kernel is not None:
            for rows in _pieces(len(features), _SCORES_ON_A_GPU // len(weight)):
                slopes = functional.linear(features[rows], matrix, vector)
                loss += kernel(slopes, labels[rows], padding=padding, smoothing=smoothing).sum()
                if gradients.bias is not None:
                    gradients.bias.add_(slopes.sum(0, dtype=exact))
                gradients.features[rows] = linear(slopes, matrix.mT)
                gradients.weight.add_(_summed(slopes, features[rows]))
        else:
            output = Output(matrix, matrix.t().contiguous(), None if vector is None else vector[:, None])
            on_cpu = features.device.type == "cpu"
            most = _BYTES_ON_A_CPU // features.dtype.itemsize if on_cpu else _SCORES_ON_A_GPU // len(weight)
            for rows in _pieces(len(features), most):
                loss += add_tokens(gradients, rows, features, output, labels, smoothing)
            if smoothing:
                loss += smooth(gradients, features, output, smoothing)
        ctx.save_for_backward(*gradients, features, weight, bias, labels)
        ctx.padding, ctx.smoothing = padding, smoothing
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_features, of_weight, of_bias, features, weight, bias, labels = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives: the saved gradients have no history
            of_features, of_weight, of_bias = _gradients(
                features, weight, bias, labels, ctx.padding, ctx.smoothing
            )
        return (
            of_features * gradient.to(features.dtype),
            (of_weight * gradient).to(weight.dtype),
            None if bias is None or of_bias is None else (of_bias * gradient).to(bias.dtype),
            None,
            None,
            None,
        )


def _gradients(
    features: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, padding: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients of the loss by differentiable operations, for all tokens at once."""
    exact, size = at_least_float32(weight), len(weight)
    matrix, real = weight.to(features.dtype), (labels != padding)[:, None]
    scores = linear(features, matrix).to(exact)
    scores = scores if bias is None else scores + bias
    wanted = functional.one_hot(torch.where(real[:, 0], labels, 0), size).to(exact)
    slopes = (scores.softmax(-1) - (1 - smoothing) * wanted - smoothing / size) * real
    of_bias = None if bias is None else slopes.sum(0)
    slopes = slopes.to(features.dtype)
    return linear(slopes, matrix.mT), linear(slopes.mT, features.mT), of_bias


def _summed(slopes: Tensor, features: Tensor) -> Tensor:
    """`(V, D)`, the products of slopes `(N, V)` and features `(N, D)`, summed over N rows."""
    if slopes.dtype.itemsize < 4:  # as precise as the sum of all pieces
        return torch.mm(slopes.mT, features, out_dtype=torch.float32)
    return linear(slopes.mT, features.mT)


def _kernel_for(features: Tensor) -> Callable[..., Tensor] | None:
    """The kernel for whole rows, if there is one for these features."""
    if features.device.type != "cuda" or features.dtype.itemsize > 4:
        return None
    return _kernel(features.device)


@cache
def _kernel(device: torch.device) -> Callable[..., Tensor] | None:
    """The kernel, if Triton can compile it on this machine."""
    try:
        from zoo.kernels.cross_entropy_rows import losses_and_slopes

        scores, labels = torch.zeros(1, 2, device=device), torch.zeros(1, dtype=torch.int64, device=device)
        losses_and_slopes(scores, labels, padding=1, smoothing=0.0)
    except Exception as error:  # no Triton, no C compiler, no Python headers, a GPU too old for it, ...
        warnings.warn(
            f"Triton cannot compile here, so the loss over the vocabulary takes longer: {error}",
            stacklevel=2,
        )
        return None
    return losses_and_slopes
