"""Penalties on attention weights."""

import torch
from torch import Tensor


def doubly_stochastic_penalty(weights: Tensor, keep_mask: Tensor) -> Tensor:
    """`Σ_i (1 - Σ_t α_ti)²`, mean over the batch (Xu et al. 2015, section 4.2.1, eq. 14 without its λ).

    Each step's weights sum to one over the keys. The penalty makes those of each key sum to one over the
    steps, so that a caption attends to every part of an image.

    Args:
        weights: `(B, T, K)`, α.
        keep_mask: `(B, T)` boolean, True at real steps; the weights of others are ignored.

    Returns:
        A scalar.
    """
    kept = torch.where(keep_mask.unsqueeze(-1), weights, 0.0)
    return (1 - kept.sum(1)).square().sum(-1).mean()
