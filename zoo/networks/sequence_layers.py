"""The layers of table 1: four ways in which the positions of a sequence learn of each other.

For n positions of d features, width k and a window of r positions (Vaswani et al. 2017, section 4):

| layer | operations | in sequence | path between any two positions |
| --- | --- | --- | --- |
| `AttentionLayer` | n² d | 1 | 1 |
| `AttentionLayer(window=r)`, restricted | r n d | 1 | n / r |
| `BidirectionalLayer`, recurrent | n d² | n | n |
| `ConvolutionalLayer` | k n d² | 1 | n / k; log_k n where dilated |

Each maps `(B, N, D)` to the same, and `Transformer(layer=...)` puts it in the place of its encoder's
self-attention. The parameters are about equal: 4 D² for attention and for a width of 3, 4.5 D² for GRUs.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from zoo.attention import Attended
from zoo.kernels import Linear
from zoo.networks.checks import check_sizes
from zoo.networks.recurrent import RecurrentLayer
from zoo.networks.seq2seq import Encoder, Sizes
from zoo.networks.transformer import Settings


class SequenceLayer(nn.Module, ABC):
    """What stands in the place of self-attention.

    Args:
        settings: of the encoder.
        number: of the layer in its stack, from 0.
    """

    def __init__(self, *, settings: Settings, number: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, inputs: Tensor, keep_mask: Tensor | None = None, *, weights: bool = True) -> Attended:
        """Maps `(B, N, D)` to a context `(B, N, D)`.

        Args:
            inputs: the sequences, padded behind their ends.
            keep_mask: boolean, `(B, N)`, True = real; None = all are.
            weights: whether attention weights `(B, h, N, N)` are asked for; None in layers without.
        """


class AttentionLayer(SequenceLayer):
    """Multi-head self-attention (section 3.2), or restricted to a neighbourhood (section 4).

    Args:
        settings: see `SequenceLayer`.
        number: see there.
        window: positions to either side; None: all. The paper's r is twice this.

    Raises:
        ValueError: see `SelfAttention`.
    """

    def __init__(self, *, settings: Settings, number: int, window: int | None = None) -> None:
        super().__init__(settings=settings, number=number)
        try:
            self.self_attention = settings._replace(window=window).self_attention(causal=False)
        except ValueError as error:  # the network has a window, too, which is not meant
            raise ValueError(f"AttentionLayer: {error}") from error

    def forward(self, inputs: Tensor, keep_mask: Tensor | None = None, *, weights: bool = True) -> Attended:
        """See `SequenceLayer`."""
        attended: Attended = self.self_attention(inputs, keep_mask, weights=weights)
        return attended


class BidirectionalLayer(SequenceLayer):
    """A recurrent layer in each direction, with half of the features each.

    Args:
        settings: see `SequenceLayer`.
        number: see there.
        recurrent: `GRU` or `LSTM`.

    Raises:
        ValueError: if D is odd.
    """

    def __init__(self, *, settings: Settings, number: int, recurrent: RecurrentLayer) -> None:
        super().__init__(settings=settings, number=number)
        size = settings.model_size
        if size % 2:
            raise ValueError(f"model_size must be even, so that each direction has half of it, got {size}")
        sizes = Sizes(recurrent, size, size, layers=1, dropout=0.0, longest=settings.longest or 0)
        self.recurrent = Encoder(sizes=sizes, bidirectional=True, reverse_source=False)

    def forward(self, inputs: Tensor, keep_mask: Tensor | None = None, *, weights: bool = True) -> Attended:
        """See `SequenceLayer`."""
        if keep_mask is None:
            lengths = torch.full(inputs.shape[:1], inputs.shape[1], device=inputs.device)
        else:
            lengths = keep_mask.sum(-1)
        return Attended(self.recurrent(inputs, lengths)[0], None)


class ConvolutionalLayer(SequenceLayer):
    """`W_O Rect(W * x + b)`: each position sees k neighbours, itself in their middle.

    With a growth of 1 layers are stacked, and L of them reach L (k - 1)/2 positions to either side. With a
    growth of k they are dilated (Kalchbrenner et al. 2016, section 3.1): the filters of layer l, from 0, take
    every k^l-th position, so that L layers reach (k^L - 1)/2. A larger growth would leave gaps.

    Args:
        settings: see `SequenceLayer`.
        number: see there.
        width: k, an odd number.
        growth: of the distance between a filter's positions, from layer to layer; at most k.

    Raises:
        ValueError: if the width is even, a number is below 1, or the growth is above the width.
    """

    def __init__(self, *, settings: Settings, number: int, width: int = 3, growth: int = 1) -> None:
        super().__init__(settings=settings, number=number)
        check_sizes(width=width, growth=growth)
        if width % 2 == 0:
            raise ValueError(f"width must be odd, so that a position is in the middle, got {width}")
        if growth > width:
            raise ValueError(f"growth must be at most width={width}, got {growth}: there would be gaps")
        size, distance = settings.model_size, growth**number
        if settings.longest:  # beyond the end there are zeros, however far away
            distance = min(distance, settings.longest)
        self.filters = nn.Conv1d(size, size, width, dilation=distance, padding=distance * (width // 2))
        self.W_O = Linear(size, size)
        for part in (self.filters, self.W_O):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)  # type: ignore[arg-type]  # both have one

    def forward(self, inputs: Tensor, keep_mask: Tensor | None = None, *, weights: bool = True) -> Attended:
        """See `SequenceLayer`."""
        if keep_mask is not None:
            inputs = torch.where(keep_mask.unsqueeze(-1), inputs, 0.0)
        return Attended(self.W_O(self.filters(inputs.mT).relu().mT), None)
