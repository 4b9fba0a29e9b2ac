"""A linear map by one matrix, or by one for each head."""

import math

import torch
from torch import Tensor, nn

from zoo.kernels import linear


class Projection(nn.Module):
    """`y = W x + b`, with W and b of its own for every head.

    Args:
        input_size: features of x.
        output_size: features of y.
        heads: H; the last leading axis of x is then H. None: one matrix for all.
        bias: whether there is a b.

    Attributes:
        weight: `(output_size, input_size)`, with heads `(H, output_size, input_size)`.
        bias: `(output_size,)`, with heads `(H, 1, output_size)`; None without.
    """

    def __init__(
        self, *, input_size: int, output_size: int, heads: int | None = None, bias: bool = False
    ) -> None:
        super().__init__()
        lead = () if heads is None else (heads,)
        bound = 1 / math.sqrt(input_size)
        self.weight = nn.Parameter(torch.empty(*lead, output_size, input_size).uniform_(-bound, bound))
        self.bias: nn.Parameter | None = None
        if bias:
            shape = (output_size,) if heads is None else (heads, 1, output_size)
            self.bias = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

    def forward(self, inputs: Tensor) -> Tensor:
        """Maps `(*lead, N, input_size)` to `(*lead, N, output_size)`."""
        if self.weight.ndim == 2:
            return linear(inputs, self.weight, self.bias)
        outputs = inputs @ self.weight.mT
        return outputs if self.bias is None else outputs + self.bias
