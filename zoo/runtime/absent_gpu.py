"""Machines without a GPU, on which to look for one at every step costs time."""

import os

import torch


def remember_absence() -> None:
    """Sets CUDA_VISIBLE_DEVICES to nothing where there is no GPU and the variable is not set.

    Torch's optimisers look for a GPU at every step, which takes a quarter of a millisecond, a fortieth of a
    small network's step.
    """
    if not torch.cuda.is_available():
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
