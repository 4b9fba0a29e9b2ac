"""How long programs take until they do what was asked: `python benchmarks/start.py`.

Runs each command in turn, in a new process, and prints the median of the seconds beside those of the imports
that no training can do without.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parents[1]
IMPORTS = "bare imports"
SHORT = (
    "experiment=reverse",
    "trainer=cpu",
    "trainer.max_steps=1",
    "scheduler.warmup_steps=0",
    "test=false",
    "logger=csv",
)
FIRST_STEP = "forward and backward in the first batch"
"""What a run says when its first step is done."""

JOBS = 4
"""Jobs of a sweep beyond its first one."""


def seconds(command: Sequence[str], until: str | None = None) -> float:
    """From the start of a process to its end, or to the line of its output that contains `until`."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=PROJECT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    found, lines = None, []
    for line in process.stdout:
        lines.append(line)
        if until and until in line:
            found = time.perf_counter() - began
    code, ended = process.wait(), time.perf_counter() - began
    if code or (until and found is None):
        raise SystemExit(f"{' '.join(command)} failed:\n{''.join(lines)}")
    return ended if found is None else found


def one_round(folder: str) -> dict[str, float]:
    """The seconds of everything that is measured."""
    python, runs = sys.executable, f"paths.runs_dir={folder}"
    train = [python, "train.py"]
    several = f"seed={','.join(map(str, range(1, JOBS + 2)))}"
    one, many = (
        seconds([*train, "-m", *SHORT, "sweep.parallel=1", seeds, runs]) for seeds in ("seed=1", several)
    )
    return {
        IMPORTS: seconds([python, "-c", "import torch, lightning, torchmetrics, hydra"]),
        "train.py, to the end of its first step": seconds([*train, *SHORT, runs], FIRST_STEP),
        "train.py, a whole run of one step": seconds([*train, *SHORT, runs]),
        "a job of a sweep, likewise": (many - one) / JOBS,
        "train.py check=true": seconds([*train, *SHORT, "check=true"]),
        "zoo --help": seconds([python, "-m", "zoo", "--help"]),
        "zoo predict dates": seconds([python, "-m", "zoo", "predict", "dates", "3. März 2021"]),
        "zoo compare of kept results": seconds(
            [python, "-m", "zoo", "compare", "results/multi30k_luong_fast"]
        ),
    }


def main(
    rounds: Annotated[int, typer.Option(min=1, help="times each command is run")] = 3,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures and prints."""
    sys.path.insert(0, str(PROJECT))
    from zoo.runs.results import machine

    with tempfile.TemporaryDirectory() as folder:
        one_round(folder)  # reads all files and prepares the data
        measured = [one_round(folder) for _ in range(rounds)]
    table = Table("", "seconds", f"beside {IMPORTS}")
    bare = statistics.median(one[IMPORTS] for one in measured)
    for name in measured[0]:
        middle = statistics.median(one[name] for one in measured)
        table.add_row(name, f"{middle:.1f}", f"{middle / bare:.2f}")
    Console().print(table)
    if output:
        every = {name: [one[name] for one in measured] for name in measured[0]}
        output.write_text(json.dumps({"machine": machine(), "seconds": every}, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
