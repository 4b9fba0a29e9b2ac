"""A training whose rate rises: which rates it passes, what it proposes, and where it ends."""

from functools import partial
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD
from torch.utils.data import DataLoader, TensorDataset

from zoo.training.rate_test import _steepest, rate_test
from zoo.training.schedules import Vaswani


class Bowl(pl.LightningModule):
    """Half of w² with w = 1 at first: a step of rate r multiplies w by 1 - r."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.optimizer: Any = partial(SGD, lr=123.0)
        self.scheduler: Any = None
        self.terms: dict[str, Tensor] = {}

    def training_step(self, batch: Any, number: int) -> Tensor:
        loss = self.weight**2 / 2
        self.terms = {"loss": loss.detach()}
        return loss

    def configure_optimizers(self) -> Any:
        optimizer = self.optimizer(self.parameters())
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": self.scheduler(optimizer), "interval": "step"},
        }


class Reward(Bowl):
    """The loss of a reward lies on both sides of 0."""

    def training_step(self, batch: Any, number: int) -> Tensor:
        loss = super().training_step(batch, number) * 0 + (0.01 if self.global_step % 2 else -0.01)
        self.terms = {"loss": loss.detach()}
        return loss


class Broken(Bowl):
    """No loss is a number."""

    def training_step(self, batch: Any, number: int) -> Tensor:
        loss = super().training_step(batch, number) * torch.nan
        self.terms = {"loss": loss.detach()}
        return loss


class Nothing(pl.LightningDataModule):
    def train_dataloader(self) -> Any:
        return DataLoader(TensorDataset(torch.zeros(7)))


trainer = partial(pl.Trainer, accelerator="cpu", enable_model_summary=False)
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers", "ignore:.*no `val_dataloader`")


def run(task: Bowl, **limits: Any) -> Any:
    options: dict[str, Any] = {"lowest": 1e-4, "highest": 10.0, "steps": 60, **limits}
    return rate_test(task, Nothing(), trainer, **options)


def test_the_rate_rises_evenly_until_the_loss_breaks_off() -> None:
    test = run(Bowl(), highest=1e3)
    ratio = (1e3 / 1e-4) ** (1 / 59)
    assert test.rates == pytest.approx([1e-4 * ratio**step for step in range(len(test.rates))])
    weight, average = 1.0, 0.0
    expected = []
    for step, rate in enumerate(test.rates, start=1):
        average = 0.9 * average + 0.1 * weight**2 / 2
        expected.append(average / (1 - 0.9**step))
        weight *= 1 - rate
    assert test.losses == pytest.approx(expected, rel=1e-4)
    assert len(test.losses) < 60, "a rate above 2 leads away from the bottom"
    assert test.losses[-1] > 4 * min(test.losses)
    assert test.setting == test.steepest
    assert 0.01 < test.steepest < 1.0


def test_a_schedule_that_multiplies_the_rate_gets_a_setting_of_its_own() -> None:
    task = Bowl()
    task.scheduler = partial(Vaswani, model_size=4, warmup_steps=25)
    test = run(task)
    assert test.setting == pytest.approx(test.steepest * 10)


def test_a_loss_that_crosses_zero_has_not_broken_off() -> None:
    assert len(run(Reward()).losses) == 60


def test_a_loss_that_is_no_number_from_the_start_proposes_nothing() -> None:
    test = run(Broken())
    assert len(test.losses) == 1
    assert test.steepest is test.setting is None


def test_rates_that_are_too_low_propose_nothing() -> None:
    test = run(Bowl(), lowest=1e-12, highest=1e-11)
    assert test.steepest is test.setting is None
    assert len(test.losses) == 60


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"lowest": 1.0, "highest": 0.1}, "below the highest, which must be finite, got 1.0 and 0.1"),
        ({"lowest": 0.0}, "must be above 0"),
        ({"highest": float("inf")}, "must be finite"),
        ({"steps": 9}, "steps must be at least 10, got 9"),
    ],
)
def test_a_range_of_nothing_is_refused(limits: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        run(Bowl(), **limits)


def test_the_least_loss_is_no_steepest_place_where_it_breaks_off_behind() -> None:
    rates = [10.0**power for power in range(7)]
    assert _steepest(rates, [2.0, 1.9, 1.5, 1.2, 1.1, 0.7, 30.0]) == 100.0
