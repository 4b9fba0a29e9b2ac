"""A linear map in float32 by the faster of MKL and oneDNN.

On a CPU torch multiplies float32 matrices with MKL, which does not use AVX-512 on processors by AMD. oneDNN,
which torch has for convolutions, needs half the time there. The two differ in the order of their sums
(benchmarks/linear.py).
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import Function
from torch.nn import functional

from zoo.kernels.transforms import transformed

_FEWEST_MULTIPLICATIONS = 2**21
"""With fewer, the call of oneDNN takes longer than it saves (benchmarks/linear.py)."""


class Linear(nn.Linear):
    """`torch.nn.Linear`, twice as fast in float32 on AMD's processors with AVX-512."""

    def forward(self, input: Tensor) -> Tensor:
        """Maps `(*, in_features)` to `(*, out_features)`."""
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x Wᵀ + b`, equal to `torch.nn.functional.linear` except for rounding.

    Args:
        x: `(*, input_size)`.
        weight: W, `(output_size, input_size)`.
        bias: b, `(output_size,)`.
    """
    # Compiled, torch chooses by itself; under autocast it takes oneDNN, in half precision.
    if torch.compiler.is_compiling() or not _is_faster(x, weight) or torch.is_autocast_enabled("cpu"):
        return functional.linear(x, weight, bias)
    if transformed():
        return functional.linear(x, weight, bias)
    if torch.is_grad_enabled():
        y: Tensor = _Linear.apply(x.flatten(0, -2), weight, bias)
        return y.view(*x.shape[:-1], len(weight))
    return _product(x, weight, bias)


def linear_into(out: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`linear`, written to `out`, without a gradient.

    Args:
        out: `(N, output_size)` with contiguous rows.
        x: `(N, input_size)`.
        weight: W, `(output_size, input_size)`.
        bias: b, `(output_size,)`.
    """
    if _is_faster(x, weight):
        return out.copy_(_product(x, weight, bias))
    return torch.addmm(bias, x, weight.t(), out=out)


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            linear(gradient, weight.mT) if of_x else None,
            linear(gradient.mT, x.mT) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if not (weight.is_contiguous() or weight.mT.is_contiguous()):
        weight = weight.clone()  # with gaps, as a slice has them, oneDNN takes hundreds of times as long
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return y


def _is_faster(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN supports this product and is faster."""
    return (
        _mkl_is_slow()
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.ndim > 1
        and weight.ndim == 2
        and x.shape[-1] == weight.shape[-1]  # else torch raises its own error
        and x.numel() * len(weight) >= _FEWEST_MULTIPLICATIONS
    )


@cache
def _mkl_is_slow() -> bool:
    """Whether this is a processor by AMD with AVX-512, and torch has oneDNN's product."""
    if not hasattr(torch.cpu, "get_capabilities") or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False  # another version of torch
    processor = torch.cpu.get_capabilities()
    by_amd = str(processor.get("cpu_name", "")).startswith("AMD")
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return by_amd and wide and torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
