"""Exponents and crossing points of layers, of costs that are known."""

import json
import math
import runpy
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from zoo.reports.layer_costs import cost_tables, crossing, crossings, drawn_costs, exponent
from zoo.reports.pages import write_pages

COSTS = {
    "self_attention": lambda n, d: n**2 * d,
    "self_attention_fused": lambda n, d: n**2 * d / 2,
    "restricted": lambda n, d: 32 * n * d,
    "recurrent": lambda n, d: n * d**2,
    "convolutional": lambda n, d: 3 * n * d**2,
}
"""Exactly those of the table, but for the fused kernel."""


def points(name: str, lengths: list[int], sizes: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "length": n,
            "features": d,
            "seconds": 1e-9 * COSTS[name](n, d),
            "kept_bytes": 4 * COSTS[name](n, d),
            "operations": COSTS[name](n, d),
        }
        for d in sizes
        for n in lengths
    ]


def figures() -> dict[str, Any]:
    lengths = [2**power for power in range(6, 15)]
    return {
        "device": "cpu",
        "width": 3,
        "window": 16,
        "over_length": {name: points(name, lengths, [64]) for name in COSTS},
        "over_features": {name: points(name, [1024], [32, 64, 128]) for name in COSTS},
        "crossing": {name: points(name, [16, 64, 256, 1024, 4096], [64, 128]) for name in COSTS},
        "depth": {name: {"64": 9, "128": 9} for name in COSTS},
        "layers_needed": {name: {"14": 1, "41": 1} for name in (*COSTS, "dilated")},
        "machine": {"processor": "a processor", "gpus": []},
        "load_average": 0.5,
    }


def test_exponents_are_those_of_the_cost() -> None:
    found = figures()["over_length"]
    for name, expected in {"self_attention": 2, "restricted": 1, "recurrent": 1, "convolutional": 1}.items():
        assert exponent(found[name], "length", "seconds") == pytest.approx(expected)
    few = [{"length": n, "seconds": 10.0 if n < 1000 else n**2} for n in (10, 100, 1000, 10_000)]
    assert exponent(few, "length", "seconds", first=1000) == pytest.approx(2)
    assert exponent(few, "length", "seconds") != pytest.approx(2, abs=0.1)
    assert math.isnan(exponent(few[:1], "length", "seconds"))


def test_layers_cross_where_the_table_says() -> None:
    found = crossings(figures())
    for size in (64, 128):
        assert found["recurrent"][size] == pytest.approx(size)
        assert found["convolutional"][size] == pytest.approx(3 * size)
        assert found["restricted"][size] == pytest.approx(32)


def test_layers_that_do_not_cross() -> None:
    low, high = ([{"length": n, "seconds": factor * n} for n in (1, 2, 4)] for factor in (1.0, 2.0))
    assert crossing(low, high) is None
    assert crossing(high, low) == 0
    assert crossing(low, []) is None


def test_tables_and_picture_stand_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "results" / "benchmarks").mkdir(parents=True)
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    (tmp_path / "README.md").touch()
    page = tmp_path / "docs" / "cost.md"
    page.write_text("<!-- cost layers:begin -->\nNot yet.\n<!-- cost:end -->\n", encoding="utf-8")
    write_pages(tmp_path, [])
    assert "Not yet." in page.read_text(encoding="utf-8")
    measured = tmp_path / "results" / "benchmarks" / "cost_of_layers.json"
    measured.write_text(json.dumps(figures()), encoding="utf-8")
    write_pages(tmp_path, [])
    text = page.read_text(encoding="utf-8")
    assert "(pictures/layers.png)" in text
    assert cost_tables(figures()) in text
    assert (tmp_path / "docs" / "pictures" / "layers.png").stat().st_size > 1000
    rows = [line for line in text.splitlines() if line.startswith("| self-attention |")]
    assert rows[0].split(" | ")[2:4] == ["2.00 (2)", "2.00"]


def test_the_picture_has_a_line_for_each_layer() -> None:
    left, right = drawn_costs(figures()).axes
    assert len(left.lines) == len(COSTS)
    assert len(right.lines) == 6, "measured and by the table"


def test_senseless_arguments_are_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    benchmark = Path(__file__).parents[2] / "benchmarks" / "cost_of_layers.py"
    app = typer.Typer()
    app.command()(runpy.run_path(str(benchmark))["main"])
    for option, value, said in (
        ("--device", "tpu", "must be cpu or cuda, got tpu"),
        ("--device", "cuda", "no GPU"),
        ("--seconds", "inf", "must be from 0 to 60, got inf"),
        ("--seconds", "nan", "must be from 0 to 60, got nan"),
        ("--rounds", "0", "must be at least 1, got 0"),
        ("--longest", "63", "must be at least 64, got 63"),
        ("--output", str(tmp_path), "no file can be written"),
        ("--output", str(tmp_path / "absent" / "costs.json"), "no file can be written"),
    ):
        refused = CliRunner().invoke(app, [option, value], env={"COLUMNS": "400"})
        assert refused.exit_code == 2, refused.output
        assert option in refused.output
        assert said in refused.output
