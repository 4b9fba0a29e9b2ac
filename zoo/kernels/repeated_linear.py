"""A linear map that a loop over time applies at every step."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from zoo.kernels.onednn import linear
from zoo.kernels.precision import autocast_dtype
from zoo.kernels.transforms import transformed

Steps = list[tuple[int, Tensor, Tensor]]
"""The id of a backward pass, gradients of outputs, and inputs."""


class RepeatedLinear:
    """`W x` for one x after the other, with the gradient for W in one product.

    Autograd would compute a gradient of W's size at each step and add them up: for the few rows of a step
    that is mostly memory traffic. Here steps store their x and the gradient of their output, and a function
    before all of them, which comes last in the backward pass, multiplies these.

        W = RepeatedLinear(layer.weight)
        for x in steps:
            y = W(x)

    Args:
        weight: W, `(output_size, input_size)`.
    """

    def __init__(self, weight: Tensor) -> None:
        # Cast once: autocast would do so at each step.
        weight = weight.to(autocast_dtype(weight.device.type) or weight.dtype)
        self._steps: Steps = []
        self._weight: Tensor = weight if transformed() else _Before.apply(weight, self._steps)

    def __call__(self, x: Tensor) -> Tensor:
        """`(*, input_size)` to `(*, output_size)`."""
        x = x.to(self._weight.dtype)
        if transformed():
            return linear(x, self._weight)
        y: Tensor = _Step.apply(x, self._weight, self._steps)
        return y


class _Before(Function):
    """W as it is; its backward pass runs after those of all steps."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, steps: Steps) -> Tensor:
        ctx.steps = steps
        ctx.set_materialize_grads(False)  # as a rule steps return None
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Tensor | None, None]:
        # Entries of another backward pass, which ended before W, do not belong to this gradient.
        steps = [rows for task, *rows in ctx.steps if task == torch._C._current_graph_task_id()]
        ctx.steps.clear()
        if not steps:
            return gradient, None
        gradients, inputs = (
            torch.cat([row.flatten(0, -2) for row in rows]) for rows in zip(*steps, strict=True)
        )
        deferred = linear(gradients.mT, inputs.mT)
        return deferred if gradient is None else deferred + gradient, None


class _Step(Function):
    """`W x`, whose backward pass defers the gradient of W."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, steps: Steps) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.steps = steps
        return linear(x, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives, which deferred gradients lack
            of_weight = linear(gradient.flatten(0, -2).mT, x.flatten(0, -2).mT)
            return linear(gradient, weight.mT), of_weight, None
        # Detached, since the history of x leads to steps that hold this list: such a reference cycle would
        # never be freed where the backward pass ends before W.
        ctx.steps.append((torch._C._current_graph_task_id(), gradient, x.detach()))
        return linear(gradient, weight.mT), None, None
