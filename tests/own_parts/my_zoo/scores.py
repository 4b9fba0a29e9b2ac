"""A score of low rank: `s_i = (A q) · (B k_i)`."""

import torch
from torch import Tensor, nn

from zoo.attention import Score


class LowRank(Score):
    """Compares queries and keys in few dimensions."""

    def __init__(self, *, query_size: int, key_size: int, heads: int | None = None, rank: int = 4) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        lead = () if heads is None else (heads,)
        self.A = nn.Parameter(torch.randn(*lead, rank, query_size) * query_size**-0.5)
        self.B = nn.Parameter(torch.randn(*lead, rank, key_size) * key_size**-0.5)

    def project_keys(self, keys: Tensor) -> Tensor:
        return keys @ self.B.mT

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        return (query @ self.A.mT) @ projected.mT
