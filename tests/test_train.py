"""train.py from the command line to the run's folder, with a model that learns nothing in a second."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from lightning.pytorch.callbacks import ModelCheckpoint

import train
from data.text.toys import Reverse
from zoo.config import compose, jobs
from zoo.metrics.kept_items import read_kept
from zoo.networks.seq2seq import Seq2Seq
from zoo.runs.status import State, StatusFile

PROJECT = Path(__file__).parents[1]
TINY = [
    *("data=reverse", "trainer=debug", "logger=csv", "decoding=greedy"),
    *("data.corpus.train=64", "data.corpus.validation=8", "data.corpus.test=8", "data.batch_tokens=256"),
    *("model.embedding_size=8", "model.hidden_size=8", "~callbacks.alignments"),
]

Train = Callable[..., int]


def only_run(runs: Path) -> Path:
    (run,) = (path.parent for path in runs.glob("*/*/status.json"))
    return run


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one finished run in a process of its own, and all that it said."""
    folder = tmp_path_factory.mktemp("example")
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "WANDB_MODE": "offline"}
    done = subprocess.run(
        [sys.executable, str(PROJECT / "train.py"), *TINY, "paths.runs_dir=runs", "seed=5"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return only_run(folder / "runs"), done.stdout + done.stderr


class TestASingleRun:
    def test_leaves_the_whole_folder(self, example: tuple[Path, str]) -> None:
        run, _ = example
        files = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
        assert files == {
            *("config.yaml", "status.json", "metrics.csv", "results.json", "predictions.jsonl"),
            *("checkpoints/best.ckpt", "checkpoints/last.ckpt", "samples.txt", "train.log"),
        }
        outside = {path.name for path in run.parents[2].iterdir()}
        assert outside == {"runs", "cache"}, "nothing else was written where it was started"

    def test_says_how_it_ended(self, example: tuple[Path, str]) -> None:
        run, said = example
        status = StatusFile(run).read()
        assert (status.state, status.exit_code, status.exception) == (State.FINISHED, 0, None)
        assert "seed=5" in status.overrides
        assert "exact_match" in said
        assert run.name in said
        assert "Traceback" not in said

    def test_measured_the_best_checkpoint(self, example: tuple[Path, str]) -> None:
        results = read(example[0] / "results.json")
        assert results["checkpoint"]["file"] == "checkpoints/best.ckpt"
        assert results["checkpoint"]["metric"] == "val/chrf"
        assert results["checkpoint"]["value"] == results["val"]["chrf"]
        assert results["seed"] == 5
        assert results["parameters"] > 0
        assert {"exact_match", "bleu", "tf_perplexity", "majority_exact_match"} <= results["test"].keys()
        with (example[0] / "metrics.csv").open() as file:
            logged = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
        assert logged["test/exact_match"] == results["test"]["exact_match"]

    def test_predicts_every_test_item(self, example: tuple[Path, str]) -> None:
        lines = (example[0] / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["id"] for line in lines] == list(range(8))
        results = read(example[0] / "results.json")
        assert results["item_scores"].keys() == {"exact_match", "chrf"}, "the headline, and the monitor"
        kept = read_kept(results, "exact_match")
        assert kept is not None
        assert kept.statistics.mean(axis=0).tolist() == [results["test"]["exact_match"], 1]

    @pytest.mark.parametrize("name", ["best", "last"])
    def test_checkpoints_are_plain(self, example: tuple[Path, str], name: str) -> None:
        loaded = torch.load(example[0] / "checkpoints" / f"{name}.ckpt", weights_only=True)
        assert loaded["zoo"]["config"] == yaml.safe_load((example[0] / "config.yaml").read_text())
        assert ("optimizer_states" in loaded) == (name == "last")

    def test_runs_again_from_its_configuration(
        self, example: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Train
    ) -> None:
        again = tmp_path / "again"
        again.mkdir()
        shutil.copy(example[0] / "config.yaml", again)
        monkeypatch.chdir(tmp_path)
        assert start("--frozen", str(again / "config.yaml")) == 0
        first, second = read(example[0] / "results.json"), read(again / "results.json")
        for part in ("test", "val", "config_hash", "test_hash", "vocabulary_hash", "checkpoint"):
            assert first[part] == second[part], part

    def test_a_used_folder_is_left_alone(
        self, example: tuple[Path, str], start: Train, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = {path: path.stat().st_mtime_ns for path in example[0].rglob("*")}
        assert start("--frozen", str(example[0] / "config.yaml")) == 2
        assert "its folder holds a run (finished)" in capsys.readouterr().err
        assert {path: path.stat().st_mtime_ns for path in example[0].rglob("*")} == before


def test_a_run_is_composed_and_checked_once(start: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is built twice: the check has no data, and builds it on torch's `meta` device."""
    calls = Counter[str]()
    places = [(compose, "compose"), (jobs, "check"), (train, "check"), (Seq2Seq, "__init__")]
    for place, name in places:
        real = getattr(place, name)

        def counted(*args: Any, name: str = name, real: Any = real, **kwargs: Any) -> Any:
            calls[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(place, name, wraps(real)(counted))
    assert start(*TINY, "test=false", "trainer.max_steps=1") == 0
    assert calls == {"compose": 1, "check": 1, "__init__": 2}


class TestWhatIsAskedFor:
    def test_check_reads_and_writes_nothing(
        self, start: Train, runs: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert start("check=true") == 0
        assert capsys.readouterr().out == "the configuration is fine\n"
        assert not runs.exists()
        assert not Path(os.environ["XDG_CACHE_HOME"]).exists()

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (["attention=adittive"], "did you mean additive?"),
            (["-m", "seed=1,2", "attention=dot,adittive"], "did you mean additive?"),
            (["model.hidden_size=7"], "hidden_size=7 cannot be divided"),
        ],
    )
    def test_a_bad_line_stops_everything(
        self, start: Train, runs: Path, capsys: pytest.CaptureFixture[str], line: list[str], said: str
    ) -> None:
        assert start(*line) == 2
        error = capsys.readouterr().err
        assert said in error
        assert "Traceback" not in error
        assert not runs.exists()

    def test_a_run_folder_that_cannot_be_made(
        self, start: Train, runs: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        runs.write_text("a file")
        assert start(*TINY) == 2
        error = capsys.readouterr().err
        assert str(runs) in error
        assert "Traceback" not in error
        assert runs.read_text() == "a file"

    def test_the_test_splits_can_wait(self, start: Train, runs: Path) -> None:
        # ... and a budget of steps that ends within an epoch still validates.
        assert start(*TINY, "test=false", "trainer.max_steps=2", "trainer.limit_train_batches=null") == 0
        run = only_run(runs)
        results = read(run / "results.json")
        assert results["checkpoint"]["step"] == 2
        assert "test" not in results
        assert not (run / "predictions.jsonl").exists()


class TestTrouble:
    def test_data_that_is_not_there_is_one_line(
        self, start: Train, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def nothing(self: Reverse) -> None:
            raise FileNotFoundError("rows.txt (12 MB) is not there")

        monkeypatch.setattr(Reverse, "load", nothing)
        assert start(*TINY) == 1
        run = only_run(runs)
        status = StatusFile(run).read()
        assert (status.state, status.exit_code) == (State.FAILED, 1)
        assert status.exception == "FileNotFoundError: rows.txt (12 MB) is not there"
        assert "Traceback" not in "".join(capsys.readouterr())
        log = (run / "train.log").read_text(encoding="utf-8")
        assert "Traceback" in log
        assert "in nothing" in log
        assert not (run / "results.json").exists()

    def test_divergence_has_a_state_of_its_own(self, start: Train, runs: Path) -> None:
        assert (
            start(*TINY, "optimizer.lr=1e38", "trainer.gradient_clip_val=null", "trainer.max_epochs=3") == 1
        )
        status = StatusFile(only_run(runs)).read()
        assert status.state is State.DIVERGED
        assert str(status.exception).startswith("Diverged: training diverged")

    def test_no_best_checkpoint_is_an_error(
        self, start: Train, runs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ModelCheckpoint, "on_validation_end", lambda *_: None)
        assert start(*TINY) == 1
        assert "best.ckpt" in str(StatusFile(only_run(runs)).read().exception)

    def test_an_interrupted_run_is_no_success(
        self, start: Train, runs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(train.FinalValidation, "on_train_batch_end", interrupted)
        assert start(*TINY) == 130
        assert StatusFile(only_run(runs)).read().state is State.PREEMPTED


@pytest.mark.slow
def test_three_processes_three_wandb_runs(tmp_path: Path) -> None:
    """Each job of a sweep is one W&B run with its name and its true end, although no server answers."""
    line = [
        *TINY,
        *("logger=wandb", f"paths.runs_dir={tmp_path}/runs", "trainer.gradient_clip_val=null"),
        *("-m", "optimizer.lr=1e-3,1e38,1e-4"),
    ]
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "WANDB_API_KEY": "0" * 40,
        "WANDB_BASE_URL": "http://127.0.0.1:9",
        "WANDB_MODE": "online",
    }
    done = subprocess.run([sys.executable, str(PROJECT / "train.py"), *line], env=environment, check=False)
    assert done.returncode == 1

    ends = {}
    for file in (tmp_path / "runs" / "wandb").glob("*/*.wandb"):
        command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", "--json", str(file)]
        rows = [json.loads(row) for row in subprocess.check_output(command, text=True).splitlines()]
        (run,) = (row["run"] for row in rows if row["type"] == "run")
        (code,) = (row["exit"].get("exit_code", 0) for row in rows if row["type"] == "exit")
        ends[run["display_name"]] = code
    assert ends == {"0-optimizer.lr=0.001": 0, "1-optimizer.lr=1e+38": 1, "2-optimizer.lr=0.0001": 0}
