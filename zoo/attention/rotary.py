"""Rotary positions: queries and keys are turned by their position, so that products depend on distances."""

import torch
from torch import Tensor, nn

from zoo.kernels.precision import at_least_float32


class Rotary(nn.Module):
    """Turns each pair of features by an angle that grows with the position (Su et al. 2021, section 3.2.2).

    Features i and i + n/2 are a pair; at position m it is turned by `m θ_i`, `θ_i = base^(-2i/n)` (eq. 15).
    The product of a query at m and a key at k then depends on k - m alone (eq. 16). The paper pairs features
    2i and 2i + 1: for learned projections that differs only in the order of their rows.

    Args:
        size: n, features of a query; even.
        base: of the wavelengths, above 1; 10,000 in the paper.

    Raises:
        ValueError: if the size is odd or the base at most 1.
    """

    def __init__(self, *, size: int, base: float = 10_000.0) -> None:
        super().__init__()
        if size % 2:
            raise ValueError(
                f"rotary positions turn pairs of features, so a head needs an even size, got {size}"
            )
        if not base > 1:
            raise ValueError(f"base must be above 1, got {base}")
        self.size, self.base = size, base

    def forward(self, vectors: Tensor, first: int = 0) -> Tensor:
        """Turns `(*lead, N, n)`, rows at the positions `first, first + 1, ...`."""
        precise = at_least_float32(vectors)
        position = torch.arange(first, first + vectors.shape[-2], device=vectors.device, dtype=precise)
        pair = torch.arange(0, self.size, 2, device=vectors.device, dtype=precise)
        angle = position[:, None] * self.base ** (-pair / self.size)  # (N, n/2)
        left, right = vectors.to(precise).chunk(2, -1)
        turned = [left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin()]
        return torch.cat(turned, -1).to(vectors.dtype)
