"""Measured results become files, tables and pictures."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.runs.publish import BEGIN, END, publish, tables

MACHINE = {"processor": "Some CPU", "cores": 2, "threads": 2}


def results(seed: int, exact: float, *, name: str = "toy", hashed: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "experiment": "toy",
        "name": name,
        "seed": seed,
        "checkpoint": {
            "file": "checkpoints/best.ckpt",
            "step": 4,
            "metric": "val/exact_match",
            "value": exact,
        },
        "test": {"exact_match": exact, "bleu": 50.0, **more},
        "test_hash": "c0ffee",
        "val": {},
        "parameters": 12345,
        "seconds": 90.0,
        "per_second": {"tokens": 1000.4},
        "machine": MACHINE,
        "config_hash": hashed,
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    return tmp_path


def make_run(folder: Path, content: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(content), encoding="utf-8")
    rows = ["step,name,value", "2,train/seconds,30.0", "2,val/exact_match,0.25", "4,train/seconds,60.0"]
    (folder / "metrics.csv").write_text("\n".join([*rows, "4,val/exact_match,0.5"]) + "\n", encoding="utf-8")
    line = {"split": "test", "input": "a b c", "references": ["x y z w"], "prediction": "x y z w"}
    (folder / "predictions.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return folder


def test_seeds_of_one_configuration_are_one_row_with_mean_and_deviation() -> None:
    text = tables(
        [
            results(2, 0.9),
            results(1, 0.7),
            results(1, 0.5, name="3-experiment=toy-attention=dot-seed=1", hashed="b"),
        ]
    )
    assert "| toy | 1, 2 | 0.800 ± 0.141 | 12,345 | 1.5 ± 0.0 | 1,000 |" in text
    assert "| attention=dot | 1 | 0.500 | 12,345 | 1.5 | 1,000 |" in text
    assert "(Some CPU, 2 cores, threads: 2)" in text


def test_bleu_is_shown_for_languages_only() -> None:
    assert "bleu" not in tables([results(1, 0.5)])
    assert "| 50.0 | 48.0 |" in tables([results(1, 0.5, bleu_tok_lc=48.0)])


def test_a_run_is_kept_with_its_learning_curve_and_the_readme_follows(project: Path, tmp_path: Path) -> None:
    publish([make_run(tmp_path / "run", results(1, 0.5))], project)
    kept = json.loads((project / "results" / "toy" / "toy_seed1.json").read_text(encoding="utf-8"))
    assert kept["learning_curve"] == {"step": [2, 4], "seconds": [30.0, 60.0], "value": [0.25, 0.5]}
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"before\n{BEGIN}\n")
    assert readme.endswith(f"{END}\nafter\n")
    assert "old" not in readme
    assert "| toy | 1 | 0.500 |" in readme
    publish([], project)  # from what was kept alone
    assert (project / "README.md").read_text(encoding="utf-8") == readme


def test_translations_are_kept_by_length_and_drawn(project: Path, tmp_path: Path) -> None:
    publish([make_run(tmp_path / "run", results(1, 0.5, bleu_tok_lc=48.0))], project)
    kept = json.loads((project / "results" / "toy" / "toy_seed1.json").read_text(encoding="utf-8"))
    assert kept["bleu_by_source_words"] == {
        "mean_length": [3.0],
        "bleu": [pytest.approx(100.0)],
        "sentences": [1.0],
    }
    assert {path.name for path in (project / "docs" / "pictures").iterdir()} == {
        "bleu_by_length.png",
        "learning_curve.png",
    }


def test_an_unfinished_run_is_refused(project: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"results\.json"):
        publish([tmp_path], project)
