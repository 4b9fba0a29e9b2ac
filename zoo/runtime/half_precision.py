"""What a machine computes in."""

import logging
from collections.abc import Mapping
from typing import Any, Literal

import torch

from zoo.kernels.precision import multiplies_bfloat16

_log = logging.getLogger(__name__)

MatmulPrecision = Literal["highest", "high", "medium"]
"""How float32 matrices may be multiplied, in torch's words: exactly, in TF32, in bfloat16."""

EXACT: MatmulPrecision = "highest"


def prepare_precision(config: Mapping[str, Any]) -> str:
    """Sets how this process multiplies float32 matrices; gives the trainer's precision, as far as usable."""
    torch.set_float32_matmul_precision(config.get("matmul_precision", EXACT))  # older runs have none
    return usable_precision(config["trainer"].get("precision"), config["trainer"].get("accelerator"))


def usable_precision(precision: str, device_type: str) -> str:
    """The precision asked for, or float32 where that would take many times as long; a warning says so.

    Args:
        precision: as Lightning calls it, `32-true`, `bf16-mixed`, ...
        device_type: `cpu`, `cuda`, ..., or a name of Lightning's accelerators.
    """
    if precision != "bf16-mixed" or multiplies_bfloat16(device_type):
        return precision
    _log.warning(
        "This CPU has no instructions for bfloat16, in which products would take up to 50 times as long:"
        " %s is computed in float32.",
        precision,
    )
    return "32-true"
