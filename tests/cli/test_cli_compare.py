"""`zoo compare`: one table, or one line that says why not."""

import os
from pathlib import Path

import pytest
from compared_runs import edit, items, make_run
from typer.testing import CliRunner, Result

from zoo.cli.app import main
from zoo.runs.predictions import write_predictions

SENTENCES = [
    "ein Mann steht da",
    "zwei Hunde laufen weit fort",
    "das Gras ist nass",
    "vor dem Haus ist es kalt",
]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Predictions alone, as another system may give them."""
    for name, predictions in {
        "first": [*SENTENCES[:3], "falsch"],
        "second": SENTENCES,
        "third": list("abcd"),
    }.items():
        write_predictions(tmp_path / name, {"test": items(predictions, SENTENCES)})
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
    first, second, third = runs / "first", runs / "second" / "predictions.jsonl", runs / "third"
    result = _zoo(first, second, third, "--metric", "exact_match")
    assert result.exit_code == 0, result.output
    head, *rows = [line.split() for line in result.stdout.splitlines()]
    assert head[:4] == ["run", "n", "exact_match", "difference"]
    assert [row[0] for row in rows[:3]] == [str(first), str(second), str(third)]
    assert rows[1][2:7] == ["1.0000", "*", "+0.2500", "[+0.0000,", "+0.7500]"]
    assert float(rows[1][7]) == pytest.approx(0.75**4, abs=0.05)
    assert rows[2][2:4] == ["0.0000", "-0.7500"]
    assert "paired bootstrap over 4 items of test, 1,000 samples, seed 12345" in result.stdout


def test_a_score_comes_with_its_signature_and_a_seed_with_its_resamples(runs: Path) -> None:
    arguments = (runs / "first", runs / "second", "--samples", 50)
    once, again = _zoo(*arguments, "--seed", 1), _zoo(*arguments, "--seed", 1)
    assert once.stdout == again.stdout
    assert "50 samples, seed 1" in once.stdout
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in once.stdout
    assert " 100.00 " in once.stdout


def test_the_language_is_the_runs_own(runs: Path) -> None:
    first, second = runs / "first", runs / "second"
    assert "give --language" in _fails(first, second, "--metric", "bleu_tok_lc")
    given = _zoo(first, second, "--metric", "bleu_tok_lc", "--language", "de")
    assert "|moses:de-" in given.stdout
    characters = _zoo(first, second, "--metric", "bleu", "--language", "th")
    assert "|tok:char|" in characters.stdout
    assert "--language changes bleu and bleu_tok_lc alone" in _fails(
        first, second, "--metric", "chrf", "--language", "de"
    )


def test_the_table_goes_to_files(tmp_path: Path) -> None:
    for seed in (1, 2):
        make_run(tmp_path / "runs" / f"dot{seed}", "Dot", seed, right=8 + seed)
        make_run(tmp_path / "runs" / f"cosine{seed}", "Cosine", seed, right=12 + seed)
    written = [tmp_path / "out" / name for name in ("table.md", "table.csv")]
    result = _zoo(
        *(tmp_path / "runs", "--baseline", "attention=dot"),
        *("--markdown", written[0], "--csv", written[1], "--png", tmp_path / "out" / "pictures"),
    )
    assert result.exit_code == 0, result.output
    assert "differences are from attention=dot" in result.stdout
    assert "| attention=cosine | Cosine | 2 | **0.6750 ± 0.0354** |" in written[0].read_text()
    pictures = sorted((tmp_path / "out" / "pictures").iterdir())
    assert [picture.name for picture in pictures] == ["exact_match.png", "exact_match_against_speed.png"]
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert written[1].read_text().splitlines()[1].startswith("attention=cosine,finished,,")
    assert "against speed" not in result.stderr


def test_where_machines_differ_it_says_that_no_speeds_are_drawn(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    edit(make_run(tmp_path / "two", "Cosine"), machine={"processor": "another", "cores": 64})
    result = _zoo(tmp_path / "one", tmp_path / "two", "--png", tmp_path / "pictures")
    assert [picture.name for picture in (tmp_path / "pictures").iterdir()] == ["exact_match.png"]
    assert "no picture of quality against speed: the machines differ" in result.stderr


def test_what_cannot_be_compared_is_refused_and_nothing_written(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    edit(make_run(tmp_path / "two", "Cosine"), test_hash="other")
    assert "test_hash (the test items) differs" in _fails(
        tmp_path / "one", tmp_path / "two", "--csv", tmp_path / "a.csv"
    )
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("option", ["--csv", "--html", "--markdown", "--png"])
def test_a_place_that_cannot_be_written_is_refused_before_the_comparison(tmp_path: Path, option: str) -> None:
    make_run(tmp_path / "one")
    (tmp_path / "file").touch()
    assert "file is no folder" in _fails(tmp_path / "one", option, tmp_path / "file" / "out")


@pytest.mark.parametrize("option", ["--csv", "--html", "--markdown"])
def test_what_is_written_goes_through_a_link(tmp_path: Path, option: str) -> None:
    make_run(tmp_path / "one")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert _zoo(tmp_path / "one", option, tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_size


@pytest.mark.parametrize("damage", ["field", "pipe"])
def test_one_damaged_file_of_numbers_ends_no_page(tmp_path: Path, damage: str) -> None:
    for name in ("one", "two"):
        make_run(tmp_path / "runs" / name, seed=1 + (name == "two"))
    metrics = tmp_path / "runs" / "one" / "metrics.csv"
    metrics.unlink(missing_ok=True)
    if damage == "field":
        metrics.write_text(f"step,name,value\n1,{'x' * 10_000_000},2\n")
    else:
        os.mkfifo(metrics)
        (tmp_path / "runs" / "one" / "figures").mkdir()
        os.mkfifo(tmp_path / "runs" / "one" / "figures" / "a_test.png")
    result = _zoo(tmp_path / "runs", "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text()
    file = metrics if damage == "field" else tmp_path / "runs" / "one" / "figures" / "a_test.png"
    assert f"{file} is {'damaged in line 2' if damage == 'field' else 'a named pipe'}" in page


def test_several_data_sets_have_a_table_each(tmp_path: Path) -> None:
    folders = [make_run(tmp_path / name, data_set=name, test_hash=name) for name in ("apples", "pears")]
    result = _zoo(*folders, "--markdown", tmp_path / "table.md")
    assert result.exit_code == 0, result.output
    first, second = result.stdout.split("data set pears:")
    for name, table in (("apples", first), ("pears", second)):
        assert "0.5000" in table
        assert f"## {name}" in (tmp_path / "table.md").read_text()
    assert "data set pears: no group is called" in _fails(*folders, "--baseline", folders[0])
    assert "apples, pears" in _fails(
        *folders, "--html", tmp_path / "page.html", "--csv", tmp_path / "all.csv"
    )
    assert not list(tmp_path.glob("*.html")) + list(tmp_path.glob("*.csv"))
