"""Where attention looks, and how hard."""

import torch
from torch import Tensor
from torchmetrics import Metric


class AlignmentAccuracy(Metric):
    """Share of target positions whose heaviest source position is the true one.

    Only positions with a known source count. One that the weights do not reach (the model stopped early), or
    where nothing was attended to, counts as wrong.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    hits: Tensor
    positions: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("hits", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("positions", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, weights: Tensor, alignment: Tensor) -> None:
        """Adds sentences.

        Args:
            weights: `(*lead, T, K)`.
            alignment: `(*lead, T')` integers, the true source position of each target position, -1 = none;
                T' may differ from T.

        Raises:
            ValueError: the leading axes differ.
        """
        if weights.shape[:-2] != alignment.shape[:-1]:
            raise ValueError(
                f"weights (*lead, T, K) and alignment (*lead, T') disagree on lead: "
                f"{tuple(weights.shape)} and {tuple(alignment.shape)}"
            )
        alignment = alignment.to(self.hits.device)
        known = alignment >= 0
        self.positions += known.sum()
        reached = min(weights.shape[-2], alignment.shape[-1])
        if reached == 0 or weights.shape[-1] == 0:
            return
        heaviest, position = weights[..., :reached, :].to(self.hits.device).max(dim=-1)
        right = (position == alignment[..., :reached]) & (heaviest > 0)
        self.hits += (right & known[..., :reached]).sum()

    def compute(self) -> Tensor:
        """The share, 0 to 1; NaN when no position has a known source."""
        return self.hits / self.positions


class AlignmentEntropy(Metric):
    """How widely attention is spread: the mean entropy of its rows, H = -sum_i p_i log p_i, in nats.

    An even spread over K keys has entropy log K, so means over sources of other lengths or other tokens do
    not compare. H / log K does: 0 reads one key, 1 reads all alike, whatever K is. A source of a single key
    leaves nothing to choose and has no part in that mean.

    Rows that sum to less than 1 (the Gaussian of a predictive window) are divided by their sum first, and
    those where nothing was attended to are left out.
    """

    is_differentiable = False
    higher_is_better = None  # neither sharp nor wide is good in itself
    full_state_update = False
    entropy: Tensor
    rows: Tensor
    normalised: Tensor
    choices: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("entropy", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("rows", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("normalised", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("choices", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, weights: Tensor, keys: Tensor) -> None:
        """Adds rows.

        Args:
            weights: `(N, K)`, a row for each token that was written, 0 at padding.
            keys: `(N,)`, the real keys of each row.
        """
        rows, keys = _distributions(weights, keys)
        entropy = torch.special.entr(rows).sum(dim=-1)
        choice = keys > 1
        self.entropy += entropy.sum().to(self.entropy.device)
        self.rows += len(rows)
        self.normalised += (entropy[choice] / keys[choice].log()).sum().to(self.normalised.device)
        self.choices += choice.sum().to(self.choices.device)

    def compute(self) -> dict[str, Tensor]:
        """`entropy`, the mean in nats, and `normalised_entropy`, that of H / log K; NaN for no rows."""
        return {"entropy": self.entropy / self.rows, "normalised_entropy": self.normalised / self.choices}


class AlignmentSharpness(Metric):
    """How hard attention looks: the mean over rows of the largest weight, from 1 / K (spread evenly) to 1.

    Which rows count, and how, is as in `AlignmentEntropy`.
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False
    heaviest: Tensor
    rows: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("heaviest", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("rows", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, weights: Tensor, keys: Tensor) -> None:
        """Adds rows; arguments as in `AlignmentEntropy.update`."""
        rows, _ = _distributions(weights, keys)
        self.heaviest += rows.amax(dim=-1).sum().to(self.heaviest.device)
        self.rows += len(rows)

    def compute(self) -> Tensor:
        """The mean; NaN for no rows."""
        return self.heaviest / self.rows


def _distributions(weights: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that attend to something, each divided by its sum, and their numbers of keys.

    Raises:
        ValueError: there are not as many rows as numbers of keys.
    """
    if weights.shape[:-1] != keys.shape:
        raise ValueError(
            f"weights (N, K) and keys (N,) disagree on N: {tuple(weights.shape)} and {tuple(keys.shape)}"
        )
    sums = weights.sum(dim=-1)
    read = sums > 0
    return weights[read] / sums[read, None], keys[read]
