"""Whether two versions of this code train to the same numbers, to the last bit.

    git worktree add ../before HEAD~1
    python benchmarks/same_numbers.py record ../before before.json
    python benchmarks/same_numbers.py record . after.json
    python benchmarks/same_numbers.py compare before.json after.json
    python benchmarks/same_numbers.py hand-over ../before .   # a killed run of the one goes on in the other

Short runs of every task with fixed seeds, one on two processes. All logged values except times and memory are
compared, the test results, the predictions and the hash of the configuration. Use one machine, since others
round differently.
"""

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import typer

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

COMMON = (
    *("trainer=cpu", "trainer.max_epochs=null", "logger=csv", "trainer.log_every_n_steps=1"),
    "scheduler.warmup_steps=3",
)
SCENES = ("data.captions.train=64", "data.captions.validation=16", "data.captions.test=16")
WORDS = ("data.corpus.train=512", "data.corpus.validation=32", "data.corpus.test=32")
RUNS: dict[str, tuple[str, ...]] = {
    "dates_bahdanau": ("experiment=dates_bahdanau", "trainer.max_steps=12", *WORDS),
    "dates_transformer": ("experiment=dates_transformer", "trainer.max_steps=12", *WORDS),
    "reverse, hard": ("experiment=reverse", "selection=hard", "trainer.max_steps=12", *WORDS),
    "shapes_soft": ("experiment=shapes_soft", "trainer.max_steps=6", *SCENES),
    "shapes_hard": ("experiment=shapes_hard", "trainer.max_steps=6", *SCENES),
    "ram_digits": ("experiment=ram_digits", "trainer.max_steps=12"),
    "ram_tracking": (
        *("experiment=ram_tracking", "trainer.max_steps=8"),
        *("data.validation_games=16", "data.test_games=16"),
    ),
    "two processes": ("experiment=reverse", "trainer=ddp_cpu", "trainer.max_steps=8", *WORDS),
}
STOPPED = (
    "experiment=reverse",
    "selection=hard",
    "trainer.max_steps=60",
    "callbacks.last.every_n_steps=5",
    *WORDS,
)
_VARIES = ("seconds", "_per_second", "memory", "/mfu")


@app.command()
def record(checkout: Path, output: Path) -> None:
    """Trains all runs with the code of a checkout, and writes their results."""
    found = {}
    for name, line in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = outcome(finished(checkout, line, Path(folder)))
        print(name, found[name]["test"], flush=True)
    output.write_text(json.dumps(found, indent=1), encoding="utf-8")


@app.command()
def compare(before: Path, after: Path) -> None:
    """Compares two files of `record`; the exit code is 1 where they differ."""
    one, other = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    different = [name for name in one if one[name] != other.get(name)]
    print(f"{len(one) - len(different)} of {len(one)} are the same to the last bit")
    for name in different:
        parts = [part for part in one[name] if one[name][part] != other.get(name, {}).get(part)]
        print(f"  {name}: different {', '.join(parts)}")
    raise typer.Exit(bool(different))


@app.command()
def hand_over(before: Path, after: Path) -> None:
    """Stops a run of one checkout, resumes it in another, and compares it with an uninterrupted one."""
    with tempfile.TemporaryDirectory() as folder:
        whole = outcome(finished(before, STOPPED, Path(folder) / "whole"))
        run = stopped(before, Path(folder) / "stopped")
        _call(after, "-m", "zoo", "resume", str(run))
        rest = outcome(run)
        # A resumed run does not log earlier messages again: values and results must agree.
        same = all(rest[part] == whole[part] for part in ("values", "test", "predictions", "config_hash"))
        print("goes on to the same numbers" if same else "goes on to OTHER numbers")
        _call(after, "-c", f"import zoo; print(zoo.load({str(run)!r}).predict(['abc'])[0][0].text)")
        _call(after, "-m", "zoo", "compare", str(Path(folder)))
        raise typer.Exit(not same)


def finished(checkout: Path, line: tuple[str, ...], folder: Path) -> Path:
    """The folder of a complete run."""
    _call(checkout, str(checkout / "train.py"), *_line(line, folder))
    return next(folder.rglob("results.json")).parent


def stopped(checkout: Path, folder: Path) -> Path:
    """The folder of a run that was killed after its first checkpoint."""
    command = [sys.executable, str(checkout / "train.py"), *_line(STOPPED, folder)]
    process = subprocess.Popen(command, env=_environment(checkout), stdout=subprocess.DEVNULL)
    while not (saved := next(folder.rglob("last.ckpt"), None)):
        if process.poll() is not None:
            raise SystemExit("the run ended before it was stopped")
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return saved.parents[1]


def outcome(run: Path) -> dict[str, Any]:
    """The values that must be the same."""
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    with (run / "metrics.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if not any(part in row[1] for part in _VARIES)]
    predictions = hashlib.sha256((run / "predictions.jsonl").read_bytes()).hexdigest()
    return {
        "values": sorted(rows),
        "test": results["test"],
        "predictions": predictions,
        "config_hash": results["config_hash"],
        "vocabulary_hash": results["vocabulary_hash"],
    }


def _line(line: tuple[str, ...], folder: Path) -> list[str]:
    common = [text for text in COMMON if text.split("=")[0] not in {own.split("=")[0] for own in line}]
    return [*common, *line, f"paths.runs_dir={folder}", "seed=7"]


def _call(checkout: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command], env=_environment(checkout), capture_output=True, text=True, check=False
    )
    print(done.stdout if "zoo" in command or "-c" in command else "", end="")
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")


def _environment(checkout: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(checkout.resolve()), "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    app()
