"""Runs small enough to be stopped and resumed many times, and what must be equal afterwards."""

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

FAULTY = Path(__file__).with_name("faulty_train.py")
# 24 steps in 3 epochs, a validation in the middle and at the end of each, dropout, sampled readings: whatever
# uses random numbers or keeps a state.
SMALL = [
    *("data=reverse", "trainer=cpu", "logger=csv", "decoding=greedy", "trainer.max_epochs=3"),
    *("data.corpus.train=160", "data.corpus.validation=24", "data.corpus.test=16", "data.batch_tokens=256"),
    *("model.embedding_size=8", "model.hidden_size=8", "model.dropout=0.3", "selection=hard"),
    *("trainer.val_check_interval=0.5", "trainer.log_every_n_steps=1", "~callbacks.alignments"),
    *("averaging=last", "callbacks.averaging.checkpoints=2"),
    *("callbacks.last.every_n_steps=3", "scheduler=inverse_square_root", "scheduler.warmup_steps=5"),
]
TIMINGS = ("per_second", "seconds", "peak_memory")


def start(
    *line: str, fault: str = "", environment: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """Starts `faulty_train.py`; signals are as a shell in the foreground sets them."""
    variables = {**os.environ, "FAULT": fault, "OMP_NUM_THREADS": "1", **(environment or {})}
    return subprocess.Popen(
        [sys.executable, str(FAULTY), *line],
        env=variables,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=_default_signals,
    )


def run(
    *line: str, fault: str = "", environment: dict[str, str] | None = None, seconds: float = 180
) -> tuple[int, str]:
    """Runs it to its end: the exit code, negative for a signal that killed it, and all that it said."""
    process = start(*line, fault=fault, environment=environment)
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        raise AssertionError(f"it did not end:\n{said}") from None
    return process.returncode, said


def resume(folder: Path, fault: str = "") -> tuple[int, str]:
    """Goes on with a run."""
    return run("--frozen", str(folder / "config.yaml"), "--resume", fault=fault)


def only_run(runs: Path) -> Path:
    """The folder of the one run below."""
    (folder,) = (path.parent for path in runs.glob("*/*/config.yaml"))
    return folder


def metrics(folder: Path) -> list[tuple[str, str, str]]:
    """The rows of metrics.csv but for timings, in the order in which they were written."""
    with (folder / "metrics.csv").open() as file:
        rows = [(row["step"], row["name"], row["value"]) for row in csv.DictReader(file)]
    return [row for row in rows if not any(part in row[1] for part in TIMINGS)]


def weights(folder: Path, name: str) -> dict[str, Any]:
    """The weights of a checkpoint."""
    loaded: dict[str, Any] = torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)
    return {**loaded["state_dict"], "optimizer": loaded.get("optimizer_states")}


def assert_same_run(one: Path, other: Path) -> None:
    """To the last bit: weights, optimiser, metrics, predictions, samples."""
    assert metrics(one) == metrics(other)
    for name in ("best", "last"):
        _assert_equal(weights(one, name), weights(other, name), name)
    for file in ("predictions.jsonl", "samples.txt"):  # the latter where a task writes texts
        assert (one / file).exists() == (other / file).exists(), file
        if (one / file).exists():
            assert (one / file).read_text() == (other / file).read_text(), file


def _assert_equal(one: Any, other: Any, where: str) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            _assert_equal(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            _assert_equal(first, second, f"{where}[{number}]")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    else:
        assert one == other, where


def _default_signals() -> None:
    """A shell that starts something in the background has Ctrl-C ignored, which is inherited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
