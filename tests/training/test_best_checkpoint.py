"""The best checkpoint: which of equally good ones is kept, and what is said of a metric that never moves."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_task import FakeTask, Fit
from lightning.pytorch.callbacks import EarlyStopping

from zoo.training.callbacks import BestCheckpoint, LastCheckpoint
from zoo.training.callbacks.monitored import SeenMetrics
from zoo.training.checkpoint import _monitor

NAN = float("nan")


class Scored(FakeTask):
    """Has these values of `val/bleu` at its validations, and a `val/chrf` that rises or stays."""

    telling = ("bleu", "chrf")

    def __init__(self, bleu: Sequence[float], *, rises: bool = True, plateau: bool = False) -> None:
        super().__init__()
        self.values, self.rises, self.plateau = list(bleu), rises, plateau

    def configure_optimizers(self) -> Any:
        optimizer = super().configure_optimizers()
        if not self.plateau:
            return optimizer
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "val/bleu"}}

    def on_validation_epoch_end(self) -> None:
        number = self.current_epoch
        self.log_dict({"val/bleu": self.values[number], "val/chrf": float(number) * self.rises})


def best(folder: Path, mode: str = "max") -> BestCheckpoint:
    return BestCheckpoint(
        dirpath=folder / "checkpoints",
        filename="best",
        monitor="val/bleu",
        mode=mode,
        save_on_train_epoch_end=False,
        enable_version_counter=False,
    )


def kept_step(folder: Path) -> int:
    return int(torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)["global_step"])


@pytest.mark.parametrize(
    ("values", "mode", "step"),
    [
        ([0.0, 0.0, 0.0], "max", 12),
        ([0.5, 0.5, 0.4], "max", 8),
        ([0.4, 0.5, 0.5], "min", 4),
        ([0.5, 0.4, 0.4], "min", 12),
        ([0.1, 0.5, 0.3], "max", 8),
        ([NAN, 0.5, NAN], "max", 8),
    ],
)
def test_of_equally_good_checkpoints_the_newest_is_kept(
    fit: Fit, tmp_path: Path, values: list[float], mode: str, step: int
) -> None:
    fit(Scored(values), [best(tmp_path, mode)], max_epochs=3, enable_checkpointing=True)
    assert kept_step(tmp_path) == step
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["best.ckpt"]
    state = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)["callbacks"]
    assert _monitor(state) == "val/bleu", "readers of a checkpoint find what picked it"


def test_a_monitor_that_never_changes_is_warned_of_early_and_at_the_end(
    fit: Fit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    callback = best(tmp_path)
    with caplog.at_level(logging.WARNING, logger="zoo"):
        fit(Scored([0.0] * 5), [callback], max_epochs=5, enable_checkpointing=True)
    assert callback.unchanged == ("val/bleu", 0.0, 5, "val/chrf")
    early, late = (record.getMessage() for record in caplog.records)
    assert early == (
        "val/bleu was 0 at each of 3 validations, so it tells no checkpoint from another: "
        "take task.monitor=val/chrf, which changed"
    )
    assert late == f"{callback.unchanged}; the newest checkpoint was kept"


def test_the_warning_names_what_else_waits_for_the_monitor(
    fit: Fit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stop = EarlyStopping(monitor="val/bleu", mode="max", patience=9)
    with caplog.at_level(logging.WARNING, logger="zoo"):
        fit(
            Scored([0.0] * 3, plateau=True),
            [stop, best(tmp_path)],
            max_epochs=3,
            enable_checkpointing=True,
        )
    assert "the schedule lowers the learning rate and EarlyStopping ends" in caplog.records[0].getMessage()


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.1, 0.1], [0.0]])
def test_a_monitor_that_changed_or_was_seen_once_is_not_warned_of(
    fit: Fit, tmp_path: Path, caplog: pytest.LogCaptureFixture, values: list[float]
) -> None:
    callback = best(tmp_path)
    with caplog.at_level(logging.WARNING, logger="zoo"):
        fit(Scored(values), [callback], max_epochs=len(values), enable_checkpointing=True)
    assert callback.unchanged is None
    assert not caplog.records


def test_where_nothing_changes_no_other_metric_is_proposed(fit: Fit, tmp_path: Path) -> None:
    callback = best(tmp_path)
    fit(Scored([0.0] * 3, rises=False), [callback], max_epochs=3, enable_checkpointing=True)
    assert callback.unchanged is not None
    assert callback.unchanged.instead is None


@pytest.mark.filterwarnings("ignore:Checkpoint directory")  # it is that of the first part
def test_a_resumed_fit_knows_the_validations_before(fit: Fit, tmp_path: Path) -> None:
    first = best(tmp_path)
    fit(Scored([0.0] * 2), [LastCheckpoint(folder=tmp_path), first], max_epochs=2, enable_checkpointing=True)
    state = torch.load(tmp_path / "checkpoints" / "last.ckpt", weights_only=True)["callbacks"]
    (saved,) = (value for name, value in state.items() if name.startswith("BestCheckpoint"))
    resumed = best(tmp_path)
    resumed.load_state_dict(saved)
    resumed._update_unchanged(Scored([]))
    assert resumed.unchanged == first.unchanged == ("val/bleu", 0.0, 2, "val/chrf")


def test_noise_of_a_billionth_is_no_change_and_a_repeated_validation_counts_once() -> None:
    seen = SeenMetrics()
    seen.add(4, {"val/bleu_4": 7.8e-10, "val/rouge_l": 20.0, "val/x": NAN})
    seen.add(4, {"val/bleu_4": 7.8e-10, "val/rouge_l": 20.0, "val/x": NAN})
    assert seen.unchanged("val/bleu_4", []) is None
    seen.add(8, {"val/bleu_4": 9.1e-10, "val/rouge_l": 20.1, "val/x": NAN})
    assert seen.unchanged("val/bleu_4", ["val/x", "val/rouge_l"]) == ("val/bleu_4", 7.8e-10, 2, "val/rouge_l")
    assert seen.unchanged("val/rouge_l", ["val/bleu_4"]) is None
