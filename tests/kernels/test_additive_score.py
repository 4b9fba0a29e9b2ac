"""The additive score against what autograd makes of its formula."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from zoo.kernels import additive_score

SHAPES = [
    ((2, 1, 5), (2, 4, 5), (1, 5)),  # a step of a decoder
    ((2, 3, 5), (2, 4, 5), (1, 5)),
    ((2, 3, 2, 5), (2, 3, 4, 5), (3, 1, 5)),  # heads
    ((2, 3, 5), (1, 4, 5), (1, 5)),  # keys that are shared
    ((2, 5), (4, 5), (1, 5)),
]


def drawn(shapes: tuple[tuple[int, ...], ...]) -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("shapes", SHAPES)
def test_scores_and_gradients_are_those_of_the_formula(shapes: tuple[tuple[int, ...], ...]) -> None:
    searched, projected, v = drawn(shapes)
    hidden = torch.tanh(searched.unsqueeze(-2) + projected.unsqueeze(-3))
    expected = (hidden * v.unsqueeze(-2)).sum(-1)
    torch.testing.assert_close(additive_score(searched, projected, v), expected)
    assert torch.autograd.gradcheck(additive_score, (searched, projected, v))


def test_mixed_precision_leaves_what_is_large_as_it_is() -> None:
    casts = []

    class Watched(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if "_to_copy" in str(function) and args[0].ndim == 4:
                casts.append(args[0].shape)
            return function(*args, **(kwargs or {}))

    parts = [part.detach().float().requires_grad_() for part in drawn(SHAPES[0])]
    with torch.autocast("cpu", torch.bfloat16), Watched():
        scores = additive_score(*parts)
        scores.sum().backward()
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, additive_score(*parts))
    assert not casts
