"""Two jobs in parallel beside one after the other: `python benchmarks/parallel_sweep.py`.

Runs the same sweep of two jobs with `sweep.parallel=1` and `sweep.parallel=2` in turn, and prints the ratio
of the medians. One job uses all cores, two jobs use half of them each.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from zoo.runs.results import machine

PROJECT = Path(__file__).parents[1]
LINE = ["-m", "seed=1,2", "data=reverse", "trainer=cpu", "trainer.max_steps=60", "logger=csv", "test=false"]
REPEATS = 1


def seconds(parallel: int, folder: Path) -> float:
    """Wall-clock time of the sweep."""
    command = [sys.executable, str(PROJECT / "train.py"), *LINE, f"sweep.parallel={parallel}"]
    began = time.perf_counter()
    subprocess.run([*command, f"paths.runs_dir={folder}"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        seconds(2, Path(folder))  # prepares the data
        measured: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(REPEATS):
            for parallel, times in measured.items():
                times.append(seconds(parallel, Path(folder)))
    medians = {parallel: statistics.median(times) for parallel, times in measured.items()}
    answer = {"seconds": measured, "ratio": medians[1] / medians[2], "machine": machine()}
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
