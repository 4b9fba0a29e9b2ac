"""Tracking: an agent that plays a game which it sees by glimpses (Mnih et al. 2014, section 4.2)."""

from collections.abc import Callable, Iterator
from typing import ClassVar, Protocol, cast

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric

from zoo.attention import Baseline, LocationPolicy, Reinforce, reward_to_go
from zoo.core.spec import DataSpec
from zoo.kernels.noise import gumbel_like
from zoo.metrics import CatchRate, Measure, StandardError
from zoo.networks.ram import Glimpsed
from zoo.tasks.glimpse_path import BallPath
from zoo.tasks.policy_gradient import (
    CollapseAlarm,
    ReinforceParts,
    check_reinforce,
    location_terms,
    named_terms,
    over_time,
    saturated,
)
from zoo.tasks.rules import Configured
from zoo.tasks.task import Scores, Task
from zoo.tasks.tracking.batch import CatchBatch
from zoo.tasks.tracking.catch import Catch
from zoo.tasks.tracking.predictor import CatchPlayer

_FIRST_BRIGHTNESS = 0.3
"""Of the first moment in an image of all; the last one has 1."""


class Agent(Protocol):
    """What the task asks of a network."""

    hidden_size: int
    action: nn.Module

    def episode(
        self, observe: Callable[[], Tensor], steps: int, *, episodes: int = 1, sample: bool = False
    ) -> Iterator[Glimpsed]:
        """See `RecurrentAttentionModel`."""


class Played:
    """N games from beginning to end, each list with one entry for each of T steps.

    Attributes:
        glimpses: what was seen before each action.
        actions: `(N,)` each, as distributions.
        chosen: `(N,)` each.
        rewards: `(N,)` each, right after the action.
    """

    def __init__(self) -> None:
        self.glimpses: list[Glimpsed] = []
        self.actions: list[Categorical] = []
        self.chosen: list[Tensor] = []
        self.rewards: list[Tensor] = []

    @property
    def caught(self) -> Tensor:
        """`(N,)` balls in each game."""
        return torch.stack(self.rewards).sum(0)


class TrackingScores(Scores):
    """The metrics of one split, of the most likely locations and actions."""

    def __init__(self) -> None:
        super().__init__()
        self.catch_rate = CatchRate()
        self.catch_rate_standard_error = StandardError()
        self.saturation = MeanMetric()

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`."""
        values = {}
        for name in TrackingTask.metrics:
            metric = getattr(self, name)
            values[name] = metric.compute()
            metric.reset()
        return values


class TrackingTask(Task):
    """Trains actions and locations by REINFORCE, from the rewards of a game of Catch.

    At each step the agent looks, and acts on what it knows then; the paddle moves, and there is something
    else to see. The reward of a choice is what came after it, discounted. That of an action shapes action
    network, core and glimpse network; that of a location the location network alone, as in recognition. Each
    of the two has a baseline of its own, learned from the state that was known when the choice was made.

    Where this leaves the paper: it says nothing of baselines, discounts and bonuses in this game.

    Args:
        network: built for `spec`.
        spec: the boards; their classes are the actions.
        optimizer: completed here with the parameters.
        scheduler: completed here with the optimizer; None for a constant rate.
        reinforce: baseline and discount for both choices; the weight is that of the locations, and used only
            when the network's policy learns.
        entropy_weight: of the bonus for undecided actions, which keeps the search going.
        monitor: the metric that picks the best checkpoint (and that a plateau schedule watches).

    Raises:
        ValueError: the network does not look at places, or a number has no meaning.
    """

    batch_type = CatchBatch
    predictor = CatchPlayer
    metrics: ClassVar = {
        "catch_rate": Measure(CatchRate, better="max", headline=True, watched=1),
        "catch_rate_standard_error": Measure(StandardError, better="min", role="support"),
        "saturation": Measure(MeanMetric, better=None, role="detail"),
    }

    @classmethod
    def unused_settings(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return {"model.glimpses": "a game has a look before each move"}

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """See `Task`; what it does is sampled, too."""
        return True

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        reinforce: ReinforceParts,
        entropy_weight: float,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        check_reinforce(reinforce)
        if entropy_weight < 0:
            raise ValueError(f"entropy_weight must be at least 0, got {entropy_weight}")
        policy = next((part for part in network.modules() if isinstance(part, LocationPolicy)), None)
        if policy is None:
            raise ValueError(
                f"{type(network).__name__} takes no glimpses, which playing needs; take model=ram"
            )
        self.network: Agent = network  # type: ignore[assignment]
        self.spec = spec
        self.weight, self.discount = reinforce["weight"], reinforce["discount"]

        def baseline() -> Baseline:
            return reinforce["baseline"](state_size=self.network.hidden_size)

        self.reinforce_actions = Reinforce(baseline=baseline(), entropy_weight=entropy_weight)
        self.reinforce = Reinforce(baseline=baseline()) if policy.learned else None
        self._alarm = CollapseAlarm()

    def play(self, batch: CatchBatch, *, sample: bool = False) -> Played:
        """Whole games.

        Args:
            batch: how they begin.
            sample: False takes the most likely locations and actions.
        """
        game, played = Catch(batch), Played()
        for glimpsed in self.network.episode(game.observe, game.steps, sample=sample):
            logits = self.network.action(glimpsed.hidden[:, 0]).float()
            actions = Categorical(logits=logits, validate_args=False)  # whose check would wait for the device
            # The largest of log p + Gumbel noise is a sample of p.
            chosen = (logits + gumbel_like(logits) if sample else logits).argmax(-1)
            played.glimpses.append(glimpsed)
            played.actions.append(actions)
            played.chosen.append(chosen)
            played.rewards.append(game.act(chosen))
        return played

    # Training

    def loss_of(self, batch: CatchBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """REINFORCE on sampled locations and actions of whole games."""
        played = self.play(batch, sample=True)
        loss, terms = self.loss(played)
        terms["catch_rate"] = played.caught.mean() / batch.columns.shape[1]
        return loss, terms

    def loss(self, played: Played) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss, and its terms by name: those of the actions end with `_actions`.

        Args:
            played: with sampled locations and actions.
        """
        reward = reward_to_go(torch.stack(played.rewards, 1), self.discount)
        choices = list(zip(played.actions, played.chosen, strict=True))
        of_actions = self.reinforce_actions(
            log_prob=torch.stack([actions.log_prob(chosen) for actions, chosen in choices], 1),
            reward=reward,
            state=over_time([glimpsed.hidden for glimpsed in played.glimpses]),
            entropy=torch.stack([actions.entropy() for actions in played.actions], 1),
        )
        named = named_terms(of_actions._asdict())
        loss, mean = named.pop("loss"), named.pop("reward")
        terms = {"reward": mean, **{f"{name}_actions": term for name, term in named.items()}}
        if self.reinforce is not None:
            of_locations = location_terms(self.reinforce, played.glimpses, reward)
            self._alarm.saw(of_locations["saturation"])
            loss = loss + self.weight * of_locations.pop("loss")
            terms |= of_locations
        return loss, terms

    def on_train_epoch_end(self) -> None:
        """Raises the alarm when the policy has collapsed."""
        self._alarm.end_epoch(self.current_epoch)

    # Evaluation

    def new_scores(self, split: str) -> TrackingScores:
        """See `Task`."""
        return TrackingScores()

    def _evaluate(self, split: str, batch: CatchBatch) -> None:
        scores = cast(TrackingScores, self.scores[split])
        played = self.play(batch)
        balls = batch.columns.shape[1]
        scores.catch_rate.update(played.caught / balls)
        scores.catch_rate_standard_error.update(played.caught / balls)
        looks = [glimpsed.look for glimpsed in played.glimpses]
        scores.saturation.update(saturated(torch.stack([look.mean for look in looks])), len(batch.index))
        self.predictions[split] += [
            {
                "id": index,
                "input": name,
                "references": [str(balls)],
                "prediction": str(round(caught)),
                "score": caught / balls,
                "finished": True,
                "locations": locations,
            }
            for index, name, caught, locations in zip(
                batch.index.tolist(),
                batch.names,
                played.caught.tolist(),
                over_time([look.location for look in looks]).tolist(),
                strict=True,
            )
        ]

    @torch.no_grad()
    def paths(self, batch: CatchBatch) -> list[list[BallPath]]:
        """What the agent does in games with the most likely locations and actions: its paths, ball by ball.

        Args:
            batch: how they begin.
        """
        begins = {name: getattr(batch, name).to(self.device) for name in ("paddle", "columns", "drifts")}
        batch = batch._replace(**begins)
        played, again = self.play(batch), Catch(batch)
        boards = []
        for chosen in played.chosen:  # the same game once more
            boards.append(again.observe())
            again.act(chosen)
        balls = batch.columns.shape[1]
        # (N, balls, T, ...)
        shown, rewards, locations, glimpses = (
            steps.unflatten(1, (balls, -1)).float().cpu()
            for steps in (
                torch.stack(boards, 1),
                torch.stack(played.rewards, 1),
                over_time([glimpsed.look.location for glimpsed in played.glimpses]),
                over_time([glimpsed.glimpse for glimpsed in played.glimpses]),
            )
        )
        brightness = torch.linspace(_FIRST_BRIGHTNESS, 1, shown.shape[2])[:, None, None, None]
        images, caught = (shown * brightness).amax(2), rewards.any(2)
        return [
            [
                BallPath(
                    images[game, ball], locations[game, ball], glimpses[game, ball], bool(caught[game, ball])
                )
                for ball in range(balls)
            ]
            for game in range(len(images))
        ]
