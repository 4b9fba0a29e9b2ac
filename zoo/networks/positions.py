"""Position encodings: they are added to embeddings, or rotate queries and keys."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from zoo.attention import Rotary
from zoo.networks.checks import check_sizes


class Positions(nn.Module, ABC):
    """Encodes positions.

    Args:
        size: D, of embeddings.

    Attributes:
        rotary: rotates the queries and keys of self-attention; None: no rotation.
    """

    rotary: Callable[..., Rotary] | None = None

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.size = size

    @abstractmethod
    def forward(self, embedded: Tensor, first: int = 0) -> Tensor:
        """Adds the positions `first, first + 1, ...` to embeddings `(*lead, N, D)`."""


class Sinusoidal(Positions):
    """`PE(pos, 2i) = sin(pos / 10000^(2i/D))`, `PE(pos, 2i+1) = cos(...)` (Vaswani et al. 2017, section 3.5).

    It has no parameters and no maximum length, but works best at the lengths of training.
    """

    def forward(self, embedded: Tensor, first: int = 0) -> Tensor:
        """See `Positions`."""
        device = embedded.device
        position = torch.arange(first, first + embedded.shape[-2], device=device, dtype=torch.float32)
        pair = torch.arange(0, self.size, 2, device=device, dtype=torch.float32)
        angle = position[:, None] * 10_000.0 ** (-pair / self.size)
        waves = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[:, : self.size]
        return embedded + waves.to(embedded.dtype)


class Learned(Positions):
    """A learned vector for each position (Gehring et al. 2017; row E of Vaswani et al. 2017, table 3).

    Args:
        size: D.
        maximum_length: number of vectors.

    Raises:
        ValueError: `maximum_length` is below 1.
    """

    def __init__(self, *, size: int, maximum_length: int) -> None:
        super().__init__(size=size)
        check_sizes(maximum_length=maximum_length)
        self.vectors = nn.Parameter(torch.randn(maximum_length, size) * size**-0.5)

    def forward(self, embedded: Tensor, first: int = 0) -> Tensor:
        """See `Positions`.

        Raises:
            ValueError: the sequence is longer than `maximum_length`.
        """
        end = first + embedded.shape[-2]
        if end > len(self.vectors):
            raise ValueError(
                f"learned positions end at maximum_length={len(self.vectors)}, given {end} tokens; sinusoidal"
                " and rotary ones have no end"
            )
        return embedded + self.vectors[first:end]


class RotaryPositions(Positions):
    """Adds nothing: self-attention rotates queries and keys (Su et al. 2021; see `zoo.attention.Rotary`).

    Args:
        size: D.
        base: of the wavelengths.
    """

    def __init__(self, *, size: int, base: float = 10_000.0) -> None:
        super().__init__(size=size)
        self.rotary = partial(Rotary, base=base)

    def forward(self, embedded: Tensor, first: int = 0) -> Tensor:
        """See `Positions`."""
        return embedded


def require_reach(positions: Positions, longest: int, *, lower: str = "data.maximum_length") -> None:
    """Refuses learned positions that end before the longest sequence.

    Args:
        positions: the encoding.
        longest: the most tokens of a sequence.
        lower: the setting that says how many these are.

    Raises:
        ValueError: says how many there are.
    """
    if isinstance(positions, Learned) and longest > len(positions.vectors):
        raise ValueError(
            f"positions: maximum_length={len(positions.vectors)} is too small for sequences of {longest}"
            f" tokens; lower {lower}"
        )
