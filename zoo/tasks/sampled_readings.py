"""REINFORCE for networks that sample what they read of texts, and are rewarded once for each item."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, NotRequired, TypedDict

import torch
from torch import Tensor, nn

from zoo.attention import Baseline, Reinforce, Selection
from zoo.networks.pooling import Reading
from zoo.tasks.policy_gradient import check_reinforce, named_terms


class ReinforceParts(TypedDict):
    """How a selection that samples learns.

    Attributes:
        baseline: completed here with the size of the queries.
        entropy_weight: of the entropy bonus.
        weight: of the term in the loss; 1 where it is left out.
    """

    baseline: Callable[..., Baseline]
    entropy_weight: float
    weight: NotRequired[float]


class Choices(NamedTuple):
    """The N sampled readings of each item.

    Attributes:
        log_prob: `(B, N)`.
        entropy: `(B, N)`, of the distributions behind them.
        queries: `(B, N, D)`, known before the choice.
        keep_mask: `(B, N)` boolean, True at real readings.
    """

    log_prob: Tensor
    entropy: Tensor
    queries: Tensor
    keep_mask: Tensor


def estimator(network: nn.Module, parts: ReinforceParts | None) -> Reinforce | None:
    """The estimator for a network's selections; None where none of them samples, or there are no parts.

    Raises:
        ValueError: a number of the parts is out of range.
    """
    if parts is None:
        return None
    check_reinforce({"discount": None, **parts})
    sampling = [part for part in network.modules() if isinstance(part, Selection) and part.samples]
    if not sampling:
        return None
    baseline = parts["baseline"](state_size=sampling[0].query_size)
    return Reinforce(baseline=baseline, entropy_weight=parts["entropy_weight"])


def sampled(readings: Sequence[Reading]) -> list[Choices]:
    """The choices of those readings that sampled."""
    return [_choices(reading) for reading in readings if reading.attended.log_prob is not None]


def joined(parts: Sequence[Choices]) -> Choices:
    """The choices of several readings of the same items."""
    return Choices(*(torch.cat(column, 1) for column in zip(*parts, strict=True)))


def reinforce_terms(reinforce: Reinforce, choices: Choices, reward: Tensor) -> dict[str, Tensor]:
    """The terms of REINFORCE by name, of items with these rewards `(B,)`."""
    terms = reinforce(
        log_prob=choices.log_prob,
        reward=reward.unsqueeze(-1).expand_as(choices.log_prob),
        state=choices.queries,
        keep_mask=choices.keep_mask,
        entropy=choices.entropy,
    )
    return named_terms(terms._asdict())


def _choices(reading: Reading) -> Choices:
    log_prob, entropy = reading.attended.log_prob, reading.attended.entropy
    assert log_prob is not None
    assert entropy is not None  # a selection that samples gives both
    asked = torch.ones_like(log_prob, dtype=torch.bool) if reading.asked is None else reading.asked
    return Choices(log_prob, entropy, reading.queries, asked)
