"""Alignment sheets and sample tables: the same few sentences every time, on a budget, any loggers."""

from pathlib import Path
from typing import Any

import pytest
from fake_task import SENTENCES, FakeTask, Fit
from lightning.pytorch.loggers import WandbLogger

from zoo.loggers.metrics_file import MetricsFile
from zoo.tasks.captioning.caption_figures import CaptionFigures
from zoo.tasks.captioning.caption_table import CaptionTable
from zoo.tasks.recognition.glimpse_figures import GlimpseFigures
from zoo.tasks.tracking.game_figures import GameFigures
from zoo.tasks.translation.alignment_figures import AlignmentFigures
from zoo.tasks.translation.sample_table import SampleTable
from zoo.training.callbacks.fixed import fixed_predictions


class _Recorder(WandbLogger):
    """Stands where W&B would, and notes what it is given."""

    def __init__(self) -> None:
        super().__init__(offline=True)
        self.images: list[tuple[str, list[Any], int | None]] = []
        self.tables: list[tuple[str, Any, int | None]] = []

    @property
    def experiment(self) -> Any:
        return None

    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        pass

    def log_image(self, key: str, images: list[Any], step: int | None = None, **_: Any) -> None:
        self.images.append((key, images, step))

    def log_table(self, key: str, *_: Any, data: Any = None, step: int | None = None, **__: Any) -> None:
        self.tables.append((key, data, step))


def test_one_sheet_per_event(fit: Fit, tmp_path: Path) -> None:
    logger, task = _Recorder(), FakeTask()
    figures = AlignmentFigures(folder=tmp_path, sentences=3, every_n_validations=2)
    fit(task, [figures], [logger, MetricsFile(tmp_path / "metrics.csv")], test=True, max_epochs=5)
    files = sorted(path.name for path in (tmp_path / "figures").glob("*.png"))
    assert files == ["alignments_step0000008.png", "alignments_step0000016.png", "alignments_test.png"]
    assert [path.name for path in (tmp_path / "figures").glob("*.json")] == ["alignments_test.json"]
    assert logger.images == [
        ("val/alignments", [str(tmp_path / "figures" / files[0])], 8),
        ("val/alignments", [str(tmp_path / "figures" / files[1])], 16),
        ("test/alignments", [str(tmp_path / "figures" / files[2])], 20),
    ]
    assert all((tmp_path / "figures" / file).read_bytes().startswith(b"\x89PNG") for file in files)
    assert len(task.translated[0]) == 3
    assert task.translated[0] == task.translated[1]


def test_no_logger_still_gives_files(fit: Fit, tmp_path: Path) -> None:
    fit(FakeTask(), [AlignmentFigures(folder=tmp_path, every_n_validations=1)])
    assert len(list((tmp_path / "figures").iterdir())) == 2


def test_without_attention_there_is_no_figure(fit: Fit, tmp_path: Path) -> None:
    fit(FakeTask(attention=False), [AlignmentFigures(folder=tmp_path, every_n_validations=1)], test=True)
    assert not (tmp_path / "figures").exists()


def test_all_heads_of_the_first_sentences_alone(fit: Fit, tmp_path: Path) -> None:
    logger, task = _Recorder(), FakeTask(heads=True)
    figures = AlignmentFigures(folder=tmp_path, sentences=3, head_grids=2, every_n_validations=2)
    fit(task, [figures], [logger], test=True)
    names = ["alignments", "heads_cross_sentence1", "heads_cross_sentence2"]
    files = [f"{name}_{when}.png" for when in ("step0000008", "test") for name in names]
    assert sorted(path.name for path in (tmp_path / "figures").glob("*.png")) == sorted(files)
    shown = [(key, Path(image).name, step) for key, (image,), step in logger.images]
    keys = [f"{split}/{name}" for split in ("val", "test") for name in names]
    assert shown == [(key, file, 8) for key, file in zip(keys, files, strict=True)]
    assert task.mapped == [texts[:2] for texts in task.translated], "one pass for all of them"


def test_head_grids_may_be_left_out(fit: Fit, tmp_path: Path) -> None:
    fit(FakeTask(heads=True), [AlignmentFigures(folder=tmp_path, head_grids=0, every_n_validations=2)])
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["alignments_step0000008.png"]
    for number in (-1, 4):
        with pytest.raises(ValueError, match=f"head_grids must be from 0 to sentences=3, got {number}"):
            AlignmentFigures(folder=tmp_path, sentences=3, head_grids=number)


def test_an_untrained_model_is_not_drawn(fit: Fit, tmp_path: Path) -> None:
    callbacks = [AlignmentFigures(folder=tmp_path, every_n_validations=1), SampleTable(folder=tmp_path)]
    fit(FakeTask(), callbacks, num_sanity_val_steps=1, max_epochs=1)
    assert len(list((tmp_path / "figures").iterdir())) == 1
    assert (tmp_path / "samples.txt").read_text().count("step ") == 1


def test_samples_are_written_and_shown(fit: Fit, tmp_path: Path) -> None:
    logger = _Recorder()
    fit(
        FakeTask(), [SampleTable(folder=tmp_path, sentences=2, every_n_validations=2)], [logger], max_epochs=4
    )
    shown = [SENTENCES[number] for number in _middles(2)]
    rows = [[text, text.upper(), f"<{text}>"] for text in shown]
    assert logger.tables == [("val/samples", rows, 8), ("val/samples", rows, 16)]
    text = (tmp_path / "samples.txt").read_text()
    block = "".join(f"  source      {a}\n  reference   {b}\n  prediction  {c}\n\n" for a, b, c in rows)
    assert text == f"step 8\n{block}step 16\n{block}"


def _middles(number: int) -> list[int]:
    ranked = sorted(range(12), key=lambda place: (len(SENTENCES[place]), place))
    return [ranked[(2 * part + 1) * 12 // (2 * number)] for part in range(number)]


def test_short_and_long_sentences_are_chosen() -> None:
    task = FakeTask()
    task.predictions["val"] = [{"id": n, "input": text} for n, text in enumerate(SENTENCES)]
    chosen = [item["input"] for item in fixed_predictions(task, "val", 4)]
    assert sorted(chosen, key=len) == chosen
    assert len(chosen[-1]) > 3 * len(chosen[0])
    assert (
        len(fixed_predictions(task, "val", 8))
        == len({i["id"] for i in fixed_predictions(task, "val", 8)})
        == 8
    )
    task.predictions["val"] = task.predictions["val"][:2]
    assert len(fixed_predictions(task, "val", 8)) == 2
    assert fixed_predictions(task, "test", 8) == []


@pytest.mark.parametrize(
    ("callback", "setting"),
    [
        (AlignmentFigures, "sentences"),
        (SampleTable, "sentences"),
        (CaptionFigures, "images"),
        (CaptionTable, "images"),
        (GlimpseFigures, "images"),
        (GameFigures, "games"),
    ],
)
def test_the_budget_cannot_be_exceeded(callback: Any, setting: str, tmp_path: Path) -> None:
    for number in (0, 9):
        with pytest.raises(ValueError, match=f"{setting} must be from 1 to 8, got {number}"):
            callback(folder=tmp_path, **{setting: number})
    with pytest.raises(ValueError, match="every_n_validations must be at least 1, got 0"):
        callback(folder=tmp_path, every_n_validations=0)
