"""Sheets of glimpses: when they are drawn, of which images, and for whom there are none."""

import math
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.loggers import Logger, WandbLogger
from torch import nn

from data.images.image_set import ImageSet, LabelledImages, Split, numbered
from data.images.images import ImageData
from zoo.attention import LearnedBaseline, LearnedPolicy, RandomPolicy
from zoo.core.spec import DataSpec
from zoo.loggers.metrics_file import MetricsFile
from zoo.networks.image_classifiers import FullyConnected
from zoo.networks.ram import RecurrentAttentionModel
from zoo.networks.recurrent import Rectified
from zoo.tasks.recognition import glimpse_figures as module
from zoo.tasks.recognition.glimpse_figures import GlimpseFigures
from zoo.tasks.recognition.glimpse_path import GlimpsePath
from zoo.tasks.recognition.task import RecognitionTask


class _Squares(ImageSet):
    """Eight images of two classes in each split: dark ones and bright ones take turns."""

    name, size = "squares", (6, 9)

    def load(self) -> LabelledImages:
        labels = np.arange(8) % 2
        images = np.broadcast_to((labels * 200).astype(np.uint8)[:, None, None, None], (8, 1, 6, 9)).copy()
        splits = {name: Split(images, labels, numbered(name, 8)) for name in ("train", "val", "test")}
        return LabelledImages(("dark", "bright"), splits)


class _Recorder(WandbLogger):
    """Stands where W&B would, and notes what it is given."""

    def __init__(self) -> None:
        super().__init__(offline=True)
        self.images: list[tuple[str, str, int | None]] = []

    @property
    def experiment(self) -> Any:
        return None

    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        pass

    def log_image(self, key: str, images: list[Any], step: int | None = None, **_: Any) -> None:
        self.images.append((key, Path(images[0]).name, step))


Groups = dict[str, list[tuple[str, str | None]]]
"""Drawn predictions and truths by heading."""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Groups]]:
    """Titles of the sheets, and what is on them."""
    sheets: list[tuple[str, Groups]] = []
    sheet = module.glimpse_sheet

    def watched(groups: Any, title: str) -> Any:
        sheets.append((title, {h: [(p.prediction, p.label) for p in paths] for h, paths in groups.items()}))
        return sheet(groups, title=title)

    monkeypatch.setattr(module, "glimpse_sheet", watched)
    return sheets


def network(spec: DataSpec, policy: Any = None) -> nn.Module:
    sizes = {"glimpses": 2, "glimpse_size": 3, "scales": 1, "glimpse_hidden_size": 4, "hidden_size": 4}
    if policy is None:
        return FullyConnected(spec=spec, hidden_size=4)
    return RecurrentAttentionModel(
        spec=spec, policy=lambda state_size: policy(state_size), recurrent=Rectified, **sizes
    )


def learned(state_size: int) -> LearnedPolicy:
    return LearnedPolicy(state_size=state_size, std=0.1)


def fit(
    tmp_path: Path,
    policy: Any,
    callback: Callback,
    loggers: list[Logger],
    says: str | None = None,
    **how: Any,
) -> pl.Trainer:
    """Two steps an epoch and a validation behind each, then a test; `says` is all that the network says."""
    torch.manual_seed(0)
    data = ImageData(images=_Squares(), canvas=None, batch_size=4, seed=1)
    data.setup()
    built = network(data.spec, policy)
    task = RecognitionTask(
        network=built,
        spec=data.spec,
        optimizer=lambda weights: torch.optim.SGD(weights, lr=0.0),
        scheduler=None,
        episodes=1,
        reinforce={"baseline": LearnedBaseline, "weight": 1.0, "discount": 1.0},
        monitor="val/error",
    )
    last = [part for part in built.modules() if isinstance(part, nn.Linear) and part.out_features == 2][-1]
    with torch.no_grad():
        if says is not None:
            last.weight.zero_()
            last.bias.copy_(torch.tensor([says == "dark", says == "bright"]) * 5.0)
    test = how.pop("test", False)
    trainer = pl.Trainer(
        **{"max_epochs": 3, "num_sanity_val_steps": 0, **how},
        accelerator="cpu",
        callbacks=[callback],
        logger=loggers,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        log_every_n_steps=1,
        default_root_dir=tmp_path,
    )
    trainer.fit(task, datamodule=data)
    if test:
        trainer.test(task, datamodule=data, verbose=False)
    return trainer


def test_a_sheet_and_a_histogram_at_every_second_validation_and_at_test(
    tmp_path: Path, drawn: list[tuple[str, Groups]]
) -> None:
    logger, figures = _Recorder(), GlimpseFigures(folder=tmp_path, images=2, every_n_validations=2)
    loggers: list[Logger] = [logger, MetricsFile(tmp_path / "metrics.csv")]
    fit(tmp_path, learned, figures, loggers, "dark", max_epochs=5, num_sanity_val_steps=1, test=True)
    names = [f"{name}_{when}.png" for when in ("step0000004", "step0000008", "test") for name in NAMES]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(names)
    assert all((tmp_path / "figures" / name).read_bytes().startswith(b"\x89PNG") for name in names)
    keys = [f"{split}/{name}" for split in ("val", "val", "test") for name in NAMES]
    assert logger.images == list(zip(keys, names, (4, 4, 8, 8, 10, 10), strict=True))
    assert [title for title, _ in drawn] == ["step0000004", "step0000008", "test"]


NAMES = ("glimpses", "locations")


def test_the_first_images_then_right_and_wrong_ones_apart(
    tmp_path: Path, drawn: list[tuple[str, Groups]]
) -> None:
    fit(tmp_path, learned, GlimpseFigures(folder=tmp_path, images=3, every_n_validations=3), [], "bright")
    ((_, groups),) = drawn
    assert groups == {
        "the first images": [("bright", "dark"), ("bright", "bright"), ("bright", "dark")],
        "others, right": [("bright", "bright")] * 3,
        "others, wrong": [("bright", "dark")] * 2,
    }


def test_random_policies_are_drawn_under_the_right_heading(
    tmp_path: Path, drawn: list[tuple[str, Groups]]
) -> None:
    figures = GlimpseFigures(folder=tmp_path, images=4, every_n_validations=1)
    fit(tmp_path, lambda size: RandomPolicy(state_size=size), figures, [])
    assert len(drawn) == 3
    for _, groups in drawn:
        assert all(said == truth for said, truth in groups["others, right"])
        assert all(said != truth for said, truth in groups["others, wrong"])
        assert groups["others, right"] or groups["others, wrong"]


@pytest.mark.parametrize(
    ("policy", "precision"),
    [(learned, "32-true"), (lambda size: RandomPolicy(state_size=size), "bf16-mixed"), (learned, "64-true")],
)
def test_drawn_paths_equal_the_tested_ones(tmp_path: Path, watch: Any, policy: Any, precision: str) -> None:
    """In the same precision, and at the same places of what looks anywhere."""
    sheets = watch(module, "glimpse_sheet")
    figures = GlimpseFigures(folder=tmp_path, images=8, every_n_validations=9)
    trainer = fit(tmp_path, policy, figures, [], max_epochs=1, precision=precision, test=True)
    task = trainer.lightning_module
    assert isinstance(task, RecognitionTask)
    tested = task.predictions["test"]
    paths: list[GlimpsePath] = sheets[-1][0]["the first images"]
    assert [path.prediction for path in paths] == [item["prediction"] for item in tested]
    close = {"abs": 1e-6}  # by far less than bfloat16's steps
    assert [path.probability for path in paths] == pytest.approx(
        [math.exp(item["score"]) for item in tested], **close
    )
    assert [path.locations.flatten().tolist() for path in paths] == [
        pytest.approx(np.ravel(item["locations"]).tolist(), **close) for item in tested
    ]


def test_groups_of_a_perfect_model(tmp_path: Path, drawn: list[tuple[str, Groups]]) -> None:
    class Perfect(GlimpseFigures):
        """Finds only what was right, as behind a perfect model."""

        def on_validation_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
            items = pl_module.predictions["val"]
            pl_module.predictions["val"] = [
                item for item in items if item["prediction"] in item["references"]
            ]
            super().on_validation_end(trainer, pl_module)

    fit(tmp_path, learned, Perfect(folder=tmp_path, images=1, every_n_validations=3), [], "dark")
    ((_, groups),) = drawn
    right = [("dark", "dark")]
    assert groups == {"the first images": right, "others, right": right, "others, wrong": []}
    assert len(list((tmp_path / "figures").iterdir())) == 2


def test_a_model_that_sees_whole_images_has_none(tmp_path: Path, drawn: list[tuple[str, Groups]]) -> None:
    fit(tmp_path, None, GlimpseFigures(folder=tmp_path, every_n_validations=1), [], test=True)
    assert not (tmp_path / "figures").exists()
    assert drawn == []


def test_the_count_of_validations_is_resumed(tmp_path: Path, drawn: list[tuple[str, Groups]]) -> None:
    first = GlimpseFigures(folder=tmp_path, every_n_validations=4)
    fit(tmp_path, learned, first, [], max_epochs=3)
    assert drawn == []
    second = GlimpseFigures(folder=tmp_path, every_n_validations=4)
    second.load_state_dict(first.state_dict())
    fit(tmp_path, learned, second, [], max_epochs=2)
    assert [title for title, _ in drawn] == ["step0000002"], "the fourth in all is the first behind it"
