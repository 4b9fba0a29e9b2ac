"""What weights should look like, beside what they are needed for."""

import torch
from torch import Tensor


def doubly_stochastic_penalty(weights: Tensor, keep_mask: Tensor) -> Tensor:
    """`Σ_i (1 - Σ_t α_ti)²`, mean over the batch (Xu et al. 2015, section 4.2.1, eq. 14 without its λ).

    Each step's weights sum to one over the keys. This asks those of each key to sum to one over the steps:
    that every part of an image is looked at in the course of a caption.

    Args:
        weights: `(B, T, K)`, α.
        keep_mask: `(B, T)` boolean, True at real steps; what others read counts for nothing.

    Returns:
        A scalar.
    """
    kept = torch.where(keep_mask.unsqueeze(-1), weights, 0.0)
    return (1 - kept.sum(1)).square().sum(-1).mean()
