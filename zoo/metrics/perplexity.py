"""How surprised a model is by the right tokens."""

import torch
from torch import Tensor
from torchmetrics import Metric


class Perplexity(Metric):
    """exp of the summed negative log-likelihood over the summed tokens, never a mean of batch means."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    per_token = True  # another vocabulary makes another question of it
    nll: Tensor
    tokens: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("nll", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("tokens", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, nll: Tensor, tokens: Tensor | int) -> None:
        """Adds a batch.

        Args:
            nll: scalar, the sum of its tokens' negative log-likelihoods in nats, padding left out.
            tokens: how many tokens these were.
        """
        self.nll += nll
        self.tokens += tokens

    def compute(self) -> dict[str, Tensor]:
        """`loss`, the mean per token in nats, and `perplexity`, its exponential; NaN for no tokens."""
        loss = self.nll / self.tokens
        return {"loss": loss, "perplexity": loss.exp()}
