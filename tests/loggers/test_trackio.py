"""Trackio: curves, pictures, tables and settings in one file of all runs; a resumed run goes on."""

import importlib.util
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from zoo.cli.app import main
from zoo.core import extras
from zoo.loggers.trackio import TrackioLogger
from zoo.runs.watching import NothingToWatch, trackio_data

installed = pytest.mark.skipif(importlib.util.find_spec("trackio") is None, reason="needs the extra trackio")


def logger_of(runs: Path, name: str = "12-00-00_run_11111111") -> TrackioLogger:
    (runs / name).mkdir(parents=True, exist_ok=True)
    return TrackioLogger(folder=runs / name, trackio_dir=runs / "trackio", project="zoo", group="scores")


def rows(runs: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(runs / "trackio" / "zoo.db") as data:
        return data.execute(query).fetchall()


@installed
def test_all_runs_write_into_one_file_and_a_resumed_one_goes_on(tmp_path: Path) -> None:
    for name, parts in (("12-00-00_run_11111111", ((1, 2), (3,))), ("13-00-00_run_22222222", ((1,),))):
        for steps in parts:
            logger = logger_of(tmp_path, name)
            logger.log_hyperparams(
                {"attention": {"_target_": "zoo.attention.General"}, "optimizer": {"lr": 0.5}}
            )
            for step in steps:
                logger.log_metrics({"train/loss": 1.0 / step}, step=step)
            Image.new("RGB", (30, 20), (10, 200, 30)).save(tmp_path / "a.png")
            logger.log_image("alignments", [str(tmp_path / "a.png")], step=steps[-1])
            logger.log_table("val/samples", ["source", "<b>"], [["a", "b"]], step=steps[-1])
            logger.finalize("success")
            assert not logger.failed
    logged = [
        (name, step, json.loads(values))
        for name, step, values in rows(tmp_path, "select run_name, step, metrics from metrics order by id")
    ]
    losses = [
        (name[:2], step, values["train/loss"]) for name, step, values in logged if "train/loss" in values
    ]
    assert losses == [("12", 1, 1.0), ("12", 2, 0.5), ("12", 3, pytest.approx(1 / 3)), ("13", 1, 1.0)]
    assert sum("alignments" in values for _, _, values in logged) == 3
    assert sum("val/samples" in values for _, _, values in logged) == 3
    settings = [json.loads(config) for (config,) in rows(tmp_path, "select config from configs")]
    assert [one["attention"] for one in settings] == ["General", "General"]
    assert [one["_Group"] for one in settings] == ["scores", "scores"]
    assert trackio_data(tmp_path / "13-00-00_run_22222222") == tmp_path / "trackio"


@installed
def test_an_error_of_the_dashboard_does_not_end_the_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logger_of(tmp_path)
    (tmp_path / "trackio").write_text("a file where the folder should be")
    for step in (1, 2):
        logger.log_metrics({"train/loss": 1.0}, step=step)
    logger.finalize("success")
    assert [
        record.message for record in caplog.records if "Trackio shows nothing of this run" in record.message
    ]


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NothingToWatch, match="train with logger=trackio"):
        trackio_data(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'attention-zoo\[trackio\]'"):
        logger_of(tmp_path)
    watched = CliRunner().invoke(main, ["watch", str(tmp_path), "--trackio"])
    assert watched.exit_code == 2
    assert "pip install 'attention-zoo[trackio]'" in watched.stderr
