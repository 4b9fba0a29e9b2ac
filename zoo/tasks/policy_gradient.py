"""What tasks of agents share: how their locations learn, and the alarm when these have collapsed."""

import logging
from collections.abc import Callable, Sequence
from typing import TypedDict, cast

import torch
from torch import Tensor

from zoo.attention import Baseline, Reinforce
from zoo.kernels.precision import at_least_float32
from zoo.networks.ram import Glimpsed

log = logging.getLogger(__name__)

BORDER = 0.95
"""Beyond it a mean location counts as saturated: the tanh that bounds it hardly passes a gradient there."""
_COLLAPSED = 0.9
"""The share of saturated locations in an epoch that is an alarm."""


class ReinforceParts(TypedDict):
    """How a location policy learns.

    Attributes:
        baseline: completed here with the size of the agent's state.
        weight: of the whole term beside what trains the actions.
        discount: of a reward for each step before it.
    """

    baseline: Callable[..., Baseline]
    weight: float
    discount: float


def check_reinforce(parts: ReinforceParts) -> None:
    """Refuses numbers without a meaning.

    Raises:
        ValueError: the discount is no share, or the weight is not above 0.
    """
    if not 0 <= parts["discount"] <= 1:
        raise ValueError(f"discount must be from 0 to 1, got {parts['discount']}")
    if not parts["weight"] > 0:
        raise ValueError(f"weight must be above 0, got {parts['weight']}")


def location_terms(reinforce: Reinforce, glimpses: Sequence[Glimpsed], reward: Tensor) -> dict[str, Tensor]:
    """The terms of a learning policy by name, `loss` among them, and its saturation.

    Args:
        reinforce: the estimator.
        glimpses: T of B images, M episodes each, in the order of time.
        reward: `(B M, T)`, of each look.
    """
    looks = [glimpsed.look for glimpsed in glimpses]
    terms = reinforce(
        log_prob=over_time([cast(Tensor, look.log_prob) for look in looks]),
        reward=reward,
        state=over_time([glimpsed.known for glimpsed in glimpses]),
        entropy=over_time([cast(Tensor, look.entropy) for look in looks]),
    )
    return {
        **named_terms(terms._asdict()),
        "saturation": saturated(torch.stack([look.mean for look in looks])),
    }


def named_terms(terms: dict[str, Tensor | None]) -> dict[str, Tensor]:
    """The entries that are not None."""
    return {name: term for name, term in terms.items() if term is not None}


def over_time(steps: Sequence[Tensor]) -> Tensor:
    """T tensors `(B, M, *)` as one `(B M, T, *)`, in one precision, which a first state may lack."""
    return torch.stack([step.to(at_least_float32(step)) for step in steps], 2).flatten(0, 1)


def saturated(means: Tensor) -> Tensor:
    """The share of locations `(*, 2)` at the border in either direction: a scalar."""
    return (means.abs() > BORDER).any(-1).float().mean()


class CollapseAlarm:
    """Warns when nearly all mean locations of an epoch lie at the border, and did not in the one before."""

    def __init__(self) -> None:
        self._shares: list[Tensor] = []  # of this epoch's steps
        self._collapsed = False

    def saw(self, saturation: Tensor) -> None:
        """Notes what `saturated` said of one step."""
        self._shares.append(saturation)

    def end_epoch(self, epoch: int) -> None:
        """Warns if there is a reason, and begins anew."""
        share = float(torch.stack(self._shares).mean()) if self._shares else 0.0
        if share > _COLLAPSED and not self._collapsed:
            log.warning(
                "epoch %d: the policy has collapsed: %.0f %% of its mean locations lie at the image's border"
                " (beyond %.2f), where it hardly learns; try a smaller optimizer.lr or another policy.std",
                *(epoch, 100 * share, BORDER),
            )
        self._shares, self._collapsed = [], share > _COLLAPSED
