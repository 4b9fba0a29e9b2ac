"""The time of a step on two processes, beside the sum of computation and communication.

    python benchmarks/scaling.py --output results/benchmarks/scaling.json

For each model, a batch is computed by one process, and by two that share it (`trainer=ddp_cpu`: gloo over the
loopback device, one thread each). Beside that stand the two parts of a step of two processes: half the batch,
in two independent processes at once, and the sum of the gradients over both. Of two processes the slower one
counts, step by step, since a sum waits for both. The prediction is the sum of the parts; a step is shorter
where communication overlaps with computation.
"""

# ruff: noqa: E402 - the project is found first, and torch imported after the allocator was told
import json
import os
import socket
import statistics
import sys
import tempfile
import time
from concurrent.futures import Future, ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.runtime.memory_allocator import keep_few_kernels, keep_freed_memory

keep_freed_memory()
keep_few_kernels()

import lightning.pytorch as pl
import torch
import typer
from torch import distributed

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.core.files import write_json
from zoo.runs.results import machine

CONF = Path(__file__).resolve().parents[1] / "conf"
MODELS = {
    "RAM": ("ram_digits", "batch_size"),
    "Show, Attend and Tell": ("shapes_soft", "batch_size"),
    "Luong": ("dates_luong", "batch_tokens"),
    "Transformer": ("dates_transformer", "batch_tokens"),
}
"""By name: the recipe, and the setting that is its batch."""
WARMING = 10
"""Steps that do not count."""


class Clock(pl.Callback):
    """Records the ends of steps."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_train_batch_end(self, *_: Any) -> None:
        """A step is over."""
        self.ends.append(time.perf_counter())


def step(experiment: str, key: str, share: int, processes: int, steps: int) -> dict[str, Any]:
    """Trains for some steps in this process, alone or as one of several.

    Args:
        experiment: the recipe.
        key: its setting of `data` for the size of a batch.
        share: divides that size.
        processes: number of processes that train together.
        steps: number of steps after the warm-up.

    Returns:
        The `times` of steps in seconds, `bytes` of all gradients, the batch's size under `key`.
    """
    torch.set_num_threads(1)
    resolvers.register()
    with tempfile.TemporaryDirectory() as folder:
        line = [f"experiment={experiment}", f"paths.cache_dir={folder}", "trainer=cpu"]
        (job,) = compose_jobs(CONF, line, False)
        config = job.config
        size = config["data"][key] // share
        pl.seed_everything(1, verbose=False)
        data = instantiate({**config["data"], key: size}, "data")
        data.prepare_data()
        data.setup()
        network = instantiate(config["model"], "model")(spec=data.spec)
        task = instantiate(config["task"], "task")(network=network, spec=data.spec)
        clock = Clock()
        settings: dict[str, Any] = {"max_steps": WARMING + steps, "max_epochs": None, "limit_val_batches": 0}
        settings |= {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        if processes > 1:
            settings |= {"strategy": "ddp", "devices": processes, "use_distributed_sampler": False}
        trainer = instantiate(config["trainer"], "trainer")(callbacks=[clock], **settings)
        trainer.fit(task, datamodule=data)
    times = [
        after - before for before, after in zip(clock.ends[WARMING:], clock.ends[WARMING + 1 :], strict=False)
    ]
    weights = [weight for weight in task.parameters() if weight.requires_grad]
    gradients = sum(weight.numel() * weight.element_size() for weight in weights)
    return {"times": times, "bytes": gradients, key: size}


def together(rank: int, port: int, *arguments: Any) -> dict[str, Any]:
    """`step` as one of two processes that share a batch."""
    os.environ |= {"LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return step(*arguments)


def summing(rank: int, port: int, size: int) -> float:
    """Mean seconds in which two processes sum gradients of `size` bytes."""
    torch.set_num_threads(1)
    store = distributed.TCPStore("127.0.0.1", port, 2, rank == 0, timedelta(seconds=60))
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
    gradients, times = torch.ones(size // 4), []
    for _ in range(30):
        distributed.barrier()
        began = time.perf_counter()
        distributed.all_reduce(gradients)
        times.append(time.perf_counter() - began)
    distributed.destroy_process_group()
    return statistics.mean(times[5:])


def both(function: Any, *arguments: Any, alike: bool = False) -> Any:
    """The results of two processes that run a function at once; `alike`: without their ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as one, ProcessPoolExecutor(1, spawn) as other:
        running: list[Future[Any]] = [
            process.submit(function, *(() if alike else (rank, port)), *arguments)
            for rank, process in enumerate((one, other))
        ]
        return [future.result() for future in running]


def main(
    steps: Annotated[int, typer.Option(help="timed steps of each model in each layout")] = 60,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures all four models and prints each row at once."""
    rows = []
    for name, (experiment, key) in MODELS.items():
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            alone = process.submit(step, experiment, key, 1, 1, steps).result()
        halves = both(step, experiment, key, 2, 1, steps, alike=True)
        pairs = zip(*(half["times"] for half in halves), strict=True)
        computing = statistics.mean(max(pair) for pair in pairs)
        shared, _ = both(together, experiment, key, 1, 2, steps)
        communication = max(both(summing, alone["bytes"]))
        measured, predicted = statistics.mean(shared["times"]), computing + communication
        one = statistics.mean(alone["times"])
        rows.append(
            {
                "model": name,
                "experiment": experiment,
                key: alone[key],
                "gradient_bytes": alone["bytes"],
                "one_process_seconds": one,
                "half_a_batch_seconds": computing,
                "all_reduce_seconds": communication,
                "all_reduce_bytes_per_second": alone["bytes"] / communication,
                "two_processes_seconds": measured,
                "predicted_seconds": predicted,
                "predicted_over_measured": predicted / measured,
                "speedup": one / measured,
            }
        )
        print(json.dumps(rows[-1]))
    if output:
        write_json(output, {"models": rows, "machine": machine()})


if __name__ == "__main__":
    typer.run(main)
