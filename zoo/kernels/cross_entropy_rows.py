"""Cross-entropy of rows of scores and its gradient by one Triton kernel on a GPU.

`zoo.kernels.cross_entropy` is its plain twin. torch's own operations read and write the scores of a row about
ten times, in float32; this kernel reads them twice and writes them once, in their own precision.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096
"""Scores of a row that are processed at once."""


def losses_and_slopes(scores: Tensor, labels: Tensor, *, padding: int, smoothing: float) -> Tensor:
    """The cross-entropy of each row; its gradient overwrites `scores`.

    Args:
        scores: `(N, V)` with contiguous rows, in half precision or float32.
        labels: `(N,)` int64; out of range, the loss is NaN.
        padding: the label of rows with loss and gradient zero.
        smoothing: probability that is spread evenly over all tokens.

    Returns:
        `(N,)` float32.
    """
    rows, columns = scores.shape
    losses = torch.empty(rows, dtype=torch.float32, device=scores.device)
    _kernel[(rows,)](
        scores, labels, losses, columns, scores.stride(0), padding, smoothing, BLOCK=_BLOCK, num_warps=8
    )
    return losses


@triton.jit  # type: ignore[untyped-decorator]
def _kernel(scores, labels, losses, columns, stride, padding, smoothing, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    scores += row * stride
    label = tl.load(labels + row)
    places = tl.arange(0, BLOCK)
    if label == padding:
        for start in range(0, columns, BLOCK):
            tl.store(scores + start + places, tl.zeros([BLOCK], tl.float32), mask=start + places < columns)
        tl.store(losses + row, 0.0)
    else:
        # Loaded before the loop, in whose sums all threads wait for each other.
        real = (label >= 0) & (label < columns)
        own = tl.load(scores + label, mask=real, other=float("nan")).to(tl.float32)
        highest, exponentials, total = -float("inf"), 0.0, 0.0
        for start in range(0, columns, BLOCK):
            exists = start + places < columns
            block = tl.load(scores + start + places, mask=exists, other=-float("inf")).to(tl.float32)
            before, highest = highest, tl.maximum(highest, tl.max(block))
            # `where` avoids infinity minus infinity.
            exponentials *= tl.where(before == highest, 1.0, tl.exp(before - highest))
            exponentials += tl.sum(tl.where(block == -float("inf"), 0.0, tl.exp(block - highest)))
            total += tl.sum(tl.where(exists, block, 0.0))
        mean = total / columns
        loss = highest + tl.log(exponentials) - (1 - smoothing) * own
        tl.store(losses + row, tl.where(smoothing > 0, loss - smoothing * mean, loss))
        # d loss / d score = softmax - s / V, and 1 - s less at the label
        for start in range(0, columns, BLOCK):
            exists = start + places < columns
            block = tl.load(scores + start + places, mask=exists, other=0.0).to(tl.float32)
            slope = tl.exp(block - highest) / exponentials - smoothing / columns
            slope = tl.where(start + places == label, slope - (1 - smoothing), slope)
            tl.store(scores + start + places, slope, mask=exists)
