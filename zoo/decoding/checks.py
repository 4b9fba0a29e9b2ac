"""Checks of a model's state, memory and steps in every search."""

from typing import Any

from torch import Tensor

from zoo.decoding.step import Step
from zoo.decoding.tree import map_tensors


def check_start(state: Any, memory: Any, maximum_length: Tensor) -> None:
    """Checks that all tensors agree on the batch.

    Args:
        state: tensors `(B, 1, ...)`.
        memory: tensors `(B, ...)`.
        maximum_length: `(B,)` integers, at least 1.

    Raises:
        ValueError: a shape or a length limit is wrong.
    """
    if maximum_length.dim() != 1 or maximum_length.is_floating_point():
        raise ValueError(
            "maximum_length holds one whole number per sentence, shape (B,); "
            f"got {maximum_length.dtype} of shape {tuple(maximum_length.shape)}"
        )
    if bool((maximum_length < 1).any()):
        raise ValueError(f"maximum_length must be at least 1 (EOS counts); got {maximum_length.min().item()}")
    batch = len(maximum_length)

    def check_state(tensor: Tensor) -> Tensor:
        if tensor.shape[:2] != (batch, 1):
            raise ValueError(f"state tensors begin with (B, W) = ({batch}, 1); got {tuple(tensor.shape)}")
        return tensor

    def check_memory(tensor: Tensor) -> Tensor:
        if tensor.shape[:1] != (batch,):
            raise ValueError(f"memory tensors begin with B = {batch}; got shape {tuple(tensor.shape)}")
        return tensor

    map_tensors(check_state, state)
    map_tensors(check_memory, memory)


def check_step(result: Step, tokens: Tensor) -> None:
    """Checks what a step function returned for `tokens (B, W)`.

    Raises:
        ValueError: log_probs is not `(B, W, V)`, or weights is not `(B, W, K)`.
    """
    for name, tensor in (("log_probs", result.log_probs), ("weights", result.weights)):
        if tensor is not None and (tensor.dim() != 3 or tensor.shape[:2] != tokens.shape):
            raise ValueError(
                f"a step of tokens {tuple(tokens.shape)} returns {name} of shape "
                f"({tokens.shape[0]}, {tokens.shape[1]}, *); got {tuple(tensor.shape)}"
            )
