"""Every hand-written gradient under `torch.func`, in forward mode and differentiated twice."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import grad, hessian, jvp, vmap
from torch.nn import functional

from zoo.kernels import Dropout, RepeatedLinear, additive_score, linear, linear_cross_entropy

# torch's own, which it raises when it first differentiates in forward mode
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")

Map = Callable[[Tensor, Tensor], Tensor]


class Kernel(NamedTuple):
    """A kernel as a map of an input and a weight, and its plain twin; a batch of inputs has one axis more."""

    own: Map
    plain: Map
    input: tuple[int, ...]
    weight: tuple[int, ...]


def additive(x: Tensor, weight: Tensor) -> Tensor:
    return additive_score(x, x.flip(-2) + 1, weight).sin()


def plain_additive(x: Tensor, weight: Tensor) -> Tensor:
    hidden = torch.tanh(x.unsqueeze(-2) + (x.flip(-2) + 1).unsqueeze(-3))
    return (hidden * weight.unsqueeze(-2)).sum(-1).sin()


def mapped(x: Tensor, weight: Tensor) -> Tensor:
    return linear(x, weight).sin()


def plain_mapped(x: Tensor, weight: Tensor) -> Tensor:
    return functional.linear(x, weight).sin()


def repeated(x: Tensor, weight: Tensor) -> Tensor:
    W = RepeatedLinear(weight)
    return W(W(x).tanh() + x)


def plain_repeated(x: Tensor, weight: Tensor) -> Tensor:
    return functional.linear(functional.linear(x, weight).tanh() + x, weight)


def labels(x: Tensor) -> Tensor:
    return (torch.arange(x.shape[:-1].numel()) % 5).view(x.shape[:-1])


class Output(nn.Linear):
    """A layer with these weights, which are no parameters, and biases that depend on them."""

    def __init__(self, weight: Tensor) -> None:
        nn.Module.__init__(self)
        self.weight, self.bias = weight, weight.sum(-1)  # type: ignore[assignment]


def cross_entropy(x: Tensor, weight: Tensor) -> Tensor:
    return linear_cross_entropy(x, Output(weight), labels(x), padding=0, label_smoothing=0.1)


def plain_cross_entropy(x: Tensor, weight: Tensor) -> Tensor:
    return functional.cross_entropy(
        Output(weight)(x), labels(x), ignore_index=0, label_smoothing=0.1, reduction="sum"
    )


KERNELS = {
    "additive_score": Kernel(additive, plain_additive, (4, 3), (1, 3)),
    "linear": Kernel(mapped, plain_mapped, (2, 3), (4, 3)),
    "repeated_linear": Kernel(repeated, plain_repeated, (2, 3), (3, 3)),
    "linear_cross_entropy": Kernel(cross_entropy, plain_cross_entropy, (6, 3), (5, 3)),
}

every_kernel = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(autouse=True)
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that needs oneDNN, for products of any size, in float32 (others go to torch)."""
    monkeypatch.setattr("zoo.kernels.onednn._mkl_is_slow", torch.backends.mkldnn.is_available)
    monkeypatch.setattr("zoo.kernels.onednn._FEWEST_MULTIPLICATIONS", 1)


def drawn(kernel: Kernel, *lead: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(*lead, *kernel.input, generator=generator, dtype=torch.float64).to(dtype),
        torch.randn(kernel.weight, generator=generator, dtype=torch.float64).to(dtype),
    )


def summed(function: Map) -> Map:
    return lambda x, weight: function(x, weight).sum()


def by_grad(function: Map, x: Tensor, weight: Tensor) -> Tensor:
    return torch.cat([part.flatten() for part in grad(summed(function), argnums=(0, 1))(x, weight)])


def by_jvp(function: Map, x: Tensor, weight: Tensor) -> Tensor:
    return jvp(function, (x, weight), (x.cos(), weight.cos()))[1]


def by_forward_mode(function: Map, x: Tensor, weight: Tensor) -> Tensor:
    with forward_ad.dual_level():
        pairs = (forward_ad.make_dual(part, part.cos()) for part in (x, weight))
        return forward_ad.unpack_dual(function(*pairs)).tangent


def by_hessian(function: Map, x: Tensor, weight: Tensor) -> Tensor:
    return hessian(summed(function), argnums=1)(x, weight)


def gradients_of_gradients(function: Map, x: Tensor, weight: Tensor) -> Tensor:
    """A loss of gradients, as a gradient penalty is; the last backward pass is an ordinary one."""
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    value = function(x, weight).sum()
    firsts = torch.autograd.grad(value, (x, weight), create_graph=True)
    (value + sum(first.square().sum() for first in firsts)).backward()
    return torch.cat([x.grad.flatten(), weight.grad.flatten()])


WAYS = [by_grad, by_jvp, by_forward_mode, by_hessian, gradients_of_gradients]


@every_kernel
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_derivative_is_that_of_the_plain_twin(
    name: str, way: Callable[[Map, Tensor, Tensor], Tensor], dtype: torch.dtype
) -> None:
    kernel = KERNELS[name]
    x, weight = drawn(kernel, dtype=dtype)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    torch.testing.assert_close(
        way(kernel.own, x, weight), way(kernel.plain, x, weight), rtol=tolerance, atol=tolerance
    )


@every_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_batch_of_gradients_by_vmap(name: str, dtype: torch.dtype) -> None:
    """Per-sample gradients, and outputs without any."""
    kernel = KERNELS[name]
    x, weight = drawn(kernel, 3, dtype=dtype)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    for function in (kernel.own, grad(summed(kernel.own), argnums=1)):
        each = torch.stack([function(one, weight) for one in x])
        mapped = vmap(function, (0, None))(x, weight)
        torch.testing.assert_close(mapped, each, rtol=tolerance, atol=tolerance)
        with torch.no_grad():
            mapped = vmap(kernel.own, (0, None))(x, weight)
    torch.testing.assert_close(
        mapped, torch.stack([kernel.plain(one, weight) for one in x]), rtol=tolerance, atol=tolerance
    )


@every_kernel
def test_second_derivatives_are_those_of_differences(name: str) -> None:
    kernel = KERNELS[name]
    parts = [part.requires_grad_() for part in drawn(kernel)]
    assert torch.autograd.gradgradcheck(kernel.own, parts)


def test_dropout_is_torchs_own_under_a_transformation() -> None:
    dropout, x = Dropout(0.5), torch.ones(4, 50)
    for randomness, alike in (("same", True), ("different", False)):
        rows = vmap(dropout, randomness=randomness)(x)
        assert set(rows.unique().tolist()) == {0.0, 2.0}
        assert torch.equal(rows[0], rows[1]) == alike
    torch.manual_seed(0)
    slopes = grad(lambda x: dropout(x).square().sum())(x)
    assert set(slopes.unique().tolist()) == {0.0, 8.0}


def test_dropout_twice_differentiated() -> None:
    x = torch.full((20,), 3.0, requires_grad=True)
    (first,) = torch.autograd.grad(Dropout(0.5)(x).pow(3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, torch.where(first > 0, 6 * 2.0**3 * x, 0.0))


def test_a_backward_pass_that_ends_before_the_weight_adds_nothing_to_the_next() -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(3, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    found = []
    for function in (plain_repeated, repeated):
        loss = function(x, weight).square().sum()
        torch.autograd.grad(loss, x, retain_graph=True)
        found.append(torch.autograd.grad(loss, weight)[0])
    torch.testing.assert_close(*found)
