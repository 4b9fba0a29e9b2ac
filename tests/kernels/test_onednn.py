"""The linear map by oneDNN against torch's own in float64."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from zoo.kernels import Linear, linear
from zoo.kernels.onednn import _mkl_is_slow

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch has no oneDNN")


class Watched(TorchDispatchMode):
    """Counts products by either library."""

    def __init__(self) -> None:
        super().__init__()
        self.by_onednn, self.by_mkl = 0, 0
        self.weights: list[Tensor] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if "mkldnn" in str(function):
            self.by_onednn += 1
            self.weights.append(args[1])
        self.by_mkl += str(function).startswith(("aten.mm", "aten.addmm", "aten.bmm"))
        return function(*args, **(kwargs or {}))


@pytest.fixture
def slow_mkl(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that needs oneDNN, for products of any size."""
    monkeypatch.setattr("zoo.kernels.onednn._mkl_is_slow", lambda: True)
    monkeypatch.setattr("zoo.kernels.onednn._FEWEST_MULTIPLICATIONS", 1)


def found(layer: nn.Linear, x: Tensor) -> list[Tensor]:
    """The output and all gradients."""
    x = x.detach().requires_grad_()
    layer.zero_grad()
    y = layer(x)
    (y * torch.arange(y.numel(), dtype=y.dtype).view_as(y).cos()).sum().backward()
    assert x.grad is not None
    return [
        y.detach(),
        x.grad,
        *(parameter.grad for parameter in layer.parameters() if parameter.grad is not None),
    ]


@pytest.mark.usefixtures("slow_mkl")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(5,), (3, 4), (2, 1, 3), (1, 1)])
def test_outputs_and_gradients_are_torchs(lead: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(1)
    layer, x = Linear(7, 6, bias=bias), torch.randn(*lead, 7)
    with Watched() as watched:
        ours = found(layer, x)
    assert (watched.by_onednn, watched.by_mkl) == (3, 0)
    exact = nn.Linear(7, 6, bias=bias).double()
    exact.load_state_dict(layer.state_dict())
    for one, other in zip(ours, found(exact, x.double()), strict=True):
        torch.testing.assert_close(one, other.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("slow_mkl")
def test_any_strides() -> None:
    """Gradients of sums are one number expanded, those of slices have gaps."""
    torch.manual_seed(2)
    weight, x = torch.randn(6, 14)[:, ::2], torch.randn(7, 5).mT
    for gradient in (torch.ones(()).expand(5, 6), torch.randn(5, 12)[:, ::2], torch.randn(6).expand(5, 6)):
        weight_1, x_1 = weight.clone().requires_grad_(), x.clone().requires_grad_()
        linear(x_1, weight_1).backward(gradient)
        torch.testing.assert_close(x_1.grad, gradient @ weight, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(weight_1.grad, gradient.mT @ x, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(linear(x, weight), x @ weight.mT, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("slow_mkl")
@pytest.mark.parametrize("turned", [False, True])
def test_onednn_gets_weights_without_gaps(turned: bool) -> None:
    """With gaps it takes a thousand times as long."""
    whole, x = torch.randn(8, 8), torch.randn(7, 4)
    part = whole[:, :4].mT[:, :4] if turned else whole[:, :4]
    with Watched() as watched:
        y = linear(x, part)
    torch.testing.assert_close(y, x @ part.mT, rtol=1e-5, atol=1e-6)
    (given,) = watched.weights
    assert given.is_contiguous() or given.mT.is_contiguous()


@pytest.mark.usefixtures("slow_mkl")
def test_gradients_of_gradients() -> None:
    torch.manual_seed(3)
    results = []
    for function in (linear, functional.linear):
        torch.manual_seed(3)
        x, weight = torch.randn(5, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
        (first,) = torch.autograd.grad(function(x, weight).square().sum(), x, create_graph=True)
        results.append(torch.autograd.grad(first.square().sum(), (x, weight)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("slow_mkl")
def test_what_needs_no_gradient_has_none() -> None:
    layer = Linear(4, 3)
    layer.weight.requires_grad_(False)
    with Watched() as watched:
        layer(torch.randn(5, 4)).sum().backward()
    assert layer.weight.grad is None
    assert layer.bias.grad is not None
    assert watched.by_onednn == 1


@pytest.mark.usefixtures("slow_mkl")
@pytest.mark.parametrize("case", ["float64", "autocast", "vector", "empty", "meta"])
def test_the_rest_is_torchs(case: str) -> None:
    layer = Linear(4, 3, device="meta" if case == "meta" else "cpu")
    x = torch.randn({"vector": (4,), "empty": (0, 4)}.get(case, (5, 4)), device=layer.weight.device)
    if case == "float64":
        layer, x = layer.double(), x.double()
    with Watched() as watched, torch.autocast("cpu", torch.bfloat16, enabled=case == "autocast"):
        y = layer(x)
    assert y.shape == (*x.shape[:-1], 3)
    assert y.dtype == (torch.bfloat16 if case == "autocast" else x.dtype)
    assert watched.by_onednn == 0


@pytest.mark.usefixtures("slow_mkl")
def test_wrong_sizes_are_refused_by_torch() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        Linear(4, 3)(torch.randn(5, 6))


def test_few_rows_are_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.kernels.onednn._mkl_is_slow", lambda: True)
    layer = Linear(256, 256)
    for rows, by_onednn in ((1, 0), (31, 0), (32, 1)):
        with Watched() as watched, torch.no_grad():
            layer(torch.randn(rows, 256))
        assert watched.by_onednn == by_onednn


def test_only_where_mkl_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """AMD's processors with AVX-512; not Intel's, nor those without, nor under a torch that cannot tell."""

    def slow_on(name: str, instructions: str) -> bool:
        _mkl_is_slow.cache_clear()
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"cpu_name": name}, raising=False)
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instructions)
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
        return _mkl_is_slow()

    assert slow_on("AMD EPYC", "AVX512")
    assert not slow_on("AMD EPYC", "AVX2")
    assert not slow_on("Intel Xeon", "AVX512")
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    _mkl_is_slow.cache_clear()
    assert not _mkl_is_slow()
    _mkl_is_slow.cache_clear()  # the next test's torch is this one's
