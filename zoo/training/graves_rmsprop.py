"""RMSProp as Graves 2013 wrote it, which torch's differs from."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class GravesRMSProp(Optimizer):
    """Centred RMSProp with momentum, of a gradient ε (Graves 2013, section 4.1, eq. 38 to 45).

        n = ℵ n + (1 - ℵ) ε²
        g = ℵ g + (1 - ℵ) ε
        Δ = ℶ Δ - ℷ ε / sqrt(n - g² + ℸ)
        w = w + Δ

    ℸ stands within the root, where `torch.optim.RMSprop` adds it to the root: small gradients move weights
    far less here.

    Args:
        params: to optimise.
        lr: ℷ, the learning rate.
        alpha: ℵ, how much of the averages is kept.
        momentum: ℶ.
        eps: ℸ.

    Raises:
        ValueError: a setting is out of range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        *,
        lr: float = 1e-4,
        alpha: float = 0.95,
        momentum: float = 0.9,
        eps: float = 1e-4,
    ) -> None:
        for name, value in (("alpha", alpha), ("momentum", momentum)):
            if not 0 <= value < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {value}")
        if lr < 0 or eps <= 0:
            raise ValueError(f"lr must be at least 0 and eps above 0, got {lr} and {eps}")
        super().__init__(params, {"lr": lr, "alpha": alpha, "momentum": momentum, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Takes a step; see `torch.optim.Optimizer.step`."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            moved = [(weight, weight.grad) for weight in group["params"] if weight.grad is not None]
            if moved:
                self._move([weight for weight, _ in moved], [gradient for _, gradient in moved], group)
        return loss

    def _move(self, weights: list[Tensor], gradients: list[Tensor], group: dict[str, Any]) -> None:
        kept = ([self._kept(weight, name) for weight in weights] for name in ("squares", "means", "moves"))
        squares, means, moves = kept
        new = 1 - group["alpha"]
        torch._foreach_mul_(squares, group["alpha"])
        torch._foreach_addcmul_(squares, gradients, gradients, new)
        torch._foreach_lerp_(means, gradients, new)
        roots = torch._foreach_addcmul(squares, means, means, -1)
        torch._foreach_clamp_min_(roots, 0.0)  # of a constant gradient it is 0, and less by rounding
        torch._foreach_add_(roots, group["eps"])
        torch._foreach_sqrt_(roots)
        torch._foreach_mul_(moves, group["momentum"])
        torch._foreach_addcdiv_(moves, gradients, roots, -group["lr"])
        torch._foreach_add_(weights, moves)

    def _kept(self, weight: Tensor, name: str) -> Tensor:
        state = self.state[weight]
        if name not in state:
            state[name] = torch.zeros_like(weight)
        kept: Tensor = state[name]
        return kept
