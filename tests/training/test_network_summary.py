"""What a run says of its network: parts, shapes, parameters, operations; once, and it changes nothing."""

import logging
from typing import Any

import pytest
import torch
from fake_task import FakeTask, Fit
from torch import Tensor, nn

from zoo.training.callbacks import NetworkSummary


class Small(nn.Module):
    """Two parts of which one has parts of its own, and one that is not called."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
        self.last = nn.Linear(2, 1, bias=False)
        self.unused = nn.Linear(3, 3)
        self.weightless = nn.Dropout(0.5)

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.last(self.weightless(self.first(inputs)))
        return output


class SmallTask(FakeTask):
    """Trains `Small` on three vectors, with dropout."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.network = Small()

    def training_step(self, batch: Any, number: int) -> Tensor:
        return super().training_step(batch, number) + self.network(torch.ones(3, 4)).sum()


def test_parts_are_told_once(fit: Fit, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "zoo.training.callbacks.network_summary"):
        fit(SmallTask(), [NetworkSummary(depth=2)], max_epochs=2)
    (said,) = [record.message for record in caplog.records if "GFLOP" in record.message]
    rows = [line.split() for line in said.splitlines()]
    assert rows[1:-1] == [
        ["network", "Small", "51"],
        ["first", "Sequential", "3", "x", "2", "37"],
        ["0", "Linear", "3", "x", "5", "25"],
        ["2", "Linear", "3", "x", "2", "12"],
        ["last", "Linear", "3", "x", "1", "2"],
        ["unused", "Linear", "12"],
    ]
    # the first layer's inputs need no gradient
    products = 2 * 3 * (2 * 4 * 5 + 3 * 5 * 2 + 3 * 2 * 1)
    assert float(rows[-1][0]) == pytest.approx(products / 10**9, rel=0.01)


def test_a_summary_changes_no_number(fit: Fit) -> None:
    with_summary, without = SmallTask(), SmallTask()
    for task, callbacks in ((with_summary, [NetworkSummary()]), (without, [])):
        torch.manual_seed(2)
        fit(task, callbacks, max_epochs=1)
    for one, other in zip(with_summary.parameters(), without.parameters(), strict=True):
        assert torch.equal(one, other)


def test_depth_0_says_nothing_and_a_long_table_is_cut(fit: Fit, caplog: pytest.LogCaptureFixture) -> None:
    task = SmallTask()
    with caplog.at_level(logging.INFO, "zoo.training.callbacks.network_summary"):
        fit(task, [NetworkSummary(depth=0)], max_epochs=1)
        assert not [record for record in caplog.records if "GFLOP" in record.message]
        task.network.many = nn.ModuleList(nn.Linear(2, 2) for _ in range(40))
        fit(task, [NetworkSummary(depth=2)], max_epochs=1)
    (said,) = [record.message for record in caplog.records if "GFLOP" in record.message]
    assert said.splitlines()[-2] == "  and 24 more"
    with pytest.raises(ValueError, match="depth must be at least 0, got -1"):
        NetworkSummary(depth=-1)
