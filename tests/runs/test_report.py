"""What a run says to a person: the results in a table, warnings of libraries, numbers."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import rich.console

from zoo.core.readable import readable
from zoo.runs import report as module
from zoo.runs.report import log_to, print_results

RESULTS: dict[str, Any] = {
    "name": "shapes_soft",
    "seed": 1,
    "checkpoint": {"file": "checkpoints/best.ckpt", "metric": "val/cider_d", "value": 0.5, "step": 30},
    "val": {"bleu_4": 7.855e-10, "cider_d": 0.5},
    "test": {
        **{"bleu_1": 33.8, "bleu_4": 7.282e-08, "cider_d": 0.4, "my_cider_d": 0.3},
        **{"constant_cider_d": 1.291, "constant_bleu_4": 3.1e-10, "constant_bleu_1": 70.4},
    },
    "seconds": 11.0,
    "per_second": {"captions": 1234.5},
    "parameters": 5,
    "controls": {
        "constant": {
            "said": "the best constant caption",
            "of_model": False,
            "metrics": {name: f"constant_{name}" for name in ("cider_d", "bleu_4", "bleu_1")},
        }
    },
}


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lines of `RESULTS` as they are printed."""
    console = rich.console.Console(width=200, record=True)
    monkeypatch.setattr(module, "get_console", lambda: console)
    print_results(RESULTS, Path("run"), telling=("cider_d", "bleu_4", "tf_loss"))
    return console.export_text().splitlines()


def test_the_metrics_that_say_most_are_the_first_rows(printed: list[str]) -> None:
    rows = [line.split("│")[1:-1] for line in printed if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["cider_d", "0.5", "0.4"],
        ["bleu_4", "0.0000", "0.0000"],
        ["bleu_1", "", "33.8"],
        ["my_cider_d", "", "0.3"],
    ]


def test_a_control_is_one_line_with_what_says_most(printed: list[str]) -> None:
    (line,) = (line for line in printed if "constant" in line)
    assert line == "constant    cider_d 1.291, bleu_4 0.0000"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (7.855e-10, "0.0000"),
        (-3e-9, "0.0000"),
        (0.00049, "0.0005"),
        (0.06667, "0.06667"),
        (1.0, "1"),
        (38.391, "38.39"),
        (12345.678, "12,346"),
        (3.2e20, "3.2e+20"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_is_readable(value: float, shown: str) -> None:
    assert readable(value) == shown


@pytest.mark.usefixtures("logging_kept")
def test_a_librarys_warning_names_the_library_and_no_path(tmp_path: Path) -> None:
    log_to(tmp_path / "train.log")
    warnings.simplefilter("always")
    where = "/somewhere/lib/python3/site-packages/lightning/pytorch/loops/fit_loop.py"
    warnings.warn_explicit("a loader\nhas one worker", UserWarning, where, 321)
    warnings.warn("of one's own", stacklevel=1)
    first, second = (tmp_path / "train.log").read_text(encoding="utf-8").splitlines()
    assert first.endswith(" WARNING lightning: UserWarning: a loader has one worker")
    assert second.endswith(": UserWarning: of one's own"), "one's own file and line can be mended"
    assert Path(__file__).name in second


@pytest.mark.usefixtures("logging_kept")
def test_known_warnings_are_not_said(tmp_path: Path) -> None:
    log_to(tmp_path / "train.log")
    warnings.warn(
        "The number of training batches (1) is smaller than the logging interval Trainer(...).",
        stacklevel=1,
    )
    assert not (tmp_path / "train.log").read_text(encoding="utf-8")
