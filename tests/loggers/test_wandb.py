"""W&B: one run per run folder, offline by default, read back with W&B's own reader."""

import gc
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_run import make_run

from zoo.loggers import wandb
from zoo.loggers.metrics_file import MetricsFile
from zoo.loggers.wandb import WandbLogger
from zoo.loggers.wandb_id import short_id
from zoo.runs.folder import create_run_folder
from zoo.training.callbacks.media import log_image, log_table

KEY = "0123456789" * 4
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in (
        "WANDB_MODE",
        "WANDB_PROJECT",
        "WANDB_RUN_GROUP",
        "WANDB_API_KEY",
        "WANDB_BASE_URL",
        "NETRC",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    yield
    if "wandb" in sys.modules:
        sys.modules["wandb"].teardown()  # it remembers the environment of its first use


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A server that W&B believes to be its own; it notes who calls, and hangs up."""
    seen: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    caller, address = server.accept()
                except OSError:
                    return
                seen.append(str(address))
                caller.close()

        threading.Thread(target=serve, daemon=True).start()
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        yield seen
        server.shutdown(socket.SHUT_RDWR)


def _logger(tmp_path: Path, name: str = "run", **options: Any) -> WandbLogger:
    folder = create_run_folder(tmp_path / "runs", name)
    logger = WandbLogger(folder=folder, wandb_dir=tmp_path / "common", project="zoo", name=name, **options)
    logger.better = {"val/chrf": "max", "val/bleu": "max", "val/tf_loss": "min"}
    return logger


def _inspect(tmp_path: Path, logger_id: str, *options: str) -> str:
    (file,) = (tmp_path / "common" / "wandb").glob(f"offline-run-*-{logger_id}/run-{logger_id}.wandb")
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", *options, str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _records(tmp_path: Path, logger_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _inspect(tmp_path, logger_id).splitlines()]


def _whole(tmp_path: Path, logger: WandbLogger) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_inspect(tmp_path, str(logger._id), "--summary"))
    return found


def _of(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record[kind] for record in records if record["type"] == kind]


def _history(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for history in _of(records, "history"):
        items = history["item"]
        if isinstance(items, list):
            items = {
                item.get("key") or ".".join(item["nested_key"]): json.loads(item["value_json"])
                for item in items
            }
        rows.append(items)
    return rows


def test_two_runs_of_one_process_stay_apart(tmp_path: Path, connections: list[str]) -> None:
    first, second = _logger(tmp_path, "first", group="sweep"), _logger(tmp_path, "second")
    picture = tmp_path / "a.png"
    picture.write_bytes(PICTURE)
    for step in (1, 2):
        first.log_metrics({"train/loss": 1.0 / step}, step=step)
        second.log_metrics({"train/loss": 2.0}, step=step)
    first.log_metrics({"val/bleu": 3.0}, step=2)
    first.log_metrics({}, step=3)
    log_image([first], "val/alignments", picture, step=2)
    log_table([first], "val/samples", ["source"], [["a"], ["b"]], step=2)
    first.log_hyperparams({"attention": "dot"})
    first.finish(exit_code=0)
    second.finish(exit_code=1)

    records = _records(tmp_path, str(first._id))
    (run,) = _of(records, "run")
    assert (run["run_id"], run["display_name"], run["run_group"]) == (first._id, "first", "sweep")
    rows = _history(records)
    assert [row["trainer/global_step"] for row in rows] == [1, 2, 2, 2, 2], "nothing dropped, nothing empty"
    assert [row["train/loss"] for row in rows if "train/loss" in row] == [1.0, 0.5]
    assert [row["val/bleu"] for row in rows if "val/bleu" in row] == [3.0]
    assert any(key.startswith("val/alignments") for key in rows[3])
    assert any(key.startswith("val/samples") for key in rows[4])
    assert [ended["exit_code"] for ended in _of(records, "exit")] == [0]

    records = _records(tmp_path, str(second._id))
    assert [row["train/loss"] for row in _history(records)] == [2.0, 2.0]
    assert [ended["exit_code"] for ended in _of(records, "exit")] == [1]
    assert not connections, "an offline run talks to nobody"


def test_settings_are_flat_tags_kept_and_summaries_the_best_also_before_a_stop(tmp_path: Path) -> None:
    logger = _logger(tmp_path, tags=["baseline", "paper"], group="scores")
    logger.log_hyperparams({"model": {"_target_": "zoo.X", "size": 3}, "paths": {"runs_dir": "/runs"}})
    metrics = MetricsFile(logger._folder / "metrics.csv")
    before = {"val/chrf": 1.0, "val/tf_loss": 0.5, "val/bleu": float("nan")}
    metrics.log_metrics(before, step=1)  # then it stopped
    for step, value in ((2, 3.0), (3, 9.0), (4, 5.0)):
        for one in (metrics, logger):
            values = {"val/chrf": value, "val/tf_loss": value, "train/loss": value, "val/saturation": value}
            one.log_metrics(values, step=step)
    logger.finish(exit_code=0)
    whole = _whole(tmp_path, logger)
    assert whole["config"] == {"model": "X", "model/size": 3}
    assert whole["tags"] == ["scores", "baseline", "paper"], "the group is one, for leet's filter"
    summary = whole["summary"]
    assert summary["val/chrf"] == {"max": 9.0}
    assert summary["val/tf_loss"] == {"min": 0.5}, "before the stop"
    assert summary["train/loss"] == summary["val/saturation"] == 5.0, "neither way is better"
    assert "val/bleu" not in summary
    defined = {
        one["name"]: one for one in _of(_records(tmp_path, str(logger._id)), "metric") if "name" in one
    }
    assert defined["val/chrf"]["summary"] == {"max": True}, "also of a run that is killed"
    assert defined["val/tf_loss"]["step_metric"] == "trainer/global_step"


@pytest.mark.parametrize("exit_code", [0, 1])
def test_the_best_checkpoint_of_a_finished_run_becomes_an_artifact(tmp_path: Path, exit_code: int) -> None:
    logger = _logger(tmp_path, log_model=True)
    best = make_run(logger._folder) / "checkpoints" / "best.ckpt"
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.finish(exit_code=exit_code)
    found = _of(_records(tmp_path, str(logger._id)), "artifact")
    if exit_code:
        assert not found
        return
    (artifact,) = found
    assert (artifact["type"], artifact["name"]) == ("model", f"model-{logger._id}")
    assert "best" in artifact["aliases"]
    assert json.loads(artifact["metadata"]) == {"step": 7, "val/bleu": 12.5}
    (content,) = artifact["manifest"]["contents"]
    assert (content["path"], content["local_path"]) == ("best.ckpt", str(best)), "it is not copied"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # W&B leaves that file open
def test_a_run_that_an_agent_started_is_the_one_that_the_server_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = tmp_path / "drawn.yaml"
    drawn.write_text("optimizer.lr:\n  value: 0.5\nwandb_version: 1\n")
    monkeypatch.setenv("WANDB_SWEEP_ID", "sweep123")
    monkeypatch.setenv("WANDB_RUN_ID", "drawn123")
    monkeypatch.setenv("WANDB_SWEEP_PARAM_PATH", str(drawn))
    logger = _logger(tmp_path)
    logger.log_hyperparams({"optimizer": {"lr": 0.5}})
    logger.log_metrics({"val/chrf": 1.0}, step=1)
    assert logger.version == "drawn123"
    logger.finish(exit_code=0)
    records = _records(tmp_path, "drawn123")
    (run,) = _of(records, "run")
    assert (run["run_id"], run["sweep_id"]) == ("drawn123", "sweep123")
    whole = json.loads(_inspect(tmp_path, "drawn123", "--summary"))
    assert whole["config"] == {"optimizer.lr": 0.5, "optimizer/lr": 0.5}
    assert [row["val/chrf"] for row in _history(records)] == [1.0]
    monkeypatch.delenv("WANDB_SWEEP_ID")
    monkeypatch.delenv("WANDB_RUN_ID")
    monkeypatch.delenv("WANDB_SWEEP_PARAM_PATH")
    resumed = WandbLogger(folder=logger._folder, wandb_dir=tmp_path / "common", project="zoo", name="run")
    assert resumed.version == "drawn123", "one run at the server, also without the agent"
    resumed.finish(exit_code=0)


def test_a_tag_that_wandb_does_not_take(tmp_path: Path) -> None:
    for tag in ("", "x" * 65):
        with pytest.raises(ValueError, match=r"tags must have 1 to 64 characters, got '"):
            _logger(tmp_path, tags=[tag])
    assert _logger(tmp_path, group="x" * 100)._wandb_init["tags"] == ["x" * 64]


def test_a_run_whose_files_are_damaged_is_ended_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = _logger(tmp_path)
    logger.log_metrics({"train/loss": 1.0}, step=1)
    (logger._folder / "metrics.csv").write_text("nonsense")
    with caplog.at_level(logging.WARNING):
        logger.finish(exit_code=0)
    (said,) = _said(caplog)
    assert "does not begin with step,name,value" in said
    assert _whole(tmp_path, logger)["exit_code"] == 0


def test_the_id_is_that_of_the_folder(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, "run")
    logger = WandbLogger(folder=folder, wandb_dir=tmp_path, project="zoo", name="run")
    assert logger.version == short_id(folder)


def test_nothing_happens_before_the_first_use(tmp_path: Path) -> None:
    _logger(tmp_path).finish(exit_code=0)
    assert not (tmp_path / "common").exists()


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_server_that_does_not_answer_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{_closed_port()}")
    logger = _logger(tmp_path, timeout=1.0)
    segments = tmp_path / "common" / "wandb"
    earlier = segments / f"run-20260101_000000-{logger._id}"  # online, before the run was resumed
    earlier.mkdir(parents=True)
    with caplog.at_level(logging.WARNING, logger=wandb.__name__):
        logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.finish(exit_code=0)
    assert "cannot be reached, the run is logged offline" in caplog.text
    records = _records(tmp_path, str(logger._id))
    assert [row["train/loss"] for row in _history(records)] == [1.0]
    assert [ended["exit_code"] for ended in _of(records, "exit")] == [0]
    assert list(segments.glob("run-*")) == [earlier], "no empty run of the failed attempt"


def test_offline_runs_send_no_crash_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.delenv("WANDB_ERROR_REPORTING")
    logger = _logger(tmp_path)
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.finish(exit_code=0)
    assert os.environ["WANDB_ERROR_REPORTING"] == "false"


@pytest.mark.parametrize(
    ("said", "key", "expected"),
    [
        (None, False, "offline"),
        (None, True, "online"),
        ("online", False, "offline"),
        ("offline", True, "offline"),
        ("dryrun", True, "offline"),
        ("Offline", True, "offline"),
        ("disabled", True, "disabled"),
    ],
)
def test_online_only_for_who_is_logged_in_and_wants_it(
    monkeypatch: pytest.MonkeyPatch, said: str | None, key: bool, expected: str
) -> None:
    if said:
        monkeypatch.setenv("WANDB_MODE", said)
    if key:
        monkeypatch.setenv("WANDB_API_KEY", KEY)
    assert wandb.mode() == expected


def test_a_key_may_lie_in_other_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    login = f"machine api.wandb.ai login user password {KEY}\n"
    (tmp_path / ".netrc").write_text("no such\nthing")
    assert wandb.mode() == "offline"
    (tmp_path / "_netrc").write_text(login)
    assert wandb.mode() == "online"
    monkeypatch.setenv("NETRC", str(tmp_path / "elsewhere"))
    assert wandb.mode() == "offline"
    (tmp_path / "elsewhere").write_text(login)
    assert wandb.mode() == "online"


class FakeWandb:
    """Notes the path of every call, such as `wandb.init().log`, and fails at one of them."""

    id = "drawn123"

    def __init__(self, calls: set[str], fails: str | None = None, path: str = "wandb") -> None:
        self._calls, self._fails, self._path = calls, fails, path

    def __getattr__(self, name: str) -> "FakeWandb":
        return FakeWandb(self._calls, self._fails, f"{self._path}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> "FakeWandb":
        self._calls.add(self._path)
        if self._path == self._fails:
            raise ConnectionError(f"{self._path} fails\nand says more")
        return FakeWandb(self._calls, self._fails, f"{self._path}()")


def _whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeWandb) -> None:
    logger = _logger(tmp_path, log_model=True)
    make_run(logger._folder)
    picture = tmp_path / "a.png"
    picture.write_bytes(PICTURE)
    loggers = [MetricsFile(logger._folder / "metrics.csv"), logger]
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "wandb", fake)
        logger.log_hyperparams({"attention": "dot"})
        for step in (1, 2):
            for one in loggers:
                one.log_metrics({"val/bleu": 1.0}, step=step)
            log_image(loggers, "val/alignments", picture, step)
            log_table(loggers, "val/samples", ["source"], [["a"]], step)
            logger.save()
        logger.finalize("success")
        _ = logger.experiment.anything("a callback may use it as it likes")
        wandb.finish(loggers, exit_code=0)


def test_a_wandb_that_fails_at_any_of_its_calls_costs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: set[str] = set()
    _whole_run(tmp_path, monkeypatch, FakeWandb(calls))
    assert not _said(caplog)
    methods = {path.rpartition(".")[2] for path in calls}
    expected = {"init", "define_metric", "update", "log", "Image", "Table", "Artifact", "log_artifact"}
    assert expected | {"finish"} <= methods
    for path in sorted(calls - {"wandb.init().anything"}):  # that is a callback's own affair
        caplog.clear()
        _whole_run(tmp_path, monkeypatch, FakeWandb(set(), fails=path))
        assert [record.levelname for record in caplog.records] == ["WARNING"], path
        assert caplog.messages[0].endswith(f"metrics.csv has all of it: ConnectionError: {path} fails")


def test_a_wandb_that_cannot_start_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    calls: set[str] = set()
    _whole_run(tmp_path, monkeypatch, FakeWandb(calls, fails="wandb.init"))
    assert calls == {"wandb.Settings", "wandb.init", "wandb.teardown"}
    online, offline = caplog.messages
    assert "logged offline" in online
    assert offline.startswith("W&B shows nothing of this run")


def test_a_folder_that_cannot_be_made_and_a_service_that_died_cost_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = _logger(tmp_path)
    (tmp_path / "common").write_text("in the way")
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.finish(exit_code=0)
    (said,) = _said(caplog)
    assert "File exists" in said
    (tmp_path / "common").unlink()
    caplog.clear()

    logger = _logger(tmp_path)
    logger.log_metrics({"train/loss": 1.0}, step=1)
    for process in _services():
        process.kill()
        process.wait()
    for step in (2, 3):
        logger.log_metrics({"train/loss": 1.0}, step=step)
    logger.finish(exit_code=0)
    assert len(_said(caplog)) == 1
    logger = _logger(tmp_path)
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.finish(exit_code=0)
    assert [row["train/loss"] for row in _history(_records(tmp_path, str(logger._id)))] == [1.0]


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Of ours; W&B logs, too."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("zoo.")]


def _services() -> list[subprocess.Popen[bytes]]:
    """W&B's processes that this one started."""
    processes = [one for one in gc.get_objects() if type(one) is subprocess.Popen]
    found = [one for one in processes if "wandb-core" in str(one.args) and one.poll() is None]
    assert found
    return found


def test_names_longer_than_the_server_takes_are_cut(tmp_path: Path) -> None:
    logger = WandbLogger(folder=tmp_path, wandb_dir=tmp_path, project="zoo", name="n" * 300, group="g" * 300)
    assert (logger._wandb_init["name"], logger._wandb_init["group"]) == ("n" * 128, "g" * 128)


@pytest.mark.parametrize(
    ("project", "nearest"),
    [("team/abc", "did you mean abc?"), ("my:proj", "did you mean my-proj?"), ("p" * 140, "p" * 128 + "?")],
)
def test_a_project_that_wandb_does_not_have(tmp_path: Path, project: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=r"^project must be as W&B takes it") as caught:
        WandbLogger(folder=tmp_path, wandb_dir=tmp_path, project=project, name="run")
    assert nearest in str(caught.value)


def test_a_key_in_netrc_is_a_login_at_its_own_host_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text(f"machine wandb.example.org login user password {KEY}\n")
    assert wandb.mode() == "offline"
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    assert wandb.mode() == "online"
