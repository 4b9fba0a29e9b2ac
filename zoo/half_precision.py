"""What a machine computes in where half precision is asked for."""

import logging

from zoo.kernels.precision import multiplies_bfloat16

_log = logging.getLogger(__name__)


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
