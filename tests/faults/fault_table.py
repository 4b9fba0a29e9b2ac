"""Counts what the accidents cost: `ZOO_FAULT_TABLE=results/faults.json pytest -m slow tests/faults`."""

import json
import os
from pathlib import Path


def note(fault: str, *, lost: str) -> None:
    """Counts one try of a fault; `lost` says what it cost, in the same words for the same cost."""
    file = os.environ.get("ZOO_FAULT_TABLE")
    if not file:
        return
    path = Path(file)
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    row = next((row for row in rows if (row["fault"], row["lost"]) == (fault, lost)), None)
    if row is None:
        row = {"fault": fault, "times": 0, "lost": lost}
        rows.append(row)
    row["times"] += 1
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
