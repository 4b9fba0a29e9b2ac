"""Trainings of a few steps of every model on small data that needs no file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from devices import DEVICE
from lightning.pytorch import Callback
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from data.core.batching import Batches, Layout, Part, TokenBatches
from data.core.data_module import DataModule
from data.text.vocabulary import Characters
from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec, text_spec
from zoo.tasks.translation.batch import TranslationBatch
from zoo.training.callbacks import (
    DivergenceGuard,
    LastCheckpoint,
    RandomState,
    SelfDescription,
    StepAxis,
    Throughput,
)
from zoo.training.checkpoint_io import AtomicIO

CONF = Path(__file__).parents[2] / "conf"
WORDS = ["".join("abcdefgh"[(7 * row + place) % 8] for place in range(3 + row % 9)) for row in range(64)]
"""Of 3 to 11 letters; a model learns to write them backwards."""


class Words(Dataset[TranslationBatch]):
    """Words and their reverse, a letter a token."""

    def __init__(self, spec: DataSpec) -> None:
        self.codecs = TextCodec(spec.text("source")), TextCodec(spec.text("target"))
        self.sides = [codec.encode(list(texts)) for codec, texts in zip(self.codecs, _sides(), strict=True)]

    @property
    def lengths(self) -> np.ndarray:
        return np.array([[len(ids) for ids in side] for side in self.sides]).T

    def __getitem__(self, part: Part) -> TranslationBatch:
        rows = part.rows.tolist()
        source, target = ([side[row] for row in rows] for side in self.sides)
        bos = self.codecs[1].spec.bos
        return TranslationBatch(
            torch.from_numpy(part.rows.copy()),
            _padded(source),
            _padded([[bos, *ids] for ids in target]),
            [WORDS[row] for row in rows],
            [WORDS[row][::-1] for row in rows],
        )


def _sides() -> tuple[list[str], list[str]]:
    return WORDS, [word[::-1] for word in WORDS]


def _padded(rows: Sequence[Sequence[int]]) -> Padded:
    ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return Padded(ids, torch.tensor([len(row) for row in rows]))


class WordData(DataModule):
    """`Words` in every split."""

    def __init__(self) -> None:
        super().__init__(seed=1, num_workers=0, worker_timeout=0)

    def setup(self, stage: str | None = None) -> None:
        made = Characters().build(*_sides())
        source, target = (text_spec(text, maximum_length=20) for text in made)
        self._spec = DataSpec("words", {"source": source, "target": target})
        words = Words(self._spec)
        self._splits = dict.fromkeys(("train", "val", "test"), words)
        self._sizes = words.lengths

    def _batches(self, split: str, seed: int | None, layout: Layout) -> Batches:
        return TokenBatches(self._sizes, 150, seed=seed, layout=layout)


class Case(NamedTuple):
    """A model, its data, and what it may be asked.

    Attributes:
        line: what would be typed.
        data: what makes the data module; None: what was typed.
        asked: what to predict; None of what plays instead.
    """

    line: Sequence[str]
    data: Callable[[], DataModule] | None
    asked: Callable[[Path], list[Any]] | None


def _pictures(mode: str, size: int) -> Callable[[Path], list[Any]]:
    def draw(folder: Path) -> list[Any]:
        from PIL import Image

        pixels = np.random.default_rng(1).integers(0, 256, (3, size, size, 3), dtype=np.uint8)
        paths = [folder / f"{number}.png" for number in range(3)]
        for path, picture in zip(paths, pixels, strict=True):
            Image.fromarray(picture).convert(mode).save(path)
        return [str(path) for path in paths]

    return draw


def _words(_: Path) -> list[Any]:
    return WORDS[:5]


_SCENES = ("data.captions.train=128", "data.captions.validation=8", "data.captions.test=8")
CASES = {
    "luong": Case(["experiment=reverse", "model.decoder.input_feeding=true"], WordData, _words),
    "bahdanau": Case(["experiment=dates_bahdanau"], WordData, _words),
    "hard": Case(["experiment=reverse", "selection=hard"], WordData, _words),
    "transformer": Case(["experiment=reverse_transformer"], WordData, _words),
    "captions": Case(["experiment=shapes_soft", *_SCENES], None, _pictures("RGB", 40)),
    "hard captions": Case(["experiment=shapes_hard", *_SCENES], None, _pictures("RGB", 40)),
    "glimpses": Case(["experiment=ram_digits"], None, _pictures("L", 8)),
    "games": Case(["experiment=ram_tracking", "data.validation_games=8", "data.test_games=8"], None, None),
}


class Losses(Callback):
    """Keeps every step's loss where it is."""

    def __init__(self) -> None:
        self.found: list[torch.Tensor] = []

    def on_train_batch_end(self, trainer: pl.Trainer, task: Any, *_: object) -> None:
        self.found.append(task.terms["loss"].clone())


def fit(
    case: Case,
    folder: Path,
    *,
    steps: int,
    precision: str = "32-true",
    resumed: Path | None = None,
    more: Sequence[Callback] = (),
    saved_every: int | None = 2,
) -> list[float]:
    """Trains and gives the losses; saves `checkpoints/last.ckpt` between steps, and at the end."""
    resolvers.register()
    places = [f"paths.runs_dir={folder}", f"paths.cache_dir={folder}"]
    (job,) = compose_jobs(CONF, [*case.line, *places], False)
    config = job.config
    pl.seed_everything(1, verbose=False)
    data = case.data() if case.data else instantiate(config["data"], "data")
    data.prepare_data()
    data.setup()
    network = instantiate(config["model"], "model")(spec=data.spec)
    task = instantiate(config["task"], "task")(network=network, spec=data.spec)
    losses = Losses()
    describe = SelfDescription(config=config, spec=data.spec)
    last = LastCheckpoint(folder=folder, every_n_minutes=None, every_n_steps=saved_every)
    trainer = pl.Trainer(
        accelerator="gpu" if DEVICE == "cuda" else DEVICE,
        devices=1,
        precision=precision,  # type: ignore[arg-type]
        max_steps=steps,
        gradient_clip_val=1.0,
        log_every_n_steps=1,
        limit_val_batches=1,
        val_check_interval=2,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        callbacks=[*more, StepAxis(), Throughput(), DivergenceGuard(), losses, describe, RandomState(), last],
        plugins=[AtomicIO()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        inference_mode=False,
        default_root_dir=folder,
    )
    trainer.fit(task, datamodule=data, ckpt_path=resumed, weights_only=True)
    return [float(loss) for loss in losses.found]
