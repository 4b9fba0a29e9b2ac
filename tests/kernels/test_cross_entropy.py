"""The chunked cross-entropy is torch's, loss and gradients."""

import math
import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from zoo.kernels import cross_entropy, linear_cross_entropy

SIZE, VOCABULARY, PADDING = 8, 31, 0


def both(
    count: int, *, bias: bool, smoothing: float, dtype: torch.dtype, mixed: bool = False, scale: float = 1
) -> tuple[list[Tensor], list[Tensor]]:
    """Loss and gradients of ours and of its plain twin."""
    torch.manual_seed(0)
    output = nn.Linear(SIZE, VOCABULARY, bias=bias).to(dtype)
    features, labels = scale * torch.randn(2, count, SIZE, dtype=dtype), torch.randint(VOCABULARY, (2, count))
    labels[1, count // 2 :] = PADDING
    results = []
    for own in (True, False):
        output.zero_grad()
        inputs = features.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            if own:
                loss = linear_cross_entropy(
                    inputs, output, labels, padding=PADDING, label_smoothing=smoothing
                )
            else:
                loss = functional.cross_entropy(
                    output(inputs).to(torch.promote_types(dtype, torch.float32)).flatten(0, 1),
                    labels.flatten(),
                    ignore_index=PADDING,
                    reduction="sum",
                    label_smoothing=smoothing,
                )
        (3 * loss).backward()
        results.append([loss.detach(), inputs.grad, *(one.grad for one in output.parameters())])
    return results[0], results[1]


@pytest.mark.parametrize("count", [1, 5, 256, 257, 700])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_are_torchs(count: int, bias: bool, smoothing: float) -> None:
    ours, theirs = both(count, bias=bias, smoothing=smoothing, dtype=torch.float64)
    for actual, expected in zip(ours, theirs, strict=True):
        assert actual.dtype == expected.dtype
        torch.testing.assert_close(actual, expected, atol=1e-9, rtol=1e-9)


def test_gradcheck() -> None:
    torch.manual_seed(0)
    output, labels = nn.Linear(4, 7).double(), torch.tensor([1, 6, 0])
    features = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    def loss(features: Tensor, *_: Tensor) -> Tensor:
        return linear_cross_entropy(features, output, labels, padding=9, label_smoothing=0.2)

    assert torch.autograd.gradcheck(loss, (features, *output.parameters()))


def test_bfloat16_is_as_good_as_autocast() -> None:
    """Measured against float32, beside torch's own under autocast."""
    exact = both(700, bias=True, smoothing=0.1, dtype=torch.float32)[1]
    ours, theirs = both(700, bias=True, smoothing=0.1, dtype=torch.float32, mixed=True)
    for actual, plain, expected in zip(ours, theirs, exact, strict=True):
        error = (actual - expected).norm() / expected.norm()
        assert error < 2 * (plain - expected).norm() / expected.norm() + 1e-3


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("mixed", [True, False])
def test_scores_whose_exponentials_overflow_or_vanish(smoothing: float, mixed: bool) -> None:
    """Of some tokens only: scores grow with the features."""
    dtype = torch.float32 if mixed else torch.float64
    ours, theirs = both(600, bias=True, smoothing=smoothing, dtype=dtype, mixed=mixed, scale=500)
    for actual, expected in zip(ours, theirs, strict=True):
        error = (actual - expected).norm() / expected.norm()
        assert error < (0.02 if mixed else 1e-12)


def test_half_precision_keeps_the_small_gradients_of_certain_tokens() -> None:
    """Where the label has probability 0.9999, whose difference from 1 bfloat16 cannot hold."""
    output = nn.Linear(2, VOCABULARY, bias=False)
    with torch.no_grad():
        output.weight.zero_()
        output.weight[3, 0] = 12.75
    features = torch.tensor([[1.0, 0.0]]).repeat(8, 1).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        linear_cross_entropy(features, output, torch.full((8,), 3), padding=0).backward()
    missing = 30 / (30 + math.exp(12.75))
    torch.testing.assert_close(output.weight.grad[3, 0].item(), -8 * missing, rtol=0.02, atol=0.0)
    torch.testing.assert_close(features.grad[0, 0].item(), -12.75 * missing, rtol=0.02, atol=0.0)


def test_without_gradients_it_is_torchs_own() -> None:
    output = nn.Linear(SIZE, VOCABULARY)
    features, labels = torch.randn(5, SIZE), torch.arange(5)
    with torch.no_grad():
        expected = functional.cross_entropy(output(features), labels, reduction="sum")
        torch.testing.assert_close(linear_cross_entropy(features, output, labels, padding=9), expected)


def test_without_gradients_pieces_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    output, labels = nn.Linear(SIZE, VOCABULARY), torch.randint(1, VOCABULARY, (7,))
    features = torch.randn(7, SIZE)
    with torch.no_grad():
        expected = linear_cross_entropy(features, output, labels, padding=9)
        monkeypatch.setattr(cross_entropy, "_SCORES_ON_A_GPU", 2 * VOCABULARY)
        torch.testing.assert_close(linear_cross_entropy(features, output, labels, padding=9), expected)


class Largest(TorchDispatchMode):
    """Remembers the most elements that a tensor had."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.elements = max(self.elements, result.numel())
        return result


def test_no_tensor_has_a_score_of_every_token_for_every_word() -> None:
    output, labels = nn.Linear(4, 100), torch.ones(3000, dtype=torch.int64)
    features = torch.randn(3000, 4, requires_grad=True)
    with Largest() as largest:
        linear_cross_entropy(features, output, labels, padding=0, label_smoothing=0.1).backward()
    assert largest.elements == 256 * 100


@pytest.mark.slow
def test_the_kernel_of_a_gpu_is_the_same() -> None:
    """In a process of its own: Triton decides when it is imported whether it interprets kernels."""
    pytest.importorskip("triton")
    run = subprocess.run(
        [sys.executable, "-m", "tests.kernels.interpreted_cross_entropy"],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
