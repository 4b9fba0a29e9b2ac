"""`zoo compare`: one table, or one line that says why not."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from zoo.cli import main
from zoo.runs.predictions import write_predictions

SENTENCES = [
    "ein Mann steht da",
    "zwei Hunde laufen weit fort",
    "das Gras ist nass",
    "vor dem Haus ist es kalt",
]


def make_run(folder: Path, *predictions: str, **splits: list[str]) -> Path:
    """A run's folder with predictions of the first sentences."""

    def items(predicted: list[str] | tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            {"id": number, "input": f"{number}", "references": [SENTENCES[number]], "prediction": text}
            for number, text in enumerate(predicted)
        ]

    write_predictions(folder, {"test": items(predictions), **{name: items(t) for name, t in splits.items()}})
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_run(tmp_path / "first", *SENTENCES[:3], "falsch")
    make_run(tmp_path / "second", *SENTENCES, test_2017=SENTENCES[:1])
    make_run(tmp_path / "third", "a", "b", "c", "d")
    return tmp_path


def _zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def _fails(*arguments: object) -> str:
    result = _zoo(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, "one line"
    return result.stderr


def test_several_against_the_first(runs: Path) -> None:
    """As plain columns where there is no terminal, however long the names are."""
    result = _zoo(
        runs / "first", runs / "second" / "predictions.jsonl", runs / "third", "--metric", "exact_match"
    )
    assert result.exit_code == 0, result.output
    head, *rows, note = [line.split() for line in result.stdout.splitlines()]
    assert head == ["run", "exact_match", "difference", "95", "%", "interval", "p"]
    assert [row[0] for row in rows] == [
        str(runs / "first"),
        str(runs / "second" / "predictions.jsonl"),
        str(runs / "third"),
    ]
    assert [row[1:3] for row in rows] == [["0.7500"], ["1.0000", "+0.2500"], ["0.0000", "-0.7500"]]
    assert rows[1][3:5] == ["[+0.0000,", "+0.7500]"]
    assert float(rows[1][5]) == pytest.approx(0.75**4, abs=0.05)
    assert float(rows[2][5]) < 0.02
    assert " ".join(note) == "4 sentences of test; paired bootstrap, 1,000 samples, seed 12345"


def test_a_score_comes_with_its_signature_and_a_seed_with_its_resamples(runs: Path) -> None:
    arguments = (runs / "first", runs / "second", "--samples", 50)
    once, again = _zoo(*arguments, "--seed", 1), _zoo(*arguments, "--seed", 1)
    assert once.stdout == again.stdout
    assert "50 samples, seed 1" in once.stdout
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in once.stdout
    assert " 100.00 " in once.stdout


def test_the_language_is_the_runs_own(runs: Path) -> None:
    assert "give --language" in _fails(runs / "first", runs / "second", "--metric", "bleu_tok_lc")
    given = _zoo(runs / "first", runs / "second", "--metric", "bleu_tok_lc", "--language", "de")
    assert "|moses:de-" in given.stdout
    signatures = {"signatures": {"bleu_tok_lc": "nrefs:1|tok:none|moses:de-0.1.1"}}
    (runs / "first" / "results.json").write_text(json.dumps(signatures))
    assert _zoo(runs / "first", runs / "second", "--metric", "bleu_tok_lc").stdout == given.stdout


def test_what_cannot_be_compared(runs: Path) -> None:
    first, second = runs / "first", runs / "second"
    assert "needs two runs or more" in _fails(first)
    assert "cannot compare by 'belu' (did you mean bleu?)" in _fails(first, second, "--metric", "belu")
    assert "--language changes bleu_tok_lc alone" in _fails(first, second, "--language", "de")
    assert f"secnd does not exist; did you mean {second}?" in _fails(first, runs / "secnd")
    assert "has no split 'test_2017'; did you mean test?" in _fails(first, second, "--split", "test_2017")
    assert "hold other test items (4 and 2 of them)" in _fails(first, make_run(runs / "short", "a", "b"))
    with (second / "predictions.jsonl").open("a") as file:
        file.write("{\n")
    assert f"{second}/predictions.jsonl, line 6 is damaged: no JSON" in _fails(first, second)
