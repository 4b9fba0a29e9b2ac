"""The precision in which probabilities and losses are computed."""

import torch
from torch import Tensor


def at_least_float32(tensor: Tensor) -> torch.dtype:
    """The tensor's own dtype, or float32 for half precision."""
    return torch.float32 if tensor.dtype.itemsize < 4 else tensor.dtype
