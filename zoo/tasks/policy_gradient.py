"""Policy gradients for locations, and a warning when these have collapsed: for the tasks of agents."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, cast

import torch
from torch import Tensor, nn

from zoo.attention import Baseline, LocationPolicy, Reinforce
from zoo.kernels.precision import at_least_float32
from zoo.networks.ram import Glimpsed

log = logging.getLogger(__name__)

BORDER = 0.95
"""Beyond it a mean location is saturated: the tanh that bounds it hardly passes a gradient there."""
_COLLAPSED = 0.9
"""The fraction of saturated locations in an epoch that is warned of."""


class ReinforceParts(TypedDict):
    """How a location policy learns.

    Attributes:
        baseline: completed here with the size of the agent's state.
        weight: of the term in the loss.
        discount: of a reward for each step before it.
    """

    baseline: Callable[..., Baseline]
    weight: float
    discount: float


def check_reinforce(parts: Mapping[str, Any]) -> None:
    """Refuses numbers of a REINFORCE term that are out of range.

    Raises:
        ValueError: the discount is not from 0 to 1, the weight not above 0, or the entropy's weight negative.
    """
    if parts["discount"] is not None and not 0 <= parts["discount"] <= 1:
        raise ValueError(f"discount must be from 0 to 1, got {parts['discount']}")
    if not parts.get("weight", 1.0) > 0:
        raise ValueError(f"weight must be above 0, got {parts['weight']}")
    if parts.get("entropy_weight", 0.0) < 0:
        raise ValueError(f"entropy_weight must be at least 0, got {parts['entropy_weight']}")


def location_policy(network: nn.Module) -> LocationPolicy | None:
    """The network's policy; None where it takes no glimpses."""
    return next((part for part in network.modules() if isinstance(part, LocationPolicy)), None)


def location_terms(reinforce: Reinforce, glimpses: Sequence[Glimpsed], reward: Tensor) -> dict[str, Tensor]:
    """The terms of a learning policy by name, `loss` among them, and its saturation.

    Args:
        reinforce: the estimator.
        glimpses: T of B images, M episodes each, in order.
        reward: `(B M, T)`, of each location.
    """
    looks = [glimpsed.look for glimpsed in glimpses]
    terms = reinforce(
        log_prob=over_time([cast(Tensor, look.log_prob) for look in looks]),
        reward=reward,
        state=over_time([glimpsed.known for glimpsed in glimpses]),
        entropy=over_time([cast(Tensor, look.entropy) for look in looks]),
    )
    saturation = saturated(torch.stack([look.mean for look in looks]))
    return {**named_terms(terms._asdict()), "saturation": saturation}


def named_terms(terms: dict[str, Tensor | None]) -> dict[str, Tensor]:
    """The entries that are not None."""
    return {name: term for name, term in terms.items() if term is not None}


def over_time(steps: Sequence[Tensor]) -> Tensor:
    """T tensors `(B, M, *)` as one `(B M, T, *)`, in at least float32, which a first state may lack."""
    return torch.stack([step.to(at_least_float32(step)) for step in steps], 2).flatten(0, 1)


def saturated(means: Tensor) -> Tensor:
    """The fraction of mean locations `(*, 2)` at the border, a scalar."""
    return (means.abs() > BORDER).any(-1).float().mean()


class CollapseAlarm:
    """Warns when over 90 % of an epoch's mean locations are saturated, and were not in the epoch before."""

    def __init__(self) -> None:
        self._steps: list[Tensor] = []  # the saturation of each of this epoch's steps
        self._collapsed = False

    def add(self, saturation: Tensor) -> None:
        """Adds the saturation of a step."""
        self._steps.append(saturation)

    def end_epoch(self, epoch: int) -> None:
        """Warns where there is a reason, and begins the next epoch."""
        saturation = float(torch.stack(self._steps).mean()) if self._steps else 0.0
        if saturation > _COLLAPSED and not self._collapsed:
            log.warning(
                "epoch %d: the policy has collapsed: %.0f %% of its mean locations lie at the image's border"
                " (beyond %.2f), where it hardly learns; try a smaller optimizer.lr or another policy.std",
                *(epoch, 100 * saturation, BORDER),
            )
        self._steps, self._collapsed = [], saturation > _COLLAPSED
