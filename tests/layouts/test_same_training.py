"""The same training on one device, on several, and in parts one after another: losses, weights, metrics."""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import lightning.pytorch as pl
import numpy as np
import pytest
from numpy.typing import NDArray
from ranks import on_ranks

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.training.callbacks import RandomState

CONF = Path(__file__).parents[2] / "conf"
STEPS = 5
Array = NDArray[np.float32]
SMALL = [
    "trainer.precision=32-true",
    "optimizer.lr=0.01",
    "scheduler.warmup_steps=1",
    "trainer.log_every_n_steps=1",
]
ROWS = [f"data.corpus.{split}={rows}" for split, rows in (("train", 200), ("validation", 13), ("test", 13))]
TRANSLATING = ["data.batch_tokens=301", "model.dropout=0.0", *ROWS]
SCENES = ["data.batch_size=13", "data.captions.train=100", "data.captions.validation=13"]
CASES = {
    "luong": ["experiment=reverse", "model.hidden_size=16", "model.embedding_size=16", *TRANSLATING],
    "hard": ["experiment=reverse", "selection=hard", "model.hidden_size=16", *TRANSLATING],
    "gumbel": ["experiment=reverse", "selection=gumbel_hard", "model.hidden_size=16", *TRANSLATING],
    "transformer": ["experiment=reverse_transformer", "task.label_smoothing=0.1", *TRANSLATING],
    "hard heads": ["experiment=reverse_transformer", "selection=gumbel_hard", *TRANSLATING],
    "captions": ["experiment=shapes_soft", *SCENES],
    "hard captions": ["experiment=shapes_hard", *SCENES],
    # In double precision: in single, some of its gradients round by more than what is compared here.
    "ram": ["experiment=ram_digits", "data.batch_size=13", "task.episodes=2", "trainer.precision=64-true"],
    "fully connected": ["experiment=fc_mnist", "data=digits", "data.batch_size=13"],
    "tracking": ["experiment=ram_tracking", "data.batch_size=13", "data.validation_games=13"],
}


class Outcome(NamedTuple):
    """What a training came to: the first step's gradients, each step's loss, the weights, a validation."""

    losses: list[float]
    gradients: dict[str, Array]
    weights: dict[str, Array]
    metrics: dict[str, float]
    predictions: list[Any]


class _Watch(pl.Callback):
    def __init__(self) -> None:
        self.losses: list[float] = []
        self.gradients: dict[str, Array] = {}

    def on_before_optimizer_step(self, trainer: pl.Trainer, task: Any, *_: object) -> None:
        if not self.gradients:
            weights = [(name, weight.grad) for name, weight in task.named_parameters()]
            self.gradients = {name: grad.numpy().copy() for name, grad in weights if grad is not None}

    def on_train_batch_end(self, trainer: pl.Trainer, task: Any, *_: object) -> None:
        if len(self.losses) < trainer.global_step:
            self.losses.append(float(trainer.strategy.reduce(task.terms["loss"].clone(), reduce_op="mean")))


def train(overrides: list[str], folder: Path, *, processes: int = 1, accumulated: int = 1) -> Outcome:
    """Some steps of a training, and a validation."""
    resolvers.register()
    line = [*SMALL, *overrides, f"paths.runs_dir={folder}", f"paths.cache_dir={folder}"]
    (job,) = compose_jobs(CONF, line, False)
    config = job.config
    pl.seed_everything(3, verbose=False)
    data = instantiate(config["data"], "data")
    data.prepare_data()
    data.setup()
    network = instantiate(config["model"], "model")(spec=data.spec)
    task = instantiate(config["task"], "task")(network=network, spec=data.spec)
    watch = _Watch()
    settings: dict[str, Any] = {"logger": False, "enable_progress_bar": False, "enable_checkpointing": False}
    settings |= {"max_steps": STEPS, "limit_val_batches": 0, "check_val_every_n_epoch": None}
    settings |= {"accumulate_grad_batches": accumulated, "devices": processes, "val_check_interval": None}
    if processes > 1:
        settings |= {"strategy": "ddp", "use_distributed_sampler": False}
    trainer = instantiate(config["trainer"], "trainer")(callbacks=[watch, RandomState()], **settings)
    trainer.fit(task, datamodule=data)
    trainer.limit_val_batches = 1.0
    (found,) = trainer.validate(task, datamodule=data, verbose=False)
    weights = {name: weight.detach().numpy() for name, weight in task.named_parameters()}
    return Outcome(watch.losses, watch.gradients, weights, found, task.predictions["val"])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_two_processes_and_parts_in_turn_train_as_one(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    alone = train(case, tmp_path)
    assert len(alone.losses) == STEPS
    first, second = on_ranks(2, partial(train, processes=2), case, tmp_path)
    np.testing.assert_equal(first.weights, second.weights, "one model")
    others = [train(case, tmp_path, accumulated=3), first]
    if name == "hard":
        others += on_ranks(2, partial(train, processes=2, accumulated=2), case, tmp_path)
    for other in others:
        assert other.losses == pytest.approx(alone.losses, abs=1e-5)
        # Not the weights: Adam makes steps of what is nothing but rounding, such as the gradient of W_K.bias.
        for part, gradient in alone.gradients.items():
            np.testing.assert_allclose(other.gradients[part], gradient, rtol=0, atol=1e-6, err_msg=part)
        assert other.metrics == pytest.approx(alone.metrics, rel=1e-4, abs=1e-4)
        assert [item["id"] for item in other.predictions] == [item["id"] for item in alone.predictions]
