"""Does the model look where it should?"""

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
