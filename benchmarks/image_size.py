"""Time per image as images grow: the recurrent attention model beside the convolutional network of its paper.

    python benchmarks/image_size.py --plot docs/pictures/image_size.png

Recognition of random images on one thread, 32 at a time, by untrained networks. The paper claims (Mnih et al.
2014, section 1) that the cost of a glimpse does not depend on the size of the image.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.attention import LearnedPolicy
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.figures import png
from zoo.networks.image_classifiers import Convolutional
from zoo.networks.ram import Recognised, RecurrentAttentionModel
from zoo.networks.recurrent import Rectified
from zoo.runs.results import machine
from zoo.runtime.memory_allocator import keep_freed_memory

SIDES = (28, 60, 100, 200, 400)
BATCH_SIZE = 32


def networks(side: int) -> dict[str, Callable[[torch.Tensor], Recognised]]:
    """The networks of the recipes ram_mnist_6, ram_translated_8 and conv_* for square images, by name."""
    image, label = ImageSpec(channels=1, height=side, width=side), LabelSpec(tuple("0123456789"))
    spec = DataSpec("random", {"image": image, "label": label})

    def ram(glimpses: int, glimpse_size: int, scales: int) -> RecurrentAttentionModel:
        return RecurrentAttentionModel(
            spec=spec,
            policy=lambda **sizes: LearnedPolicy(std=0.12, **sizes),
            recurrent=Rectified,
            glimpses=glimpses,
            glimpse_size=glimpse_size,
            scales=scales,
            glimpse_hidden_size=128,
            hidden_size=256,
        )

    return {
        "RAM, 6 glimpses of 8 x 8": ram(6, 8, 1).recognise,
        "RAM, 8 glimpses of 12 x 12 at 3 scales": ram(8, 12, 3).recognise,
        "convolutional": Convolutional(
            spec=spec, filters=8, filter_size=10, stride=5, hidden_size=256
        ).recognise,
    }


@torch.no_grad()
def milliseconds(recognise: Callable[[torch.Tensor], Recognised], side: int, seconds: float) -> float:
    """The median over batches of new images, per image."""
    batches = [torch.rand(BATCH_SIZE, 1, side, side) for _ in range(4)]  # more than a cache holds, if large
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 8:
        start = time.perf_counter()
        recognise(batches[len(times) % len(batches)])
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times[2:]) / BATCH_SIZE


def curves(figures: dict[str, list[float]]) -> Figure:
    """One line for each network, both axes logarithmic."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for (name, times), marker in zip(figures.items(), "osD", strict=True):
        axes.loglog(SIDES, times, marker=marker, label=name)
    axes.set_xticks(SIDES, [str(side) for side in SIDES])
    axes.minorticks_off()
    axes.set(xlabel="pixels along each side of the image", ylabel="milliseconds per image", ylim=(0.001, 1.5))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def main(
    seconds: Annotated[float, typer.Option(help="to measure each point at least")] = 3.0,
    plot: Annotated[Path | None, typer.Option(help="PNG file for the curves")] = None,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures, prints and draws."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    measured: dict[str, list[float]] = {}
    for side in SIDES:
        for name, recognise in networks(side).items():
            measured.setdefault(name, []).append(milliseconds(recognise, side, seconds))
    table = Table("milliseconds per image", *(f"{side} x {side}" for side in SIDES))
    for name, times in measured.items():
        table.add_row(name, *(f"{value:.3f}" for value in times))
    Console().print(table)
    figures: dict[str, Any] = {
        "benchmark": "benchmarks/image_size.py",
        "batch_size": BATCH_SIZE,
        "sides": SIDES,
        "milliseconds_per_image": measured,
        "machine": machine(),
        "load_average": os.getloadavg()[0],
    }
    if plot:
        plot.write_bytes(png(curves(measured)))
    if output:
        output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    keep_freed_memory()
    typer.run(main)
