"""When and where callbacks draw."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lightning.pytorch.plugins import Precision
from matplotlib.figure import Figure
from PIL import Image

from zoo.figures import alignment
from zoo.training.callbacks import SelfDescription
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
    return SimpleNamespace(global_step=step, **{"callbacks": []} | usual | more)


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


def test_the_name_of_the_run_stands_above(tmp_path: Path) -> None:
    spec: Any = None
    described = SelfDescription(config={"name": "reverse attention=dot"}, spec=spec)
    Blank(tmp_path / "named").on_test_end(at(12, callbacks=[described]), None)  # type: ignore[arg-type]
    Blank(tmp_path / "nameless").on_test_end(at(12), None)  # type: ignore[arg-type]
    pictures = [tmp_path / folder / "figures" / "blank_test.png" for folder in ("named", "nameless")]
    with Image.open(pictures[0]) as named, Image.open(pictures[1]) as nameless:
        line = named.height - nameless.height
        assert line > 20
        assert named.crop((0, line, *nameless.size)).convert("L").getextrema() == (255, 255)
        assert named.crop((0, 0, named.width, line)).convert("L").getextrema()[0] < 60


class Weights(Figures):
    """Draws a matrix."""

    def draw(self, trainer: Any, task: Any, split: str, when: str) -> dict[str, Figure]:
        return {"weights": alignment([[0.25, 0.75001]], ["a", "b"], ["c"])}


def test_the_weights_of_a_test_are_kept_beside_the_picture(tmp_path: Path) -> None:
    figures = Weights(folder=tmp_path, every_n_validations=1)
    figures.on_validation_end(at(3), None)  # type: ignore[arg-type]
    figures.on_test_end(at(3), None)  # type: ignore[arg-type]
    (file,) = (tmp_path / "figures").glob("*.json")
    assert file.name == "weights_test.json"
    assert json.loads(file.read_text()) == [
        {
            "title": "",
            "axes": ["target", "source"],
            "rows": ["c"],
            "columns": ["a", "b"],
            "weights": [[0.25, 0.75]],
        }
    ]
