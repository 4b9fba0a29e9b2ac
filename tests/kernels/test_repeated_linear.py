"""A linear map of many steps against the same map without the detour."""

import gc
import weakref

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from zoo.kernels import RepeatedLinear


def recurrence(layer: nn.Linear, first: Tensor, repeated: bool) -> Tensor:
    """Five steps that depend on each other."""
    apply = RepeatedLinear(layer.weight) if repeated else layer
    state = first
    for _ in range(5):
        state = state + apply(state).tanh()
    return state


def test_outputs_and_gradients_are_those_of_the_layer() -> None:
    torch.manual_seed(1)
    layer, first = nn.Linear(6, 6, bias=False).double(), torch.randn(2, 3, 6).double().requires_grad_()
    found = []
    for repeated in (False, True):
        layer.zero_grad()
        first.grad = None
        result = recurrence(layer, first, repeated)
        result.square().sum().backward()
        assert layer.weight.grad is not None
        assert first.grad is not None
        found.append((result.detach(), layer.weight.grad.clone(), first.grad.clone()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_gradients_add_up_over_passes_and_with_other_uses_of_the_weight() -> None:
    torch.manual_seed(2)
    layer, first = nn.Linear(4, 4, bias=False).double(), torch.randn(3, 4).double()
    found = []
    for repeated in (False, True):
        layer.zero_grad()
        for scale in (1.0, 2.0):
            (scale * recurrence(layer, first, repeated).sum() + layer(first).square().sum()).backward()
        assert layer.weight.grad is not None
        found.append(layer.weight.grad.clone())
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)


def test_one_gradient_product_for_all_steps() -> None:
    """Which is what it is for."""
    layer, products = nn.Linear(8, 8, bias=False), []

    class Watched(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            result = function(*args, **(kwargs or {}))
            if isinstance(result, Tensor) and result.shape == layer.weight.shape and "mm" in str(function):
                products.append(function)
            return result

    loss = recurrence(layer, torch.randn(3, 8), True).sum()
    with Watched():
        loss.backward()
    assert len(products) == 1


def test_mixed_precision_is_that_of_the_layer() -> None:
    torch.manual_seed(3)
    layer, first = nn.Linear(16, 16, bias=False), torch.randn(4, 16)
    found = []
    for repeated in (False, True):
        layer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            result = recurrence(layer, first, repeated)
        result.sum().backward()
        assert layer.weight.grad is not None
        assert layer.weight.grad.dtype == torch.float32
        found.append((result.detach(), layer.weight.grad.clone()))
    assert torch.equal(found[0][0], found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1], rtol=0.05, atol=0.05)


def test_a_weight_without_a_gradient_gets_none() -> None:
    layer, first = nn.Linear(4, 4, bias=False).requires_grad_(False), torch.randn(2, 4, requires_grad=True)
    recurrence(layer, first, True).sum().backward()
    assert first.grad is not None
    assert layer.weight.grad is None


def test_a_backward_pass_that_ends_before_the_weight_leaves_nothing_behind() -> None:
    """Steps that know each other through what they collect would keep the graph of every batch."""

    class Watched:
        pass

    def pass_over_two_steps() -> weakref.ref[Watched]:
        W, start = RepeatedLinear(torch.ones(3, 3, requires_grad=True)), torch.ones(2, 3, requires_grad=True)
        first = W(start * 2)
        second = W(first)
        assert first.grad_fn is not None
        watched = Watched()
        first.grad_fn.metadata["watched"] = watched
        torch.autograd.grad(second.sum(), start)
        return weakref.ref(watched)

    gone = pass_over_two_steps()
    gc.collect()
    assert gone() is None
