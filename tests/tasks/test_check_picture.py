"""Whether a drawing can be written is known before a model runs."""

import os
from pathlib import Path

import pytest

from zoo.tasks.predictor import check_picture


def test_a_place_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there.png"
    there.write_bytes(b"kept")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in (tmp_path, there))
    for path in (tmp_path / "a.png", there):
        with pytest.raises(ValueError, match=rf"cannot draw .*{path.name}: it cannot be written there"):
            check_picture(path)
