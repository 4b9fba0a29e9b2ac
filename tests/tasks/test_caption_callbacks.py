"""Sheets of captions and tables of them: of the same few images every time, on a budget."""

from pathlib import Path
from typing import Any, NamedTuple

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from fake_task import FakeTask, Fit
from lightning.pytorch import Callback
from lightning.pytorch.loggers import WandbLogger
from torch import Tensor

from zoo.core.batch import Padded
from zoo.tasks.captioning import caption_figures as module
from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.captioning.caption_figures import CaptionFigures
from zoo.tasks.captioning.caption_table import CaptionTable
from zoo.tasks.translation.batch import TranslationBatch


class Caption(NamedTuple):
    text: str
    finished: bool
    tokens: list[str]
    weights: Tensor | None


class Captions(FakeTask):
    """Writes the level of an image, and looks at its upper left corner."""

    def _predict(self, split: str, batch: TranslationBatch) -> None:
        super()._predict(split, batch)
        for item in self.predictions[split][-len(batch.index) :]:
            item |= {"input": f"{item['id']:02}.jpg", "references": ["a $1 note", "money", *"34567"]}

    def caption(self, images: Tensor) -> list[list[Caption]]:
        weights = torch.tensor([[[0.75, 0.25]]] * 3) if self.attention else None
        words = [[f"{100 * float(image.mean()):.0f}", "percent"] for image in images]
        return [
            [Caption(" ".join(said), True, [*said, "</s>"], weights), Caption("no", False, ["no"], None)]
            for said in words
        ]


class Images(pl.LightningDataModule):
    """Image i has the level i per cent."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, list[int]]] = []

    def batch(self, split: str, numbers: list[int]) -> CaptionBatch:
        self.asked.append((split, numbers))
        images = torch.tensor(numbers)[:, None, None, None].expand(-1, 3, 4, 6) / 100
        none = Padded(torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
        return CaptionBatch(torch.tensor(numbers), images, None, none, [], [])


class Beside(Callback):
    """Puts a data module where callbacks look for it."""

    def __init__(self, data: pl.LightningDataModule) -> None:
        self._data = data

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        trainer.datamodule = self._data  # type: ignore[attr-defined]


class Recorder(WandbLogger):
    """Stands where W&B would, and notes what it is given."""

    def __init__(self) -> None:
        super().__init__(offline=True)
        self.images: list[tuple[str, str, int | None]] = []
        self.tables: list[tuple[str, Any, Any, int | None]] = []

    @property
    def experiment(self) -> Any:
        return None

    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        pass

    def log_image(self, key: str, images: list[Any], step: int | None = None, **_: Any) -> None:
        self.images.append((key, Path(images[0]).name, step))

    def log_table(
        self, key: str, columns: Any = None, data: Any = None, step: int | None = None, **_: Any
    ) -> None:
        self.tables.append((key, columns, data, step))


def test_the_same_images_on_one_sheet_each_time(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheets = []
    sheet = module.caption_sheet

    def watched(drawn: Any, title: str) -> Any:
        sheets.append((title, drawn))
        return sheet(drawn, title=title)

    monkeypatch.setattr(module, "caption_sheet", watched)
    logger, images = Recorder(), Images()
    figures = CaptionFigures(folder=tmp_path, images=3, every_n_validations=2)
    fit(Captions(), [Beside(images), figures], [logger], test=True, max_epochs=4, num_sanity_val_steps=1)
    files = ["captions_step0000008.png", "captions_step0000016.png", "captions_test.png"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == files
    assert all((tmp_path / "figures" / file).read_bytes().startswith(b"\x89PNG") for file in files)
    steps = [("val", 8), ("val", 16), ("test", 16)]
    assert logger.images == [
        (f"{split}/captions", file, step) for (split, step), file in zip(steps, files, strict=True)
    ]
    assert images.asked == [("val", [2, 6, 10]), ("val", [2, 6, 10]), ("test", [2, 6, 10])]
    assert [title for title, _ in sheets] == ["step0000008", "step0000016", "test"]
    (_, (first, second, _)), *_ = sheets
    assert (first.heading, second.heading) == ("02.jpg", "06.jpg")
    assert first.notes == ["prediction: 2 percent", "reference: a $1 note"]
    assert second.words == ["6", "percent"], "what was drawn is what was written of it, without </s>"
    np.testing.assert_allclose(second.image, np.full((3, 4, 6), 0.06), rtol=1e-6)
    assert second.weights.shape == (2, 1, 2)


def test_without_attention_there_is_no_figure(fit: Fit, tmp_path: Path) -> None:
    figures = CaptionFigures(folder=tmp_path, every_n_validations=1)
    fit(Captions(attention=False), [Beside(Images()), figures], test=True)
    assert not (tmp_path / "figures").exists()


def test_captions_are_written_and_shown(fit: Fit, tmp_path: Path) -> None:
    logger = Recorder()
    table = CaptionTable(folder=tmp_path, images=2, every_n_validations=2)
    fit(Captions(), [table], [logger], num_sanity_val_steps=1)
    rows = [
        [f"{number:02}.jpg", "a $1 note | money | 3 | 4 | 5", "<" + text + ">"] for number, text in _shown()
    ]
    assert logger.tables == [("val/samples", ["image", "reference", "prediction"], rows, 8)]
    lines = ["step 8"]
    for name, _, prediction in rows:
        lines += [f"  image       {name}", "  reference   a $1 note", "  reference   money"]
        lines += [f"  reference   {number}" for number in (3, 4, 5)]
        lines += [f"  prediction  {prediction}", ""]
    assert (tmp_path / "samples.txt").read_text().splitlines() == lines


def _shown() -> list[tuple[int, str]]:
    """The two of twelve, and what the task says of them."""
    return [(number, f"{'word ' * (number % 6)}{number}") for number in (3, 9)]
