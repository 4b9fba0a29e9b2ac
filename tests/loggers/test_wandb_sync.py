"""`wandb sync` makes one run of the parts that a run was recorded in offline, and loses none of its steps."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from wandb_server import WandbServer, wandb_server

from zoo.loggers.metrics_file import MetricsFile
from zoo.loggers.wandb import WandbLogger

KEY = "0123456789" * 4
RUN = "0123abcd"


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A run that trained for three steps, was stopped, and went on from its second."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    folder = tmp_path / "runs" / f"12-00-00_run_{RUN}"
    folder.mkdir(parents=True)
    for steps in ((1, 2, 3), (3, 4, 5)):
        logger = WandbLogger(folder=folder, wandb_dir=tmp_path, project="zoo", name="run", group="sweep")
        logger.better = {"val/bleu": "max"}
        logger.log_hyperparams({"seed": 1})
        for step in steps:
            for one in (MetricsFile(folder / "metrics.csv"), logger):
                one.log_metrics({"train/loss": 1 / step, "val/bleu": float(5 - step)}, step=step)
        logger.finish(exit_code=0 if step == 5 else 143)
    return sorted((tmp_path / "wandb").glob("offline-run-*"))


def _sync(server: WandbServer, home: Path, *records: Path) -> None:
    given = {"WANDB_BASE_URL": server.address, "WANDB_API_KEY": KEY, "WANDB_MODE": "online"}
    environment = {**os.environ, **given, "HOME": str(home), "WANDB_ERROR_REPORTING": "false"}
    command = [sys.executable, "-m", "wandb", "sync", *map(str, records)]
    done = subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, timeout=60, check=False
    )  # it writes logs into the folder that it is started from
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("at_once", [pytest.param(True, marks=pytest.mark.slow), False])
def test_parts_of_a_run_are_one_run_with_one_history(
    records: list[Path], tmp_path: Path, at_once: bool
) -> None:
    assert len(records) == 2
    with wandb_server() as server:
        for sent in [records] if at_once else [records[:1], records]:
            _sync(server, tmp_path, *sent)
        assert list(server.files) == [RUN], "one run"
        assert not server.overwritten
        assert not server.unknown
        history = [json.loads(line) for line in server.files[RUN]["wandb-history.jsonl"]]
        assert [row["trainer/global_step"] for row in history] == [1, 2, 3, 3, 4, 5], "no step is lost"
        assert [row["_step"] for row in history] == [0, 1, 2, 3, 4, 5], "W&B's own steps count on"
        assert [row["train/loss"] for row in history] == [1 / step for step in (1, 2, 3, 3, 4, 5)]
        summary = json.loads(server.files[RUN]["wandb-summary.json"][-1])
        assert summary["trainer/global_step"] == 5
        assert summary["val/bleu"] == {"max": 4.0}, "the best of both parts"
