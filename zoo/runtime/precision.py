"""The precision that a machine computes in."""

import logging
from collections.abc import Mapping
from typing import Any, Literal

import torch

from zoo.kernels.int8 import multiplies_int8
from zoo.kernels.precision import multiplies_bfloat16

_log = logging.getLogger(__name__)

MatmulPrecision = Literal["highest", "high", "medium"]
"""How torch may multiply float32 matrices: exactly, in TF32, in bfloat16."""

EXACT: MatmulPrecision = "highest"


def prepare_precision(config: Mapping[str, Any]) -> str:
    """Sets how this process multiplies float32 matrices, and returns the trainer's usable precision."""
    torch.set_float32_matmul_precision(config.get("matmul_precision", EXACT))  # older runs have none
    return usable_precision(config["trainer"].get("precision"), config["trainer"].get("accelerator"))


def usable_precision(precision: str, device_type: str) -> str:
    """The precision, or float32, with a warning, on a CPU without instructions for bfloat16 or eight bits.

    Args:
        precision: Lightning's name, such as `bf16-mixed`, or `int8`.
        device_type: `cpu`, `cuda`, ..., or Lightning's name of an accelerator.

    Raises:
        ValueError: `int8` is asked of another device than a CPU.
    """
    if precision == "int8":
        if device_type != "cpu":
            raise ValueError(f"precision=int8 is for a CPU, and the device is {device_type}: use bf16-mixed")
        if multiplies_int8():
            return precision
        _log.warning(
            "This CPU has no instructions for products of eight bits (VNNI): int8 is computed in float32."
        )
        return "32-true"
    if precision != "bf16-mixed" or multiplies_bfloat16(device_type):
        return precision
    _log.warning(
        "This CPU has no instructions for bfloat16, in which products would take up to 50 times as long:"
        " %s is computed in float32.",
        precision,
    )
    return "32-true"
