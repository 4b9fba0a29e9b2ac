"""Counts what accidents and hostile inputs cost; `make faults` writes `results/faults.json`."""

import fcntl
import json
import os
from pathlib import Path

_TABLE = Path(os.environ["ZOO_FAULT_TABLE"]).absolute() if "ZOO_FAULT_TABLE" in os.environ else None
"""Found before a test changes the current folder."""

_REFUSED = "nothing: refused in one line"

HOSTILE = {
    "configuration": (
        "a configuration that names code, objects or places outside",
        f"{_REFUSED}, and no code ran",
    ),
    "checkpoint": ("a damaged or hostile checkpoint", f"{_REFUSED}, and no code ran"),
    "links": (
        "a run's folder with links to elsewhere, by command",
        "nothing: elsewhere all is as it was",
    ),
    "run file": ("a damaged file in a run's folder", "nothing: named in one line, other runs are read"),
    "no file": ("a pipe or device for a file, or one without end", f"{_REFUSED}, and nothing is waited for"),
    "own data": (
        "own text, pictures or captions, damaged or of another form",
        f"{_REFUSED}, with its place",
    ),
    "predict": ("neither sentences nor pictures, given to `predict`", f"{_REFUSED}, with its place"),
    "wandb": ("settings that W&B refuses", f"{_REFUSED}, by the check"),
}
"""What is tried and what becomes of it, by the word of the marker `hostile` of a test that asserts it."""


def note(fault: str, *, lost: str) -> None:
    """Counts one try of a fault; `lost` says what it cost, in the same words for the same cost."""
    path = _TABLE
    if path is None:
        return
    descriptor = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # several processes may test
    try:
        rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        row = next((row for row in rows if (row["fault"], row["lost"]) == (fault, lost)), None)
        if row is None:
            row = {"fault": fault, "times": 0, "lost": lost}
            rows.append(row)
        row["times"] += 1
        rows.sort(key=lambda row: str(row["fault"]))
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    finally:
        os.close(descriptor)
