"""Every score and every selection, and random inputs for them."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from zoo.attention import (
    Additive,
    Attention,
    ContentAndLocation,
    Cosine,
    Dot,
    Entmax,
    Euclidean,
    General,
    GumbelHard,
    Hard,
    LinearConcat,
    LocalMonotonic,
    LocalPredictive,
    Location,
    ScaledDot,
    Score,
    Selection,
    Soft,
    Sparsemax,
    Static,
    Uniform,
)

SIZE = 4
VALUE_SIZE = 3
QUERIES = 3
KEYS = 7

SCORES: dict[str, Callable[..., Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "additive": partial(Additive, hidden_size=5),
    "linear_concat": LinearConcat,
    "cosine": Cosine,
    "euclidean": Euclidean,
    "location": partial(Location, maximum_length=2 * KEYS),
    "uniform": Uniform,
}
SELECTIONS: dict[str, Callable[..., Selection]] = {
    "soft": Soft,
    "hard": Hard,
    "gumbel_hard": partial(GumbelHard, temperature=0.7),
    "local_monotonic": partial(LocalMonotonic, window=2),
    "local_predictive": partial(LocalPredictive, window=2),
    "content_and_location": ContentAndLocation,
    "sparsemax": partial(Sparsemax, temperature=4.0),  # keys without a weight have no gradient
    "entmax": partial(Entmax, temperature=4.0),
    "static": Static,
}
COMBINATIONS = [(score, selection) for score in SCORES for selection in SELECTIONS]

every_combination = pytest.mark.parametrize(("score", "selection"), COMBINATIONS)
every_mode = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])


def build(score: str, selection: str, *, heads: int | None = None, training: bool = False) -> Attention:
    """A float64 attention, the same at every call."""
    torch.manual_seed(0)
    attention = Attention(
        score=SCORES[score](query_size=SIZE, key_size=SIZE, heads=heads),
        selection=SELECTIONS[selection](query_size=SIZE, heads=heads),
    )
    return randomise(attention).double().train(training)


def randomise(module: nn.Module) -> nn.Module:
    """Larger parameters than at the start of training, so that nothing is nearly linear or uniform."""
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def randn(*shape: int, seed: int = 2) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def inputs(*lead: int, queries: int = QUERIES, keys: int = KEYS) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values."""
    return (
        randn(*lead, queries, SIZE, seed=3),
        randn(*lead, keys, SIZE, seed=4),
        randn(*lead, keys, VALUE_SIZE, seed=5),
    )


def leaf(tensor: Tensor) -> Tensor:
    """A copy that collects its gradient."""
    return tensor.detach().clone().requires_grad_()


def seeded(attention: Attention, *arguments: object) -> object:
    """A reading whose noise is the same at every call with the same shapes."""
    torch.manual_seed(6)
    return attention(*arguments)


def equal(actual: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)
