"""A GPU that is not there, and what it costs to look for it again and again."""

import os

import torch


def remember_absence() -> None:
    """Where there is no GPU, says so for good.

    Torch's optimisers look before every step, and once Lightning is imported each look loads the driver's
    library anew: a quarter of a millisecond, a fortieth of a small network's step. Whoever sets the variable
    decides.
    """
    if not torch.cuda.is_available():
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
