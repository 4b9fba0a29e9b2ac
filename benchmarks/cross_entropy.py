"""The memory of the loss over a vocabulary, measured and by a formula, beside torch's.

    python benchmarks/cross_entropy.py --output results/benchmarks/cross_entropy.json

Loss and gradients of features N x D and weights V x D, on a CPU. Each measurement has a process of its own,
since the operating system reports only a process's peak.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn import functional

from zoo.core.files import write_json
from zoo.kernels import linear_cross_entropy
from zoo.runs.results import machine

SIZES = [(2048, 256, 8000), (4096, 512, 37_000), (8192, 512, 37_000)]
ROWS = 256
"""Of scores that the kernel holds on a CPU."""


def formula(tokens: int, size: int, words: int, how: str) -> float:
    """Megabytes beside features and weights.

    The kernel holds the scores of 256 tokens and their exponentials, and both gradients, that of the weights
    twice while the backward pass multiplies it. Torch holds the scores, their logarithms of probabilities and
    the gradient of the scores, and both gradients.
    """
    gradients = tokens * size + words * size
    held = 2 * ROWS * words + gradients + words * size if how == "kernel" else 3 * tokens * words + gradients
    return 4 * held / 1e6


def measured(tokens: int, size: int, words: int, how: str) -> tuple[float, float]:
    """Megabytes beside features and weights, and seconds, of this process, which must be new."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    features, labels = torch.randn(tokens, size, requires_grad=True), torch.randint(1, words, (tokens,))
    output = nn.Linear(size, words, bias=False)
    few, small = torch.randn(2, size, requires_grad=True), nn.Linear(size, 8, bias=False)
    _loss(few, small, torch.ones(2).long(), how).backward()  # what libraries allocate once
    before, start = _peak(), time.perf_counter()
    _loss(features, output, labels, how).backward()
    return _peak() - before, time.perf_counter() - start


def _loss(features: torch.Tensor, output: nn.Linear, labels: torch.Tensor, how: str) -> torch.Tensor:
    if how == "kernel":
        return linear_cross_entropy(features, output, labels, padding=0, label_smoothing=0.1)
    return functional.cross_entropy(
        output(features), labels, ignore_index=0, label_smoothing=0.1, reduction="sum"
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main(
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
    alone: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Prints formula and measurement."""
    if alone:
        tokens, size, words, how = alone.split(",")
        print(json.dumps(measured(int(tokens), int(size), int(words), how)))
        return
    table = Table("tokens", "size", "words", "how", "formula, MB", "measured, MB", "seconds")
    rows = []
    for tokens, size, words in SIZES:
        for how in ("kernel", "torch"):
            command = [sys.executable, __file__, "--alone", f"{tokens},{size},{words},{how}"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            megabytes, seconds = json.loads(done.stdout)
            expected = formula(tokens, size, words, how)
            rows.append(
                {"tokens": tokens, "size": size, "words": words, "how": how, "formula_megabytes": expected}
                | {"measured_megabytes": megabytes, "seconds": seconds}
            )
            figures = (f"{expected:,.0f}", f"{megabytes:,.0f}", f"{seconds:.2f}")
            table.add_row(str(tokens), str(size), str(words), how, *figures)
    Console().print(table)
    if output:
        write_json(output, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    typer.run(main)
