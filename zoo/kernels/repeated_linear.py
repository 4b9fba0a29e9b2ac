"""A linear map that a loop over time applies again and again."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from zoo.kernels.onednn import linear
from zoo.kernels.precision import autocast_dtype

Steps = list[tuple[Tensor, Tensor]]


class RepeatedLinear:
    """`W x` for many x, one after the other, whose gradient for W is found in one product.

    Autograd would make a gradient of W's size at each step and add it to the others: for the few rows of a
    step, that is mostly reading and writing memory. Here steps keep their x and the gradient that comes back
    to them, and what stands before all of them, so that it comes last in the backward pass, multiplies these
    together.

        W = RepeatedLinear(layer.weight)
        for x in steps:
            y = W(x)

    Args:
        weight: W, `(output_size, input_size)`.
    """

    def __init__(self, weight: Tensor) -> None:
        # Once: autocast would do it at each step.
        weight = weight.to(autocast_dtype(weight.device.type) or weight.dtype)
        self._steps: Steps = []
        self._weight: Tensor = _Before.apply(weight, self._steps)

    def __call__(self, x: Tensor) -> Tensor:
        """`(*, input_size)` to `(*, output_size)`."""
        y: Tensor = _Step.apply(x.to(self._weight.dtype), self._weight, self._steps)
        return y


class _Before(Function):
    """W as it is; its backward pass runs after those of all steps."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, steps: Steps) -> Tensor:
        ctx.steps = steps
        ctx.set_materialize_grads(False)  # steps give none
        return weight.view_as(weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: None) -> tuple[Tensor | None, None]:
        if not ctx.steps:
            return None, None
        gradients, inputs = (
            torch.cat([row.flatten(0, -2) for row in rows]) for rows in zip(*ctx.steps, strict=True)
        )
        ctx.steps.clear()
        return linear(gradients.mT, inputs.mT), None


class _Step(Function):
    """`W x`, whose backward pass leaves W's gradient for later."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, steps: Steps) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.steps = steps
        return linear(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        x, weight = ctx.saved_tensors
        # Without its history, which leads to steps that hold this list: such a circle is never freed where
        # the backward pass ends before W.
        ctx.steps.append((gradient, x.detach()))
        return linear(gradient, weight.mT), None, None
