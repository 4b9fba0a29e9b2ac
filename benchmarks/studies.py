"""What studies cost and reached: `python benchmarks/studies.py [--first TRIALS] SWEEP...`, a row for each.

Steps are those that all trials trained. Seconds are those of the trials' processes, from start to end: not
those in which a study lay stopped.
"""

import argparse
from collections import Counter
from datetime import datetime
from pathlib import Path

from zoo.runs.status import Status, status_of
from zoo.sweeps.begin import maximises
from zoo.sweeps.record import read_sweep


def seconds(status: Status) -> float:
    """Between the start of a run and its end."""
    start, end = (datetime.fromisoformat(text) for text in (status.start, status.end or status.heartbeat))
    return (end - start).total_seconds()


def row(folder: Path, first: int | None) -> str:
    """One study in Markdown, or its first trials."""
    sweep = read_sweep(folder)
    all_of_them = [status_of(job.folder) for job in sweep.jobs[:first]]
    states = Counter(str(status.state) for status in all_of_them)
    known = [status.progress for status in all_of_them if status.progress]
    best = (max if maximises(sweep.jobs[0].config) else min)(
        (one.best for one in known if one.best is not None), default=float("nan")
    )
    cells = (
        sweep.jobs[0].config["sweep"]["name"],
        ", ".join(f"{number} {state}" for state, number in sorted(states.items())),
        f"{sum(one.step for one in known):,}",
        f"{sum(map(seconds, all_of_them)):,.0f}",
        f"{best:.4g}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Reads the folders and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--first", type=int)
    asked = parser.parse_args()
    print("| study | trials | steps | seconds | best |\n| --- | --- | --- | --- | --- |")
    for folder in asked.folders:
        print(row(folder, asked.first))


if __name__ == "__main__":
    main()
