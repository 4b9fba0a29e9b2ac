"""When and where callbacks draw."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lightning.pytorch.plugins import Precision
from matplotlib.figure import Figure

from zoo.training.callbacks.figures import Figures


class Blank(Figures):
    """Draws an empty figure, and writes down of what."""

    def __init__(self, folder: Path, every: int = 1) -> None:
        super().__init__(folder=folder, every_n_validations=every)
        self.drawn: list[tuple[str, str]] = []

    def draw(self, trainer: Any, task: Any, split: str, when: str) -> dict[str, Figure]:
        self.drawn.append((split, when))
        return {"blank": Figure()}


def at(step: int, **more: Any) -> Any:
    usual = {"sanity_checking": False, "is_global_zero": True, "loggers": [], "precision_plugin": Precision()}
    return SimpleNamespace(global_step=step, **usual | more)


def test_it_draws_at_every_kth_validation_and_at_test(tmp_path: Path) -> None:
    figures = Blank(tmp_path, every=2)
    figures.on_validation_end(at(0, sanity_checking=True), None)  # type: ignore[arg-type]
    for step in (3, 6, 9):
        figures.on_validation_end(at(step), None)  # type: ignore[arg-type]
    resumed = Blank(tmp_path, every=2)
    resumed.load_state_dict(figures.state_dict())
    resumed.on_validation_end(at(12), None)  # type: ignore[arg-type]
    resumed.on_test_end(at(12), None)  # type: ignore[arg-type]
    assert figures.drawn == [("val", "step0000006")]
    assert resumed.drawn == [("val", "step0000012"), ("test", "test")]
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert written == ["blank_step0000006.png", "blank_step0000012.png", "blank_test.png"]


def test_only_the_first_process_draws(tmp_path: Path) -> None:
    figures = Blank(tmp_path)
    figures.on_validation_end(at(1, is_global_zero=False), None)  # type: ignore[arg-type]
    figures.on_test_end(at(1, is_global_zero=False), None)  # type: ignore[arg-type]
    assert figures.drawn == []
    with pytest.raises(ValueError, match="every_n_validations must be at least 1, got 0"):
        Blank(tmp_path, every=0)
