"""What a person sees of a run, and what a supervisor sees."""

import json
import logging
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import rich
import rich.console
from fake_task import FakeTask, Fit
from lightning.pytorch.callbacks import ModelCheckpoint, Timer
from lightning.pytorch.loggers import CSVLogger

from zoo.runs.heartbeat import Heartbeat
from zoo.runs.report import KNOWN_WARNINGS
from zoo.runs.status import StatusFile
from zoo.training.callbacks import Progress, StepAxis, Throughput, pace
from zoo.training.callbacks import progress as module


def _messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == module.__name__]


def test_every_validation_is_one_line_and_no_terminal_means_no_flood(
    fit: Fit, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, logger=module.__name__):
        fit(FakeTask(), [StepAxis(), Progress()], enable_progress_bar=True)
    assert _messages(caplog) == [
        "step 4  epoch 0  val/score 4  tf_loss 1.5",
        "step 8  epoch 1  val/score 8  tf_loss 1.5",
    ]
    assert "\r" not in capsys.readouterr().out


def test_the_monitor_comes_first_and_the_sanity_check_is_not_logged(
    fit: Fit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    best = ModelCheckpoint(dirpath=tmp_path, monitor="val/tf_loss")
    with caplog.at_level(logging.INFO, logger=module.__name__):
        fit(
            FakeTask(),
            [StepAxis(), Progress(), best],
            enable_progress_bar=True,
            enable_checkpointing=True,
            num_sanity_val_steps=1,
            max_epochs=1,
        )
    assert _messages(caplog) == ["step 4  epoch 0  val/tf_loss 1.5  score 4"]


class Measured(FakeTask):
    """Measures more than fits into a line."""

    telling = ("chrf", "bleu_4", "exact_match")

    def on_validation_epoch_end(self) -> None:
        values = {"chrf": 12345.678, "bleu_4": 7.855e-10, "exact_match": 0.06667, "tf_loss": 1.5}
        self.log_dict({f"val/{name}": value for name, value in values.items()})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (80, "step 4  epoch 0  val/chrf 12,346  bleu_4 0.0000  exact_match 0.06667"),
        (60, "step 4  epoch 0  val/chrf 12,346  bleu_4 0.0000"),
        (20, "step 4  epoch 0  val/chrf 12,346"),
    ],
)
def test_a_validation_line_has_as_many_metrics_as_fit(
    fit: Fit,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    said: str,
) -> None:
    monkeypatch.setattr(module, "get_console", lambda: rich.console.Console(width=columns))
    with caplog.at_level(logging.INFO, logger=module.__name__):
        fit(Measured(), [StepAxis(), Progress()], enable_progress_bar=True, max_epochs=1)
    assert _messages(caplog) == [said]


@pytest.mark.parametrize(("every", "lines"), [(20, 1), (8, 0)])
def test_a_training_too_short_to_log_its_loss_is_warned_of(
    fit: Fit, tmp_path: Path, caplog: pytest.LogCaptureFixture, every: int, lines: int
) -> None:
    logger = CSVLogger(tmp_path)
    with caplog.at_level(logging.INFO, logger=module.__name__), warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message)
        fit(FakeTask(), [Progress()], [logger], enable_progress_bar=True, log_every_n_steps=every)
    assert sum("trainer.log_every_n_steps" in line for line in _messages(caplog)) == lines
    logged = Path(logger.log_dir, "metrics.csv").read_text(encoding="utf-8").splitlines()[0]
    assert ("train/loss" in logged.split(",")) == (not lines)


def test_without_a_terminal_lines_say_speed_and_time_left(
    fit: Fit, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(pace, "time", clock)

    class Task(FakeTask):
        def training_step(self, batch: object, number: int) -> object:  # type: ignore[override]
            clock.now += 10.0
            return super().training_step(batch, number)  # type: ignore[arg-type]

    with caplog.at_level(logging.INFO, logger=module.__name__):
        fit(Task(), [StepAxis(), Throughput(), Progress(seconds=30.0)], enable_progress_bar=True)
    lines = [line for line in _messages(caplog) if "val/" not in line]
    assert len(lines) == 2, "one per 30 seconds of the 80"
    assert re.fullmatch(r"step 3/8  epoch 0  loss 0\.062  tokens/s [\d,]+  left 0:00:50", lines[0])
    assert re.fullmatch(r"step 6/8  epoch 1  loss .*  left 0:00:20", lines[1])


def test_a_time_limit_shortens_what_is_left(fit: Fit) -> None:
    class Look(Progress):
        seen: float | None = None

        def on_train_batch_end(self, trainer, *arguments) -> None:  # type: ignore[no-untyped-def]
            super().on_train_batch_end(trainer, *arguments)
            self.seen = self._pace.seconds_left(trainer)

    look = Look()
    fit(
        FakeTask(),
        [look, Timer(duration={"seconds": 5})],
        enable_progress_bar=True,
        max_epochs=-1,
        max_steps=3,
    )
    assert look.seen == 0.0
    look = Look()
    fit(FakeTask(), [look, Timer(duration={"hours": 1})], enable_progress_bar=True, max_epochs=2)
    assert look.seen == 0.0
    look = Look()
    fit(
        FakeTask(),
        [look, Timer(duration={"hours": 1})],
        enable_progress_bar=True,
        max_steps=2,
        max_epochs=10**6,
    )
    assert look.seen is not None


def test_on_a_terminal_there_is_a_bar_with_the_whole_fits_time(
    fit: Fit,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(rich, "_console", None)
    callbacks = [StepAxis(), Throughput(), Progress(seconds=0.0)]
    with caplog.at_level(logging.INFO, logger=module.__name__):
        fit(FakeTask(), callbacks, enable_progress_bar=True, test=True)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert re.search(r"Epoch 1/1 .* 4/4 loss: \d\.\d{3} tokens/s: [\d,]+ left: 0:00:0\d *\n", shown), (
        "in one line"
    )
    assert re.search(r"Testing .* 4/4", shown)
    assert len(_messages(caplog)) == 2, "the bar says the rest"


def test_heartbeats_are_rare_and_keep_the_status(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = StatusFile(tmp_path)
    beats: list[Path] = []
    monkeypatch.setattr(StatusFile, "beat", lambda self, progress=None: beats.append(self.path))
    fit(FakeTask(), [Heartbeat(folder=tmp_path)], test=True)
    assert beats == [status.path] * 2, "a short run beats once in ten seconds, and at the training's end"
    fit(FakeTask(), [Heartbeat(folder=tmp_path, seconds=0.0)], test=True)
    assert len(beats) == 2 + 8 + 8 + 1 + 4, "in training, validation, at the end, and in the test"


def test_a_heartbeat_is_seen_in_the_status(fit: Fit, tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start(["a=b"])
    started = json.loads(status.path.read_text())
    status.path.write_text(json.dumps(started | {"heartbeat": "long ago"}))
    fit(FakeTask(), [Heartbeat(folder=tmp_path)], max_steps=1, limit_val_batches=0)
    seen = json.loads(status.path.read_text())
    assert seen.pop("heartbeat") >= started.pop("heartbeat")
    assert seen.pop("progress")["step"] == 1
    started.pop("progress")
    assert seen == started


def test_the_status_says_how_far_the_training_is(fit: Fit, tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start()
    best = ModelCheckpoint(dirpath=tmp_path / "checkpoints", monitor="val/score", mode="max")
    fit(FakeTask(), [Heartbeat(folder=tmp_path, seconds=0.0), best], enable_checkpointing=True, test=True)
    progress = status.read().progress
    assert progress is not None
    assert (progress.step, progress.steps, progress.metric, progress.best) == (8, 8, "val/score", 8.0)
    assert progress.seconds_left == 0.0


def test_a_long_test_says_how_far_it_is_where_there_is_no_terminal(caplog: pytest.LogCaptureFixture) -> None:
    trainer = SimpleNamespace(num_test_batches=[5, 7], is_global_zero=True)
    with caplog.at_level(logging.INFO, logger=module.__name__):
        Progress(seconds=0.0).on_test_batch_end(trainer, None, None, None, 2, 1)  # type: ignore[arg-type]
    assert _messages(caplog) == ["test set 1: 3/7 batches"]
