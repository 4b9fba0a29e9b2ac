"""Floating-point operations: those of a computation, and those that a GPU can do in a second."""

import re
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

_PEAKS = {
    "B200": 2250,
    "H200": 989,
    "H100 NVL": 835,
    "H100 PCIe": 756,
    "H100": 989,
    "A100": 312,
    "A40": 150,
    "A10": 125,
    "L40S": 362,
    "L4": 121,
    "RTX 4090": 165,
    "RTX 3090": 71,
    "V100-SXM2": 125,
    "V100-PCIE": 112,
    "T4": 65,
}
"""TFLOP/s in half precision on dense matrices, from NVIDIA's data sheets; Lightning's table has some figures
of sparse matrices, and takes an L40S for an L4."""

Shape = torch.Size


def peak_flops(device: torch.device) -> float | None:
    """The most operations per second of a GPU in half precision; None where that is not known."""
    return peak_of(torch.cuda.get_device_name(device)) if device.type == "cuda" else None


def peak_of(card: str) -> float | None:
    """`peak_flops` by the driver's name of a GPU, such as `NVIDIA H100 80GB HBM3`."""
    if "Laptop" in card:  # which has the same name and another speed
        return None
    known = (peak for name, peak in _PEAKS.items() if re.search(rf"\b{name}\b", card))
    return next((peak * 10.0**12 for peak in known), None)


def flop_counter() -> FlopCounterMode:
    """Torch's counter of products, as a context, which also counts recurrent layers and a CPU's fused layers.

    A multiplication and an addition are two operations.
    """
    aten = torch.ops.aten
    layers = {
        aten._cudnn_rnn: _recurrent(1, lambda arguments: arguments[1]),
        aten._cudnn_rnn_backward: _recurrent(2, lambda arguments: arguments[1]),
        aten.mkldnn_rnn_layer: _recurrent(1, lambda arguments: arguments[1:5]),
        aten.mkldnn_rnn_layer_backward: _recurrent(2, lambda arguments: arguments[1:5]),
        torch.ops.mkldnn._linear_pointwise: _linear,
        aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    }
    return FlopCounterMode(display=False, custom_mapping=layers)


def _recurrent(passes: int, weights_of: Callable[[Any], Iterable[Shape]]) -> Callable[..., int]:
    """The count of a recurrent layer, in each pass of which every input is multiplied by every matrix."""

    def count(inputs: Shape, *others: Any, **_: Any) -> int:
        matrices = (shape for shape in weights_of((inputs, *others)) if len(shape) == 2)
        return 2 * passes * prod(inputs[:-1]) * sum(map(prod, matrices))

    return count


def _linear(inputs: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(inputs) * weight[0]


def _attention(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _attention_backward(gradient: Shape, query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    return int(sdpa_backward_flop_count(gradient, query, key, value))
