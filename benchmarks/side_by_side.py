"""Shared by all benchmarks beside peers: the data, running every side in turn, the ratios round by round."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
DRIVERS = HERE / "peers"
KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**34),
    "MALLOC_TOP_PAD_": str(2**28),
    "MALLOC_ARENA_MAX": "1",
}
"""The allocator setting that `train.py` chooses for itself, for a process that cannot choose."""

QUIET = 0.12
"""Cores that other processes may use while a side is measured."""

DataDir = Annotated[Path, typer.Option(envvar="ZOO_DATA_DIR", help="the folder of data sets")]
Rounds = Annotated[int, typer.Option(help="times each side is run")]
Output = Annotated[Path | None, typer.Option(help="JSON file for the figures")]


class Side(NamedTuple):
    """One row of a comparison.

    Attributes:
        python: the interpreter of an environment that has the side.
        driver: a file in `peers/`.
        arguments: of the driver.
        keep_memory: whether the process keeps freed memory.
    """

    python: str
    driver: str
    arguments: Sequence[str]
    keep_memory: bool


@contextmanager
def multi30k(data_dir: Path) -> Iterator[Any]:
    """Multi30k English to German with a joint BPE of 10,000, in batches of 4,096 tokens."""
    sys.path.insert(0, str(HERE.parent))
    from data.text.multi30k import Multi30k
    from data.text.translation import TranslationData
    from data.text.vocabulary import Bpe

    with tempfile.TemporaryDirectory() as cache:
        data = TranslationData(
            corpus=Multi30k(data_dir=data_dir, source="en", target="de"),
            tokenizer=Bpe(size=10_000, joint=True),
            batch_tokens=4096,
            maximum_length=100,
            seed=1,
            cache_dir=cache,
        )
        data.prepare_data()
        data.setup()
        yield data


def compare(sides: Mapping[str, Side], figure: str, rounds: int) -> dict[str, Any]:
    """Runs every side in turn and prints the ratios of the first side to each, round by round.

    Args:
        sides: by name.
        figure: what every driver prints, e.g. `tokens_per_second`.
        rounds: number of runs of each side. Rounds in which other processes used more than `QUIET` cores are
            left out, unless all are.

    Returns:
        For each side its figures of every round, and the ratios.
    """
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for number in range(rounds):
        for name, side in sides.items():
            runs[name].append(_run(side))
            latest = runs[name][-1]
            print(
                f"round {number + 1}: {name} {latest[figure]:,.1f} {figure}, "
                f"other processes {latest['other_cores']:.2f} cores",
                flush=True,
            )
    first = next(iter(sides))
    loudest = [max(runs[name][number]["other_cores"] for name in sides) for number in range(rounds)]
    counted = [number for number in range(rounds) if loudest[number] <= QUIET] or list(range(rounds))
    table = Table("side", f"{figure} (median)", f"{first} / side, median (least to most)")
    summary: dict[str, Any] = {}
    for name, side in sides.items():
        figures = [run[figure] for run in runs[name]]
        ratios = [runs[first][number][figure] / figures[number] for number in range(rounds)]
        summary[name] = {
            **{key: [run[key] for run in runs[name]] for key in runs[name][0]},
            "ratio": ratios,
            "counted_rounds": [number + 1 for number in counted],
            "allocator": "kept memory" if side.keep_memory else "default",
        }
        kept = [ratios[number] for number in counted]
        middle = statistics.median(figures[number] for number in counted)
        table.add_row(
            name, f"{middle:,.0f}", f"{statistics.median(kept):.2f} ({min(kept):.2f} to {max(kept):.2f})"
        )
    Console().print(table)
    return summary


def save(summary: dict[str, Any], output: Path | None) -> None:
    """Writes what `compare` returned as JSON, with the machine."""
    if output:
        sys.path.insert(0, str(HERE.parent))
        from zoo.runs.results import machine

        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps({"machine": machine(), **summary}, indent=2) + "\n")


def _run(side: Side) -> dict[str, float]:
    """A side's figures from a new process, and the number of cores that other processes used meanwhile."""
    environment = {**os.environ, **(KEEP_MEMORY if side.keep_memory else {})}
    command = [side.python, str(DRIVERS / side.driver), *side.arguments]
    busy, own, start = _busy_seconds(), _children_seconds(), time.perf_counter()
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=DRIVERS)
    if finished.returncode:
        raise SystemExit(f"{side.driver} failed:\n{finished.stderr}")
    others = (_busy_seconds() - busy) - (_children_seconds() - own)
    figures: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return {**figures, "other_cores": max(0.0, others / (time.perf_counter() - start))}


def _busy_seconds() -> float:
    """Processor time of all processes of the machine so far."""
    user, nice, system, _idle, _wait, interrupts, soft, stolen = map(
        int, Path("/proc/stat").read_text().split()[1:9]
    )
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    """Processor time of ended children of this process so far, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
