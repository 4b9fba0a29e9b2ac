"""Seconds that an epoch of `experiment=flickr8k_soft` takes on stored features.

    ZOO_DATA_DIR=... python benchmarks/flickr8k_epoch.py

The time does not depend on the features' values, so random filters replace VGG-19. The first epoch reads the
features from the disk, the second may find them in memory.
"""

# ruff: noqa: E402 - torch is imported after the allocator was told
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.runtime.memory_allocator import keep_few_kernels, keep_freed_memory

keep_freed_memory()
keep_few_kernels()

import lightning.pytorch as pl
import torch
import typer
from torch import Tensor, nn

from data.captions.captions import CaptionData
from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.networks.encoders import ImageEncoder
from zoo.runs.results import machine

CONF = Path(__file__).resolve().parents[1] / "conf"


class StandIn(ImageEncoder):
    """Makes grids of VGG-19's size."""

    name, feature_size, stride = "stand-in", 512, 16

    def __init__(self, *, channels: int = 3) -> None:
        super().__init__()
        self.filters = nn.Conv2d(channels, self.feature_size, self.stride, self.stride).requires_grad_(False)

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """See `ImageEncoder`."""
        return height // self.stride, width // self.stride

    def forward(self, images: Tensor) -> Tensor:
        """See `ImageEncoder`."""
        grid: Tensor = self.filters(images)
        return grid


class Clock(pl.Callback):
    """Measures epochs of training."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_train_epoch_start(self, *_: Any) -> None:
        """An epoch begins."""
        self.start = time.perf_counter()

    def on_train_epoch_end(self, *_: Any) -> None:
        """It has ended."""
        self.seconds.append(round(time.perf_counter() - self.start, 1))


def main(
    data_dir: Annotated[Path, typer.Option(envvar="ZOO_DATA_DIR", help="the folder of data sets")],
    threads: Annotated[int, typer.Option(help="of the training")] = 2,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Trains for two epochs and prints the seconds of each."""
    torch.set_num_threads(threads)
    pl.seed_everything(1, verbose=False)
    resolvers.register()
    (job,) = compose_jobs(CONF, ["experiment=flickr8k_soft", f"paths.data_dir={data_dir.resolve()}"], False)
    config = job.config
    with tempfile.TemporaryDirectory() as cache:
        settings = {**config["data"], "features": None, "cache_dir": cache}
        parts = instantiate({key: value for key, value in settings.items() if key != "_target_"}, "data")
        data = CaptionData(**{**parts, "features": StandIn})
        data.prepare_data()
        data.setup()
        network = instantiate(config["model"], "model")(spec=data.spec, encoder=StandIn)
        task = instantiate(config["task"], "task")(network=network, spec=data.spec)
        clock = Clock()
        trainer = instantiate({**config["trainer"], "limit_val_batches": 0}, "trainer")(
            max_epochs=2, callbacks=[clock], logger=False, enable_checkpointing=False
        )
        trainer.fit(task, datamodule=data)
    found = {"seconds": clock.seconds, "captions": data.report["train"]["captions"], "machine": machine()}
    print(json.dumps(found))
    if output:
        output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
