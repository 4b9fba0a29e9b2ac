"""TensorBoard's event files: curves, pictures, tables and settings; nothing doubled by a resumed run."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from zoo.core import extras
from zoo.core.metrics_csv import rewind
from zoo.loggers import tensorboard
from zoo.loggers.metrics_file import MetricsFile
from zoo.loggers.tensorboard import TensorBoardLogger
from zoo.runs.resume import discard_progress
from zoo.training.callbacks.media import log_image, log_table

installed = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None, reason="needs the extra tensorboard"
)
# TensorBoard 2.21 with newer versions of what it builds on
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def _read(run: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / tensorboard.FOLDER), size_guidance={})
    return events.Reload()


def _curve(run: Path, name: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in _read(run).Scalars(name)]


@installed
def test_curves_pictures_tables_and_settings(tmp_path: Path) -> None:
    logger = TensorBoardLogger(folder=tmp_path)
    config = {
        "attention": {"_target_": "zoo.attention.General"},
        "optimizer": {"lr": 0.5},
        "task": {"monitor": "val/chrf"},
        "paths": {"runs_dir": "/runs"},
    }
    logger.log_hyperparams(config)
    assert logger.experiment  # Lightning asks for it before a fit
    logger.log_metrics({}, step=1)
    logger.log_metrics({"train/loss": 2.0}, step=1)
    logger.log_metrics({"train/loss": 1.0, "val/chrf": 30.0}, step=2)
    Image.new("RGB", (30, 20), (10, 200, 30)).save(tmp_path / "a.png")
    log_image([logger], "val/alignments", tmp_path / "a.png", step=2)
    log_table([logger], "val/samples", ["source", "prediction"], [["a|b", "c\nd"]], step=2)
    logger.finalize("success")  # of the fit; the test comes behind it
    logger.log_metrics({"test/chrf": 31.0}, step=2)
    logger.finalize("success")

    assert _curve(tmp_path, "train/loss") == [(1, 2.0), (2, 1.0)]
    assert _curve(tmp_path, "test/chrf") == [(2, 31.0)]
    events = _read(tmp_path)
    (picture,) = events.Images("val/alignments")
    assert (picture.step, picture.width, picture.height) == (2, 30, 20)
    (table,) = events.Tensors("val/samples/text_summary")
    assert table.tensor_proto.string_val[0].decode().splitlines() == [
        "| source | prediction |",
        "| --- | --- |",
        "| a\\|b | c d |",
    ]
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2

    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    assert metadata.PLUGIN_NAME == "hparams"
    settings = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert {key: value.string_value or value.number_value for key, value in settings.items()} == {
        "attention": "General",
        "optimizer/lr": 0.5,
        "task/monitor": "val/chrf",
    }
    assert not list(tmp_path.rglob("hparams.yaml")), "config.yaml is the record"


@installed
def test_a_resumed_run_has_every_step_once(tmp_path: Path) -> None:
    """Stopped behind step 3, with a checkpoint of step 2, made before the validation of that step."""
    path = tmp_path / "metrics.csv"
    kept = 0
    for part in ("stopped", "resumed"):
        logger, metrics = TensorBoardLogger(folder=tmp_path), MetricsFile(path)
        both = (metrics, logger)
        assert logger.experiment  # Lightning asks for it before a fit
        if part == "stopped":
            for one in both:
                one.log_metrics({"train/loss": 1.0}, step=1)
                one.log_metrics({"train/loss": 2.0}, step=2)
            kept = path.stat().st_size
        else:
            rewind(path, kept)
        for one in both:
            one.log_metrics({"val/chrf": 20.0}, step=2)
            one.log_metrics({"train/loss": 3.0}, step=3)
        logger.finalize("success")
    assert _curve(tmp_path, "train/loss") == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert _curve(tmp_path, "val/chrf") == [(2, 20.0)]

    discard_progress(tmp_path)
    assert not (tmp_path / tensorboard.FOLDER).exists(), "a run that begins anew has no past"


def test_without_tensorboard_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"not installed: pip install 'attention-zoo\[tensorboard\]'"):
        TensorBoardLogger(folder=tmp_path)


@installed
@pytest.mark.parametrize("lost", ["at once", "while it runs"])
def test_event_files_that_cannot_be_written_cost_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    logger = TensorBoardLogger(folder=tmp_path)
    if lost == "at once":
        (tmp_path / tensorboard.FOLDER).write_text("in the way")
        assert logger.experiment  # Lightning asks for it before a fit
    else:

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        for name in ("flush", "close", "add_scalar", "add_image", "add_text"):
            monkeypatch.setattr(logger.experiment, name, full)
    Image.new("RGB", (3, 2)).save(tmp_path / "a.png")
    logger.log_hyperparams({})
    for step in (1, 2):
        logger.log_metrics({"train/loss": 2.0}, step=step)
        log_image([logger], "val/alignments", tmp_path / "a.png", step=step)
        log_table([logger], "val/samples", ["source"], [["a"]], step=step)
    logger.save()
    logger.finalize("success")
    (said,) = [record.getMessage() for record in caplog.records if record.name.startswith("zoo.")]
    assert "TensorBoard " in said
    monkeypatch.undo()
    if lost != "at once":
        logger.finalize("success")
