"""Files that are either whole or not there."""

import json
import os
from pathlib import Path
from typing import Any


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file so that a reader, or a crash in between, sees the old content or the new, never a part.

    Args:
        path: the file; its folder is made when missing.
        content: the new content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # One fixed name: whatever a killed process left behind is overwritten by the next write.
    partial = path.with_name(f"{path.name}.tmp")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write_text(path: Path, text: str) -> None:
    """Writes a text as UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, values: Any) -> None:
    """Writes plain containers as indented JSON, whole or not at all."""
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
