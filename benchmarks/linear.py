"""The sizes from which a linear map by oneDNN is faster than by MKL.

    python benchmarks/linear.py

Forward and backward passes of `torch.nn.Linear` and of `zoo.kernels.Linear` in float32, on one thread, at
sizes of the zoo's models. zoo/kernels/onednn.py says for which sizes and processors the latter uses oneDNN;
elsewhere both are the same.
"""

import json
import time
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import nn

from zoo.kernels import Linear
from zoo.runs.results import machine
from zoo.runtime.memory_allocator import keep_freed_memory

SIZES = {  # rows, input size, output size
    "few rows": (32, 256, 256),
    "RAM: pixels of a glimpse": (128, 64, 128),
    "RAM: what was seen": (128, 128, 256),
    "RAM: core": (128, 256, 256),
    "Transformer tiny: feed-forward": (2048, 128, 256),
    "Transformer tiny: vocabulary": (256, 128, 6000),
    "Transformer base, beam: projection": (320, 512, 512),
    "Transformer base: feed-forward": (2048, 512, 2048),
    "captioner: annotations": (6272, 512, 512),
}


def microseconds(layer: nn.Linear, rows: int, *, backward: bool, least: float) -> float:
    """The least time of many calls, since disturbances only add to it."""
    x = torch.randn(rows, layer.in_features, requires_grad=backward)
    gradient = torch.randn(rows, layer.out_features)
    times: list[float] = []
    end = time.perf_counter() + least
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        with torch.set_grad_enabled(backward):
            y = layer(x)
        if backward:
            y.backward(gradient)
        times.append(time.perf_counter() - start)
        layer.zero_grad()
    return min(times) * 1e6


def main(
    least: Annotated[float, typer.Option(help="seconds that each is measured for")] = 1.0,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Prints the speed of the second in multiples of the first."""
    torch.set_num_threads(1)
    table = Table(
        "rows x input x output",
        "of",
        "forward",
        "with backward",
        title="torch.nn.Linear / zoo.kernels.Linear",
    )
    ratios: dict[str, list[float]] = {}
    for name, (rows, size, output_size) in SIZES.items():
        layers = nn.Linear(size, output_size), Linear(size, output_size)
        ratios[name] = []
        for backward in (False, True):
            plain, ours = (microseconds(layer, rows, backward=backward, least=least) for layer in layers)
            ratios[name].append(plain / ours)
        table.add_row(f"{rows} x {size} x {output_size}", name, *(f"{ratio:.2f}" for ratio in ratios[name]))
    Console().print(table)
    if output:
        output.write_text(json.dumps({"machine": machine(), "ratio": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    keep_freed_memory()
    typer.run(main)
