"""Cross-entropy of a linear layer, without ever holding tokens x vocabulary."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo.kernels.onednn import linear
from zoo.kernels.precision import at_least_float32, autocast_dtype
from zoo.kernels.transforms import transformed

_ROWS = 256
"""Tokens whose scores are held at a time: those of a vocabulary of 10,000 then fit into a core's cache."""


def linear_cross_entropy(
    features: Tensor, output: nn.Linear, labels: Tensor, *, padding: int, label_smoothing: float = 0.0
) -> Tensor:
    """The sum over tokens of `-log softmax(W f + b)` at their labels, with label smoothing as torch has it.

    Half of the time of a small translation model goes into its vocabulary: scores are written, exponentiated
    and read again by the backward pass, which writes a gradient as large as they are. On a CPU loss and
    gradient are found together here, some rows at a time, while these are in the cache.

    Args:
        features: `(..., D)`; under autocast the products are done in its precision, the rest in float32.
        output: `(V, D)` weights and perhaps `(V,)` biases.
        labels: `(...)` int64.
        padding: the label of what does not count.
        label_smoothing: share of the probability that all tokens get alike (Szegedy et al. 2016).
    """
    if features.device.type != "cpu" or not torch.is_grad_enabled() or transformed():
        scores = output(features)
        return functional.cross_entropy(
            scores.to(at_least_float32(scores)).flatten(0, -2),
            labels.flatten(),
            ignore_index=padding,
            label_smoothing=label_smoothing,
            reduction="sum",
        )
    real = labels != padding
    features, labels = features[real], labels[real]
    features = features.to(autocast_dtype("cpu") or features.dtype)
    loss: Tensor = _LinearCrossEntropy.apply(features, output.weight, output.bias, labels, label_smoothing)
    return loss


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float
    ) -> Tensor:
        exact = at_least_float32(weight)
        matrix = weight.to(features.dtype)
        size = len(weight)
        loss = torch.zeros((), dtype=exact)
        gradients = torch.empty_like(features), torch.zeros_like(weight, dtype=exact)
        bias_gradient = None if bias is None else torch.zeros_like(bias, dtype=exact)
        for start in range(0, len(features), _ROWS):
            rows = slice(start, start + _ROWS)
            label = labels[rows, None]
            scores = linear(features[rows], matrix).to(exact)
            if bias is not None:
                scores += bias
            scores -= scores.amax(-1, keepdim=True)
            loss -= (1 - smoothing) * scores.gather(1, label).sum() + smoothing / size * scores.sum()
            probabilities = scores.exp_()
            total = probabilities.sum(-1, keepdim=True)
            loss += total.log().sum()
            # d loss / d scores = softmax - (1 - s) onehot - s / V
            slopes = probabilities.div_(total).sub_(smoothing / size)
            slopes.scatter_add_(1, label, torch.full_like(label, smoothing - 1, dtype=exact))
            if bias_gradient is not None:
                bias_gradient += slopes.sum(0)
            slopes = slopes.to(features.dtype)
            gradients[0][rows] = linear(slopes, matrix.mT)
            gradients[1].add_(linear(slopes.mT, features[rows].mT))
        ctx.save_for_backward(*gradients, bias_gradient, features, weight, bias, labels)
        ctx.smoothing = smoothing
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_features, of_weight, of_bias, features, weight, bias, labels = ctx.saved_tensors
        if (
            torch.is_grad_enabled()
        ):  # for second derivatives: what was found in the forward pass has no history
            of_features, of_weight, of_bias = _gradients(features, weight, bias, labels, ctx.smoothing)
        return (
            of_features * gradient.to(features.dtype),
            (of_weight * gradient).to(weight.dtype),
            None if bias is None or of_bias is None else (of_bias * gradient).to(bias.dtype),
            None,
            None,
        )


def _gradients(
    features: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Those of the loss, by operations that have gradients themselves, for all tokens at once."""
    exact, size = at_least_float32(weight), len(weight)
    matrix = weight.to(features.dtype)
    scores = linear(features, matrix).to(exact)
    scores = scores if bias is None else scores + bias
    wanted = functional.one_hot(labels, size).to(exact)
    slopes = scores.softmax(-1) - (1 - smoothing) * wanted - smoothing / size
    of_bias = None if bias is None else slopes.sum(0)
    slopes = slopes.to(features.dtype)
    return linear(slopes, matrix.mT), linear(slopes.mT, features.mT), of_bias
