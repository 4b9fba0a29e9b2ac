"""How long programs take until they do what was asked: `python benchmarks/start.py`.

Runs each command in turn, in a new process, and prints the median of the seconds beside those of the imports
that no training can do without.
"""

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
from side_by_side import Output, save

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


def seconds(command: Sequence[str], line: str = "") -> tuple[float, float]:
    """From the start of a process to the output that contains `line`, and to its end."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=PROJECT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    found, said = 0.0, ""
    for text in process.stdout:
        said += text
        if line in text:
            found = time.perf_counter() - began
    code, ended = process.wait(), time.perf_counter() - began
    if code or line not in said:
        raise SystemExit(f"{' '.join(command)} failed:\n{said}")
    return found, ended


def one_round(folder: str) -> dict[str, float]:
    """The seconds of everything that is measured."""
    python, runs = sys.executable, f"paths.runs_dir={folder}"
    train = [python, "train.py"]
    several = f"seed={','.join(map(str, range(1, JOBS + 2)))}"
    one, many = (
        seconds([*train, "-m", *SHORT, "sweep.parallel=1", seeds, runs])[1] for seeds in ("seed=1", several)
    )
    first_step, whole = seconds([*train, *SHORT, runs], FIRST_STEP)
    whole_programs = {
        IMPORTS: [python, "-c", "import torch, lightning, torchmetrics, hydra"],
        "train.py check=true": [*train, *SHORT, "check=true"],
        "zoo --help": [python, "-m", "zoo", "--help"],
        "zoo predict dates": [python, "-m", "zoo", "predict", "dates", "3. März 2021"],
        "zoo compare of kept results": [python, "-m", "zoo", "compare", "results/multi30k_luong_fast"],
    }
    return {
        **{name: seconds(command)[1] for name, command in whole_programs.items()},
        "train.py, to the end of its first step": first_step,
        "train.py, a whole run of one step": whole,
        "a job of a sweep, likewise": (many - one) / JOBS,
    }


def main(
    rounds: Annotated[int, typer.Option(min=1, help="times each command is run")] = 3,
    output: Output = None,
) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        seconds([sys.executable, "train.py", *SHORT, f"paths.runs_dir={folder}"])  # prepares the data
        measured = [one_round(folder) for _ in range(rounds)]
    table = Table("", "seconds", f"beside {IMPORTS}")
    bare = statistics.median(one[IMPORTS] for one in measured)
    for name in measured[0]:
        middle = statistics.median(one[name] for one in measured)
        table.add_row(name, f"{middle:.1f}", f"{middle / bare:.2f}")
    Console().print(table)
    save({"seconds": {name: [one[name] for one in measured] for name in measured[0]}}, output)


if __name__ == "__main__":
    typer.run(main)
