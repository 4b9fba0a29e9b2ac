"""Tracking: an agent that plays a game which it sees by glimpses (Mnih et al. 2014, section 4.2)."""

from collections.abc import Callable, Iterator
from typing import ClassVar, Protocol, cast

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric

from zoo.attention import Baseline, Reinforce, reward_to_go
from zoo.core.spec import DataSpec
from zoo.kernels.noise import gumbel_like
from zoo.metrics import CatchRate, Measure, StandardError
from zoo.networks.ram import Glimpsed
from zoo.tasks.policy_gradient import (
    CollapseAlarm,
    ReinforceParts,
    check_reinforce,
    location_policy,
    location_terms,
    named_terms,
    over_time,
    saturated,
)
from zoo.tasks.rules import Configured
from zoo.tasks.task import Scores, Task
from zoo.tasks.tracking.ball_path import BallPath
from zoo.tasks.tracking.batch import CatchBatch
from zoo.tasks.tracking.catch import Catch
from zoo.tasks.tracking.predictor import CatchPlayer

_FIRST_BRIGHTNESS = 0.3
"""Of the first board in an image of all boards; the last one has 1."""


class Agent(Protocol):
    """The network of the task."""

    hidden_size: int
    action: nn.Module

    def episode(
        self, observe: Callable[[], Tensor], steps: int, *, episodes: int = 1, sample: bool = False
    ) -> Iterator[Glimpsed]:
        """See `RecurrentAttentionModel`."""


class Played:
    """N games from beginning to end; each list has one entry for each of T steps.

    Attributes:
        glimpses: before each action.
        actions: distributions of `(N,)` actions.
        chosen: `(N,)` actions.
        rewards: `(N,)`, right after the action.
    """

    def __init__(self) -> None:
        self.glimpses: list[Glimpsed] = []
        self.actions: list[Categorical] = []
        self.chosen: list[Tensor] = []
        self.rewards: list[Tensor] = []

    @property
    def caught(self) -> Tensor:
        """The number of balls that were caught in each game, `(N,)`."""
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
        return {name: getattr(self, name).compute() for name in TrackingTask.metrics}


class TrackingTask(Task):
    """Trains actions and locations by REINFORCE, from the rewards of games of Catch.

    At each step the agent takes a glimpse and acts. A choice is rewarded with the discounted rewards after
    it. Actions train action network, core and glimpse network; locations the location network alone, as in
    recognition. Each of the two has its own baseline, from the state in which the choice was made. The paper
    says nothing of baselines, discounts and entropy in this game. `Task` describes the other arguments.

    Args:
        network: built for `spec`.
        spec: the boards; their classes are the actions.
        reinforce: baseline and discount for both choices; the weight of the locations, where the network's
            policy learns.
        entropy_weight: of the entropy bonus of the actions.

    Raises:
        ValueError: the network takes no glimpses, or a number is out of range.
    """

    network: Agent
    batch_type = CatchBatch
    noun, unit = "games", "games"
    predictor = CatchPlayer
    metrics: ClassVar = {
        "catch_rate": Measure(CatchRate, better="max", headline=True, watched=1, share=True),
        "catch_rate_standard_error": Measure(StandardError, better="min", role="support"),
        "saturation": Measure(MeanMetric, better=None, role="detail"),
    }

    @classmethod
    def unused_settings(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return {"model.glimpses": "a game has a look before each move"}

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """See `Task`: actions are always sampled."""
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
        policy = location_policy(network)
        if policy is None:
            raise ValueError(
                f"{type(network).__name__} takes no glimpses, which playing needs; take model=ram"
            )
        self.network = network  # type: ignore[assignment]
        self.spec = spec
        self.weight, self.discount = reinforce["weight"], reinforce["discount"]

        def baseline() -> Baseline:
            return reinforce["baseline"](state_size=self.network.hidden_size)

        self.reinforce_actions = Reinforce(baseline=baseline(), entropy_weight=entropy_weight)
        self.reinforce = Reinforce(baseline=baseline()) if policy.learned else None
        self._alarm = CollapseAlarm()

    def play(self, batch: CatchBatch, *, sample: bool = False) -> Played:
        """Plays whole games.

        Args:
            batch: how they begin.
            sample: whether locations and actions are sampled; else the most likely ones are taken.
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
        """See `Task`: REINFORCE on sampled locations and actions of whole games."""
        played = self.play(batch, sample=True)
        loss, terms = self.loss(played)
        terms["catch_rate"] = played.caught.mean() / batch.columns.shape[1]
        return loss, terms

    def loss(self, played: Played) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of sampled games and its terms by name; those of the actions end with `_actions`."""
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
            self._alarm.add(of_locations["saturation"])
            loss = loss + self.weight * of_locations.pop("loss")
            terms |= of_locations
        return loss, terms

    def on_train_epoch_end(self) -> None:
        """Warns where the policy has collapsed."""
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
        caught = played.caught.tolist()
        self._keep_predictions(
            split,
            batch.index,
            input=batch.names,
            references=[[str(balls)] for _ in caught],
            prediction=[str(round(number)) for number in caught],
            score=[number / balls for number in caught],
            finished=[True] * len(caught),
            locations=over_time([look.location for look in looks]).tolist(),
        )

    @torch.no_grad()
    def paths(self, batch: CatchBatch) -> list[list[BallPath]]:
        """The paths of each game, ball by ball, with the most likely locations and actions.

        Args:
            batch: how the games begin.
        """
        batch = move_data_to_device(batch, self.device)
        played, again = self.play(batch), Catch(batch)
        boards = []
        for chosen in played.chosen:  # the same games once more, for their boards
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
