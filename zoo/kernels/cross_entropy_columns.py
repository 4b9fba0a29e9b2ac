"""Cross-entropy of columns of scores and its gradients on a CPU, with few passes over the scores.

`zoo.kernels.cross_entropy` is its plain twin. On a CPU with fast products the passes over tokens x vocabulary
between them take the time. Here there are three beside the products: scores become exponentials in place,
whose largest one is not sought, are summed, and those of labels become slopes. Nothing divides them by
their sum: the features, which are few, are divided. Tokens are columns, since products of matrices that lie
in memory as they are read take half the time.

What label smoothing subtracts from every probability is a product of two vectors, which `smooth` adds.

Shapes: N tokens, D features, V words.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from zoo.kernels.onednn import linear

_LARGEST = 2.0**64
"""Sums of exponentials beyond it, or below its inverse, may have lost some of them."""

_PART = 64
"""Words whose exponentials are added up in half precision, inside in float32: the rounding averages out."""


class Gradients(NamedTuple):
    """Of the sum of all losses.

    Attributes:
        features: `(N, D)` in their own precision.
        weight: `(V, D)`, at least float32.
        bias: `(V,)`, at least float32, or None.
    """

    features: Tensor
    weight: Tensor
    bias: Tensor | None


class Output(NamedTuple):
    """The linear layer in the precision of the products.

    Attributes:
        weight: `(V, D)`.
        turned: `(D, V)`, the same in the other order of memory.
        bias: `(V, 1)` or None.
    """

    weight: Tensor
    turned: Tensor
    bias: Tensor | None

    def scores(self, features: Tensor) -> Tensor:
        """`(V, N)` of features `(N, D)`."""
        scores = linear(self.weight, features)
        return scores if self.bias is None else scores.add_(self.bias)


def add_tokens(
    gradients: Gradients, rows: slice, features: Tensor, output: Output, labels: Tensor, smoothing: float
) -> Tensor:
    """Adds the gradients of some tokens and returns their loss, both without what `smooth` adds.

    Args:
        gradients: of all tokens; those of the features of `rows` are written.
        rows: the tokens.
        features: `(N, D)` of all tokens.
        output: the layer.
        labels: `(N,)` of all tokens, from 0 to V - 1.
        smoothing: probability that is spread evenly over all words.
    """
    features, labels = features[rows], labels[rows]
    exact, count = gradients.weight.dtype, len(features)
    places = labels * count + torch.arange(count, device=labels.device)
    scores = output.scores(features)
    exponentials, wanted, others = _exponentials(scores, places, exact)
    sums, highest = others + wanted.exp(), torch.zeros_like(others)
    if not bool(((sums > 1 / _LARGEST) & (sums < _LARGEST)).all()):
        scores = output.scores(features)
        highest = scores.amax(0)
        exponentials, wanted, others = _exponentials(scores.sub_(highest), places, exact)
        sums = others + wanted.exp()
    # The slope of a label is softmax - (1 - s); times the sum, and without a difference of large numbers:
    slopes = exponentials
    of_labels = smoothing * wanted.exp() - (1 - smoothing) * others
    slopes.view(-1)[places] = of_labels.to(slopes.dtype)
    shares = sums.reciprocal()
    gradients.features[rows] = (linear(output.turned, slopes.mT) * shares).to(features.dtype).mT
    divided = (features * shares[:, None]).to(features.dtype)
    gradients.weight.add_(linear(slopes, divided.mT))
    if gradients.bias is not None:
        gradients.bias.add_(linear(slopes, shares[None].to(slopes.dtype)).squeeze(1))
    return (sums.log() - (1 - smoothing) * wanted + smoothing * highest).sum()


def _exponentials(scores: Tensor, places: Tensor, exact: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """In place of scores `(V, N)`, zeros at labels; the scores of labels and the sums of the others, `(N,)`.

    Sums of half precision take one pass, which a conversion to float32 would double.
    """
    wanted = scores.view(-1)[places].to(exact)
    exponentials = scores.exp_()
    exponentials.view(-1)[places] = 0
    if exponentials.dtype == exact:
        return exponentials, wanted, exponentials.sum(0)
    whole = len(exponentials) - len(exponentials) % _PART
    parts = exponentials[:whole].unflatten(0, (-1, _PART)).sum(1)
    return exponentials, wanted, parts.sum(0, dtype=exact) + exponentials[whole:].sum(0, dtype=exact)


def smooth(gradients: Gradients, features: Tensor, output: Output, smoothing: float) -> Tensor:
    """Adds what label smoothing subtracts from every slope, s / V, and returns what it adds to the loss."""
    exact, share = gradients.weight.dtype, smoothing / len(output.weight)
    of_features = output.weight.sum(0, dtype=exact) * share
    of_weight = features.sum(0, dtype=exact) * share
    gradients.features.sub_(of_features.to(features.dtype))
    gradients.weight.sub_(of_weight)
    loss = of_features @ features.sum(0, dtype=exact)
    if gradients.bias is not None and output.bias is not None:
        gradients.bias.sub_(share * len(features))
        loss += share * len(features) * output.bias.sum(dtype=exact)
    return -loss
