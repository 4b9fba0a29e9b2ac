"""Which runs stand in one row, what a row says, and what must not be compared."""

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import TARGETS, edit, items, make_run, make_unfinished
from rich.console import Console
from scipy import stats

from zoo.metrics import caption_metrics
from zoo.metrics.cider import CiderReferences
from zoo.reports.comparison import table
from zoo.reports.comparison.comparison import Comparison, Question
from zoo.reports.comparison.comparison import compare as compare_runs
from zoo.reports.comparison.html import page
from zoo.reports.comparison.pictures import pictures
from zoo.reports.runs import find_runs
from zoo.runs.predictions import read_predictions, read_split, write_predictions
from zoo.runs.status import State, StatusFile


def compare(*paths: Path, **asked: Any) -> Comparison:
    return compare_runs(find_runs(paths), Question(**{"samples": 50, **asked}))


def refused(*paths: Path, **asked: Any) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        compare(*paths, **asked)
    return str(error.value)


def typed(run: Path, *overrides: str) -> None:
    status = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps({**status, "overrides": list(overrides)}))


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two scores with three seeds each."""
    for seed, (dot, additive) in enumerate([(10, 14), (11, 16), (10, 15)], start=1):
        make_run(tmp_path / "sweep" / f"1{seed}_dot", "Dot", seed, right=dot)
        make_run(tmp_path / "sweep" / f"2{seed}_additive", "Additive", seed, right=additive, parameters=1500)
    return tmp_path / "sweep"


def test_seeds_of_one_configuration_are_one_row(sweep: Path) -> None:
    found = compare(sweep)
    assert [row.group.label for row in found.rows] == ["attention=dot", "attention=additive"]
    dot, additive = found.rows
    assert found.metric == "exact_match", "what picked the checkpoint"
    assert additive.group.seeds == [1, 2, 3]
    assert additive.scores["exact_match"][:2] == (pytest.approx(0.75), pytest.approx(0.05))
    assert additive.costs["seconds"].mean == 92
    own, base = [0.7, 0.8, 0.75], [0.5, 0.55, 0.5]
    assert additive.seeds is not None
    assert additive.seeds.p == pytest.approx(stats.ttest_rel(own, base).pvalue)
    assert additive.items is not None
    assert additive.items.difference == pytest.approx(0.75 - 1.55 / 3)
    assert (dot.seeds, dot.items) == (None, None)


def test_only_what_varies_is_a_column_and_once(sweep: Path) -> None:
    """The score stands in the configuration twice, the size is the same in all."""
    found = compare(sweep)
    assert found.settings == ("attention",)
    assert [row.group.settings for row in found.rows] == [{"attention": "Dot"}, {"attention": "Additive"}]
    make_run(sweep / "wide", model={"size": 16})
    found = compare(sweep)
    assert found.settings == ("attention", "model.size")
    assert len({row.group.label for row in found.rows}) == 3, "names of one kind get their hash"
    assert re.fullmatch(r"attention=dot \([0-9a-f]{6}\)", found.rows[-1].group.label)


def test_no_two_rows_share_a_name(sweep: Path) -> None:
    """Rows are looked up by it: where the configuration is the same the vocabulary tells them apart."""
    for seed, right in enumerate((18, 19, 20), start=1):
        run = make_run(sweep / f"3{seed}_dot", "Dot", seed, right=right, vocabulary_hash="dead")
    make_run(sweep / "41_dot", model={"size": 16})
    found = compare(sweep, baseline=str(run))
    names = [row.group.label.replace(row.group.runs[0].results["config_hash"][:6], "#") for row in found.rows]
    assert names == [
        "attention=dot (#, beef)",
        "attention=additive",
        "attention=dot (#, dead)",
        "attention=dot (#)",
    ]
    assert found.best("exact_match") == [found.baseline] == [found.rows[2]]
    assert table.difference(found, found.rows[0]) == pytest.approx(1.55 / 3 - 0.95)


def test_what_has_no_configuration_does_not_make_columns(sweep: Path, tmp_path: Path) -> None:
    """Kept results and predictions say less of themselves, not something else."""
    write_predictions(tmp_path / "other", {"test": items(TARGETS)})
    content = json.loads((sweep / "11_dot" / "results.json").read_text())
    kept = tmp_path / "cosine.json"
    kept.write_text(json.dumps({**content, "config_hash": "c05", "overrides": ["++attention=cosine"]}))
    found = compare(sweep, kept, tmp_path / "other")
    assert found.settings == ("attention",)
    assert [row.group.settings["attention"] for row in found.rows] == ["Dot", "Additive", "cosine", ""]
    found = compare(sweep / "11_dot", kept, tmp_path / "other")
    assert [row.group.settings for row in found.rows] == [
        {"attention": said} for said in ("dot", "cosine", "")
    ]
    assert compare(sweep / "11_dot", tmp_path / "other").settings == ()
    kept.write_text(json.dumps({**content, "seed": 0, "overrides": ["attention=dot"]}))
    found = compare(sweep, kept)
    assert found.rows[0].group.settings == {"attention": "Dot"}, "of a row, one run that has it is enough"


def test_of_many_settings_a_table_shows_the_first_and_those_that_were_typed_come_first(sweep: Path) -> None:
    make_run(sweep / "wide", "Cosine", model={f"size_{number}": number for number in range(10)})
    status = json.loads((sweep / "11_dot" / "status.json").read_text())
    status["overrides"].append("model.size_7=3")
    (sweep / "11_dot" / "status.json").write_text(json.dumps(status))
    found = compare(sweep)
    assert len(found.settings) == 11
    heads = [column.head for column in table.columns(found)]
    assert heads[:10] == ["run", "attention", "model.size_7", *(f"model.size_{n}" for n in range(6)), "n"]
    assert "not shown: 3 of 11 settings that differ; --csv and --html have them" in table.notes(found)
    assert not any("settings that differ" in line for line in table.notes(found, complete=True))
    assert len(table.columns(found, complete=True)) == len(heads) + 3 + 1  # and tf_perplexity


def test_a_mean_over_fewer_runs_than_its_row_says_so(sweep: Path) -> None:
    edit(sweep / "21_additive", test={"exact_match": 0.7, "tf_perplexity": float("inf")})
    found = compare(sweep, metrics=("exact_match", "tf_perplexity"))
    note = "tf_perplexity: no finite value in 1 of 3 runs of attention=additive"
    assert note in table.notes(found)
    assert note not in table.notes(compare(sweep)), "which does not show it"
    assert note in table.notes(compare(sweep), complete=True)


def test_controls_are_one_line_and_no_columns_unless_asked_for(sweep: Path) -> None:
    named = {"exact_match": "majority_exact_match", "tf_perplexity": "majority_tf_perplexity"}
    controls = {"majority": {"said": "the most frequent answer", "of_model": False, "metrics": named}}
    for number, run in enumerate(sorted(sweep.iterdir())):
        test = json.loads((run / "results.json").read_text())["test"]
        scored = {"majority_exact_match": 0.25 + (number > 2) / 4, "majority_tf_perplexity": 9.0}
        edit(run, test={**test, **scored}, controls=controls)
    found = compare(sweep)
    line = "controls: the most frequent answer: exact_match 0.2500 to 0.5000"
    assert line in table.notes(found)
    assert f"{line}, tf_perplexity 9.000" in table.notes(found, complete=True)
    for complete in (False, True):
        assert not any("majority" in column.head for column in table.columns(found, complete=complete))
    asked = compare(sweep, metrics=("exact_match", "majority_exact_match"))
    assert any(column.head == "majority_exact_match" for column in table.columns(asked))
    assert "majority_exact_match" in table.comma_separated(found)


def test_the_best_of_each_column(sweep: Path) -> None:
    found = compare(sweep)
    dot, additive = found.rows
    assert found.best("exact_match") == [additive]
    assert found.best("parameters") == [dot]
    assert found.best("tf_perplexity") == [], "equal"
    make_run(sweep / "wide", model={"size": 16}, tf=1, test={"exact_match": 0.1, "tf_perplexity": 1.5})
    found = compare(sweep)
    assert found.best("tf_perplexity") == [found.rows[2]], "the lowest"


def test_times_on_other_machines_are_no_contest(sweep: Path) -> None:
    make_run(sweep / "fast", "Cosine", seconds=1.0, machine={"processor": "Another", "cores": 64})
    found = compare(sweep)
    assert found.best("seconds") == []
    assert any("kinds of machines" in note for note in found.notes)


def test_runs_that_did_not_finish_are_listed_and_in_no_mean(sweep: Path) -> None:
    make_unfinished(sweep / "31_dot", State.DIVERGED, ValueError("loss is nan"))
    make_unfinished(sweep / "32_dot", State.FAILED, RuntimeError("no memory\nmore"))
    make_unfinished(sweep / "33_dot", State.PREEMPTED)
    edit(make_run(sweep / "34_dot", seed=7), test={"exact_match": float("nan")})
    (make_run(sweep / "35_dot", seed=8) / "results.json").write_text("{", encoding="utf-8")
    (make_run(sweep / "36_dot", seed=9) / "results.json").unlink()
    (make_run(sweep / "37_dot", seed=10) / "status.json").write_text("[]", encoding="utf-8")
    edit(make_run(sweep / "38_dot", seed=11), test={"exact_match": "high"})
    found = compare(sweep)
    assert [row.scores["exact_match"].n for row in found.rows] == [3, 3]
    reasons = {run.path.name: f"{run.state}: {run.left_out}" for run in found.left_out}
    assert reasons.keys() == {f"3{number}_dot" for number in range(1, 9)}
    assert reasons["31_dot"] == "diverged: ValueError: loss is nan"
    assert reasons["32_dot"] == "failed: RuntimeError: no memory"
    assert reasons["33_dot"] == "preempted: it is preempted"
    assert reasons["34_dot"] == "finished: its test exact_match is nan"
    assert reasons["35_dot"].startswith("unreadable: ")
    assert "is no JSON" in reasons["35_dot"]
    assert "it was not tested" in reasons["36_dot"]
    assert "is not a run's status" in reasons["37_dot"]
    assert "test/exact_match must be a number, got 'high'" in reasons["38_dot"]
    for text in (table.markdown(found), table.comma_separated(found)):
        assert "loss is nan" in text


@pytest.mark.hostile("run file")
@pytest.mark.parametrize(
    "damage",
    [
        {"signatures": []},
        {"signatures": {"exact_match": 3}},
        {"checkpoint": "x"},
        {"per_second": [1]},
        {"machine": "x"},
        {"versions": "x"},
        {"test_hash": 5},
        {"test_hash": ["a"]},
        {"vocabulary_hash": ["a"]},
        {"experiment": ["a"]},
        {"seed": True},
        {"seed": 2**64},
    ],
    ids=str,
)
def test_damaged_results_stop_no_comparison(sweep: Path, damage: dict[str, Any]) -> None:
    edit(sweep / "11_dot", **damage)
    found = compare(sweep)
    assert [row.scores["exact_match"].n for row in found.rows] == [2, 3]
    (damaged,) = found.left_out
    assert damaged.state == "unreadable"
    assert all(key in str(damaged.left_out) for key in ("results.json", *damage))


@pytest.mark.hostile("run file")
@pytest.mark.parametrize(
    ("damage", "state"),
    [
        ({"state": "failed", "exception": 5}, "failed"),
        ({"state": "running", "pid": 10**400}, "unreadable"),
    ],
    ids=["exception", "pid"],
)
def test_a_damaged_status_stops_no_comparison(sweep: Path, damage: dict[str, Any], state: str) -> None:
    path = sweep / "11_dot" / "status.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **damage}), encoding="utf-8")
    found = compare(sweep)
    assert [run.state for run in found.left_out] == [state]
    assert [row.scores["exact_match"].n for row in found.rows] == [2, 3]


@pytest.mark.hostile("run file")
@pytest.mark.parametrize(
    "damage",
    ["- a list", "data: words", "data: {}\ncallbacks: [1]", "data: {a: 2026-01-31}", "data: {a: [", "\x00"],
)
def test_a_damaged_configuration_stops_no_comparison(sweep: Path, damage: str) -> None:
    for run in sweep.glob("*_dot"):
        (run / "config.yaml").write_text(damage, encoding="utf-8")
    assert [row.scores["exact_match"].n for row in compare(sweep).rows] == [3, 3]


def test_a_number_too_large_for_statistics_is_none(sweep: Path) -> None:
    for seed, value in ((4, 1e308), (5, 1e308), (6, 10**400), (7, float("inf"))):
        make_run(sweep / f"3{seed}_dot", "Dot", seed, test={"exact_match": value, "tf_perplexity": 4.0})
    found = compare(sweep)
    assert [row.scores["exact_match"].n for row in found.rows] == [3, 3]
    reasons = [str(run.left_out) for run in found.left_out]
    assert reasons == [f"its test exact_match is {value}" for value in ("1e+308", "1e+308", "inf", "inf")]


def test_a_cost_that_is_not_finite_is_none(sweep: Path) -> None:
    edit(sweep / "11_dot", seconds=float("nan"), per_second={"tokens": float("inf")}, parameters=10**400)
    edit(sweep / "12_dot", peak_memory_bytes=float("inf"))
    costs = compare(sweep).rows[0].costs
    counts = {name: costs[name].n for name in ("seconds", "per_second", "parameters", "peak_memory_bytes")}
    assert counts == {"seconds": 2, "per_second": 2, "parameters": 2, "peak_memory_bytes": 2}


def cut(run: Path, count: int) -> None:
    """Cuts a run's predictions at a line end."""
    path = run / "predictions.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(True)[:count]), encoding="utf-8")


@pytest.mark.hostile("run file")
@pytest.mark.parametrize("name", ["11_dot", "23_additive"])
def test_predictions_that_were_cut_stop_no_comparison(sweep: Path, name: str) -> None:
    cut(sweep / name, 7)
    found = compare(sweep)
    assert [row.scores["exact_match"].n for row in found.rows] == [3, 3]
    assert found.rows[1].items is None
    (note,) = [note for note in found.notes if "no p over" in note]
    assert f"{name}: its predictions score 1.0000, results.json says " in note


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_predictions_that_were_cut_are_no_reference(tmp_path: Path, name: str) -> None:
    """Also where what is left scores the same, and beside a system whose items are its own."""
    for of, score in (("a", "Dot"), ("b", "Additive"), ("c", "Cosine")):
        make_run(tmp_path / "runs" / of, score, right=20)
    cut(tmp_path / "runs" / name, 7)
    write_predictions(tmp_path / "other", {"test": items(TARGETS)})
    found = compare(tmp_path / "other", tmp_path / "runs", metrics=("exact_match",))
    assert [row.items is None for row in found.rows] == [True, *(of == name for of in "abc")]
    (note,) = [note for note in found.notes if "no p over" in note]
    assert note.endswith(f"{name}: its predictions are of 7 of 20 test items: no p over test items")


def test_a_run_that_is_gone_was_killed(sweep: Path) -> None:
    run = make_run(sweep / "31_dot", seed=4)
    status = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps({**status, "state": "running", "pid": 2**30}))
    (lost,) = compare(sweep).left_out
    assert (lost.state, lost.left_out) == ("killed", "it was killed")


def test_a_job_whose_folder_is_gone_is_named(sweep: Path) -> None:
    jobs = [{"folder": name, "overrides": [], "config": {}} for name in ("11_dot", "14_dot")]
    plain = {"overrides": [], "launcher": "local", "sweeper": "basic", "commit": None, "options": {}}
    (sweep / "sweep.json").write_text(json.dumps({**plain, "jobs": jobs}))
    for asked in (sweep, sweep.parent):
        (lost,) = compare(asked).left_out
        assert (lost.path.name, lost.state) == ("14_dot", "gone")
    (sweep / "sweep.json").write_text("{")
    assert not compare(sweep).left_out


def test_a_seed_counts_once(sweep: Path) -> None:
    make_run(sweep / "99_again", "Dot", 2, right=20)
    found = compare(sweep)
    assert found.rows[0].scores["exact_match"].n == 3
    assert found.rows[0].scores["exact_match"].most == 1.0, "the last one counts"
    (repeated,) = found.left_out
    assert (repeated.path.name, repeated.left_out) == (
        "12_dot",
        f"it repeats seed 2 of {sweep / '99_again'}",
    )


@pytest.mark.parametrize("first", ["recipe", "typed"])
def test_of_a_repeated_seed_the_recipe_counts_in_any_order(tmp_path: Path, first: str) -> None:
    """What was typed says what the recipe says already: one configuration."""
    runs = {name: make_run(tmp_path / name, right=right) for name, right in (("recipe", 10), ("typed", 15))}
    typed(runs["recipe"], "experiment=toy", "seed=1")
    found = compare(runs[first], *runs.values())
    assert [row.scores["exact_match"].mean for row in found.rows] == [0.5]
    assert [run.path.name for run in found.left_out] == ["typed"]


def test_results_without_any_metric_are_refused_by_name(sweep: Path) -> None:
    for run in sweep.iterdir():
        edit(run, test={})
    assert "no run measured anything on test" in refused(sweep)


def test_digits_follow_the_size_of_a_score(sweep: Path) -> None:
    """CIDEr-D is about 6, of which two places would say that all are alike; BLEU goes up to 100."""
    for number, run in enumerate(sorted(sweep.iterdir())):
        edit(run, test={"exact_match": 0.9, "cider_d": 6.01 + number / 1000, "bleu": 39.5 + number / 1000})
    cells = {
        name: next(one for one in table.columns(compare(sweep, metrics=(name,))) if one.head == name).cells[0]
        for name in ("exact_match", "cider_d", "bleu")
    }
    assert cells == {
        "exact_match": "0.9000 ± 0.0000",
        "cider_d": "6.011 ± 0.001",
        "bleu": "39.50 ± 0.00",
    }


def test_a_name_of_two_lines_is_one_cell_of_one_line(sweep: Path) -> None:
    typed(sweep / "11_dot", "attention=dot", "model.note=one\ntwo")
    assert not any("\n" in cell for one in table.columns(compare(sweep)) for cell in one.cells)


def test_the_same_run_given_twice_is_one(sweep: Path) -> None:
    found = compare(sweep, sweep / ".." / sweep.name / "11_dot")
    assert [row.scores["exact_match"].n for row in found.rows] == [3, 3]
    assert found.left_out == ()


def test_a_baseline_by_name_or_by_run(sweep: Path) -> None:
    for wanted in ("attention=additive", str(sweep / "22_additive")):
        found = compare(sweep, baseline=wanted)
        assert found.baseline.group.label == "attention=additive"
        assert found.rows[0].seeds is not None
        assert found.rows[0].seeds.difference < 0
    assert "did you mean attention=dot?" in refused(sweep, baseline="attention=dott")
    assert "did you mean attention=additive?" in refused(sweep, baseline="attention=addtive")
    assert "no group is called 'aaaa" in refused(sweep, baseline="a" * 300)


def test_an_unknown_baseline_of_many_rows_does_not_list_them(sweep: Path) -> None:
    for number in range(25):
        make_run(sweep / f"size_{number}", config_hash=f"{number}")
        typed(sweep / f"size_{number}", f"model.size={number}")
    said = refused(sweep, baseline="model.size=77")
    assert "did you mean model.size=7?" in said
    assert "model.size=3" not in said


def test_two_words_for_one_configuration_are_one_row_with_both_names(sweep: Path) -> None:
    """Their runs are the same: a seed counts once, whatever was typed, and each word finds the row."""
    for seed in (1, 2, 3):
        again = make_run(sweep / f"3{seed}_concat", "Additive", seed, right=15)
        typed(again, "attention=concat")
    found = compare(sweep)
    both = "attention=concat or attention=additive"
    assert [row.group.label for row in found.rows] == ["attention=dot", both]
    assert found.rows[1].scores["exact_match"].n == 3
    assert [run.path.name for run in found.left_out] == ["21_additive", "22_additive", "23_additive"]
    for wanted in ("attention=additive", "attention=concat", both, str(sweep / "22_additive")):
        assert compare(sweep, baseline=wanted).baseline.group.label == both


def test_what_all_rows_share_is_in_no_name_and_order_is_no_difference(tmp_path: Path) -> None:
    for name, seed, words in (
        ("Dot", 1, ("attention=dot", "trainer.max_steps=9")),
        ("Dot", 2, ("trainer.max_steps=9", "attention=dot")),
        ("Additive", 1, ("trainer.max_steps=9", "attention=additive")),
    ):
        typed(make_run(tmp_path / f"{name}{seed}", name, seed), *words)
    found = compare(tmp_path)
    assert [row.group.label for row in found.rows] == ["attention=additive", "attention=dot"]
    for wanted in ("attention=dot", "attention=dot,trainer.max_steps=9", "trainer.max_steps=9,attention=dot"):
        assert compare(tmp_path, baseline=wanted).baseline.group.label == "attention=dot"
    alone = compare(tmp_path / "Dot1", tmp_path / "Dot2")
    assert [row.group.label for row in alone.rows] == ["attention=dot,trainer.max_steps=9"]


def test_the_recipe_as_it_stands_is_the_baseline(sweep: Path) -> None:
    for seed in (1, 2, 3):
        typed(sweep / f"2{seed}_additive", "experiment=toy")
    assert compare(sweep).baseline.group.label == "toy"


def test_a_baseline_that_may_be_two_is_refused(sweep: Path) -> None:
    make_run(sweep / "wide", model={"size": 16})
    assert "'attention=dot' may be attention=dot (" in refused(sweep, baseline="attention=dot")


def test_that_seeds_show_no_spread_is_said(tmp_path: Path) -> None:
    for seed, right in ((1, 10), (2, 12)):
        make_run(tmp_path / f"dot{seed}", "Dot", seed, right=right)
        make_run(tmp_path / f"additive{seed}", "Additive", seed, right=right + 2)
        make_run(tmp_path / f"general{seed}", "General", seed, right=2 * right - 9)
    said = "no p over seeds: every seed shows the same difference: attention="
    (note,) = [line for line in table.notes(compare(tmp_path, baseline="attention=dot")) if "no p" in line]
    assert note == f"{said}additive"
    assert not any(
        "no p over" in line for line in table.notes(compare(tmp_path / "dot1", tmp_path / "general1"))
    )


def test_another_test_set_is_refused(sweep: Path) -> None:
    edit(sweep / "21_additive", test_hash="5" * 64)
    message = refused(sweep)
    assert "cannot be compared by exact_match: test_hash (the test items) differs" in message
    assert f"c0ffee in {sweep / '11_dot'}, {sweep / '12_dot'} and 3 more" in message
    assert f"555555555555 in {sweep / '21_additive'}" in message


def test_another_way_to_compute_a_metric_is_refused_for_that_metric(sweep: Path) -> None:
    signature = "nrefs:1|case:mixed|tok:13a"
    for run in sweep.iterdir():
        edit(run, signatures={"exact_match": signature})
    assert compare(sweep).metric == "exact_match"
    edit(sweep / "12_dot", signatures={"exact_match": "nrefs:1|case:lc|tok:13a"})
    assert "the signature of exact_match differs: nrefs:1|case:mixed|tok:13a in " in refused(sweep)
    words = "characters; windows of {} tokens, each {} behind the last"
    for run in sweep.iterdir():
        edit(run, signatures={"exact_match": words.format(8, 2 if run.name == "12_dot" else 8)})
    message = refused(sweep)
    assert f'"{words.format(8, 8)}" in ' in message
    assert f'but "{words.format(8, 2)}" in {sweep / "12_dot"}' in message
    assert compare(sweep, metrics=("tf_perplexity",)).metric == "tf_perplexity"
    edit(sweep / "12_dot", signatures={})
    assert f"none in {sweep / '12_dot'} (`zoo test RUN` writes results that have it)" in refused(sweep)


def test_perplexities_of_other_vocabularies_are_refused(sweep: Path) -> None:
    edit(sweep / "22_additive", vocabulary_hash="dead")
    assert "vocabulary_hash (a token of tf_perplexity is not the same thing) differs" in refused(
        sweep, metrics=("tf_perplexity",)
    )
    assert "exact_match, tf_perplexity: vocabulary_hash" in refused(
        sweep, metrics=("exact_match", "tf_perplexity")
    )
    found = compare(sweep)
    assert len(found.rows) == 3, "files of one's own are in no config_hash: the vocabulary tells them apart"
    assert all("tf_perplexity" not in row.scores for row in found.rows), "nor shown beside each other"


def test_questions_that_nothing_answers(sweep: Path, tmp_path: Path) -> None:
    assert "no run has the metric 'exact_mach' of test; did you mean exact_match?" in refused(
        sweep, metrics=("exact_mach",)
    )
    assert "no run has the split 'tset'; did you mean test?" in refused(sweep, split="tset")
    assert f"sweeep does not exist; did you mean {sweep}?" in refused(tmp_path / "sweeep")
    (tmp_path / "empty").mkdir()
    assert "holds no run" in refused(tmp_path / "empty")
    lost = make_unfinished(tmp_path / "lost", State.DIVERGED)
    assert "there is no finished run to compare" in refused(lost)
    for number in range(3):
        make_unfinished(tmp_path / "study" / str(number), State.PRUNED)
    assert "there is no finished run to compare (3 pruned)" in refused(tmp_path / "study")


def test_predictions_of_any_system_stand_beside_runs(sweep: Path, tmp_path: Path) -> None:
    write_predictions(tmp_path / "other", {"test": items(TARGETS)})
    found = compare(sweep, tmp_path / "other" / "predictions.jsonl")
    other = found.rows[2]
    assert other.group.label.endswith("other/predictions.jsonl")
    assert other.scores["exact_match"].mean == 1
    assert other.items is not None
    assert other.items.p < 0.1
    write_predictions(tmp_path / "short", {"test": items(TARGETS[:5])})
    assert "hold other test items (20 and 5 of them)" in refused(sweep, tmp_path / "short")


def test_kept_results_alone_are_enough(sweep: Path, tmp_path: Path) -> None:
    for run in sorted(sweep.iterdir()):
        content = json.loads((run / "results.json").read_text())
        typed = [f"attention={run.name.partition('_')[2]}"]
        kept = tmp_path / "results" / "toy" / f"{run.name}.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({**content, "overrides": typed}))
    (tmp_path / "results" / "benchmark.json").write_text('{"size": 3}')
    found = compare(tmp_path / "results")
    assert [row.group.label for row in found.rows] == ["attention=dot", "attention=additive"]
    assert found.settings == ("attention",)
    assert found.rows[1].items is None
    assert any("has no predictions.jsonl" in note or "more have" in note for note in found.notes)


def test_predictions_that_do_not_score_what_the_results_say_have_no_p(sweep: Path) -> None:
    edit(sweep / "21_additive", test={"exact_match": 0.9})
    found = compare(sweep)
    assert found.rows[1].items is None
    assert found.rows[1].seeds is not None
    assert any("its predictions score 0.7000, results.json says 0.9000" in note for note in found.notes)


def describe(run: Path, said: list[str]) -> Path:
    """Makes a run's test items pictures with five captions, as a captioning task keeps and scores them."""
    references = [[f"A {size} {colour} ball lies {place} ." for size in SIZES] for colour, place in SCENES]
    kept = [
        {"id": number, "input": f"{number}.png", "references": captions, "prediction": text}
        for number, (captions, text) in enumerate(zip(references, said, strict=True))
    ]
    write_predictions(run, {"test": kept})
    metrics = caption_metrics()
    for metric in metrics.values():
        metric.update(said, references)
    scores = {name: float(metric.compute()) for name, metric in metrics.items()}
    scores["exact_match"] = sum(
        f"A{text[1:]} ." in of for text, of in zip(said, references, strict=True)
    ) / len(said)
    shuffled = {f"shuffled_{name}": 0.1 for name in metrics}
    signed = {name: metric.signature for name, metric in metrics.items()}
    declared = {name: {"better": "max", "items": name} for name in metrics}
    declared["exact_match"] = {"better": "max", "items": "caption_match"}
    content = {"test": scores | shuffled, "checkpoint": {"metric": "val/cider_d"}}
    return edit(run, **content, signatures=signed, metrics=declared)


def test_what_is_not_known_of_test_items_is_said(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / score, score, test_other={"tf_perplexity": 2.0}) for score in ("Dot", "Cosine")
    ]
    found = compare(tmp_path, metrics=("tf_perplexity",), split="test_other")
    assert (
        "that all were tested on the same test_other is not known: test_hash is of test alone" in found.notes
    )
    assert not any("not known" in note for note in compare(tmp_path).notes)
    for run in runs:
        edit(run, test_hash=None)
    assert not any("not known" in note for note in compare(tmp_path).notes), "predictions were compared"
    found = compare(tmp_path, metrics=("tf_perplexity",))
    assert any("no results.json has a test_hash" in note for note in found.notes)


def test_what_a_hash_does_not_count_is_said(tmp_path: Path) -> None:
    for seed in (1, 2):
        StatusFile(make_run(tmp_path / f"run{seed}", "Dot", seed)).start(
            ["attention=dot", f"seed={seed}", f"data.train=corpus{seed}.tsv", "logger=csv"]
        )
        StatusFile(tmp_path / f"run{seed}").end(State.FINISHED, exit_code=0)
    (said,) = [note for note in compare(tmp_path).notes if "typed as" in note]
    assert "counted as one configuration" in said
    assert said.endswith("typed as: data.train=corpus1.tsv; data.train=corpus2.tsv")


def test_intervals_of_fewer_seeds_are_said(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        make_run(tmp_path / f"a{seed}", "Dot", seed, right=8 + seed)
    for seed in (1, 2):
        make_run(tmp_path / f"b{seed}", "Cosine", seed, right=4 + 2 * seed)
    said = "95 % (seeds): of the difference over these seeds alone, which may be fewer than n"
    assert said in table.notes(compare(tmp_path))
    make_run(tmp_path / "b3", "Cosine", 3, right=4)
    assert said not in table.notes(compare(tmp_path))


SIZES = ("big", "small", "round", "tiny", "huge")
SCENES = [
    (colour, place) for colour in ("red", "green", "blue", "white") for place in ("here", "there", "low")
]


def test_how_well_maps_that_know_nothing_point_has_no_best(tmp_path: Path) -> None:
    for number, score in enumerate(("Dot", "Additive")):
        scores = {
            "exact_match": 0.5,
            "pointing_accuracy": 0.9 + number / 20,
            "pointing_centre": 0.1 + number / 20,
        }
        make_run(tmp_path / score, score, test=scores)
    found = compare(tmp_path)
    assert len(found.best("pointing_accuracy")) == 1
    assert found.best("pointing_centre") == []


@pytest.fixture
def captioners(tmp_path: Path) -> Path:
    """One that is often right, and one that hardly knows a colour."""
    better = [
        f"a big {colour} ball lies {place if n % 4 else 'high'}" for n, (colour, place) in enumerate(SCENES)
    ]
    worse = [
        f"a big {'red' if n % 3 else colour} ball lies {place}" for n, (colour, place) in enumerate(SCENES)
    ]
    describe(make_run(tmp_path / "captioners" / "worse", "Dot"), worse)
    describe(make_run(tmp_path / "captioners" / "better", "Additive"), better)
    return tmp_path / "captioners"


def test_captions_are_compared_image_by_image(captioners: Path) -> None:
    found = compare(captioners, baseline="attention=dot")
    assert found.metric == "cider_d", "what picked the checkpoint"
    for metric in ("cider_d", "rouge_l", "exact_match", "bleu_1", "bleu_4", "bleu_4_nobp"):
        found = compare(captioners, baseline="attention=dot", metrics=(metric,))
        (better,) = found.best(metric)
        assert better.group.label == "attention=additive"
        assert better.items is not None, found.notes
        assert better.items.low < better.items.difference < better.items.high
        worse = found.baseline.scores[metric].mean
        assert better.items.difference == pytest.approx(better.scores[metric].mean - worse, rel=1e-4)
    assert any("n:4|bp:none|tok:coco|case:lc|version:1" in note for note in found.notes)
    assert found.best("shuffled_cider_d") == []


def test_ciders_document_frequencies_are_those_of_all_images(captioners: Path) -> None:
    """Of images that are drawn anew the score is a mean: what each adds was measured once."""
    found = compare(captioners, baseline="attention=dot", samples=300, seed=7)
    worse, better = (
        [item["prediction"] for item in read_split(captioners / name / "predictions.jsonl", "test")]
        for name in ("worse", "better")
    )
    references = [
        item["references"] for item in read_split(captioners / "worse" / "predictions.jsonl", "test")
    ]
    whole = CiderReferences(references)
    differences = np.array(whole.scores(better)) - np.array(whole.scores(worse))
    generator = np.random.default_rng(7)
    drawn = [differences[generator.choice(len(SCENES), size=len(SCENES))].mean() for _ in range(300)]
    row = next(row for row in found.rows if row.items)
    assert row.items is not None
    assert (row.items.low, row.items.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))
    assert row.items.p == pytest.approx((sum(one <= 0 for one in drawn) + 1) / 301)


def test_captions_scored_in_another_way_are_refused(captioners: Path) -> None:
    edit(captioners / "worse", signatures={"cider_d": "n:4|sigma:5|df:split|tok:coco|case:lc|version:1"})
    assert "the signature of cider_d differs: n:4|sigma:6|df:split" in refused(captioners)


def test_captions_of_any_system_stand_beside_runs(captioners: Path) -> None:
    write_predictions(captioners / "other", read_predictions(captioners / "better" / "predictions.jsonl"))
    found = compare(captioners, captioners / "other" / "predictions.jsonl")
    alone = compare(captioners / "other", metrics=("cider_d",))
    assert found.rows[2].scores["cider_d"].mean == pytest.approx(found.rows[0].scores["cider_d"].mean)
    assert alone.rows[0].scores["cider_d"].mean == found.rows[2].scores["cider_d"].mean


def test_an_error_is_compared_item_by_item_too(sweep: Path) -> None:
    for run in sweep.iterdir():
        content = json.loads((run / "results.json").read_text())
        edit(run, test={"error": 1 - content["test"]["exact_match"]})
    found = compare(sweep, metrics=("error",))
    assert found.rows[1].items is not None
    assert found.rows[1].items.difference == pytest.approx(1.55 / 3 - 0.75)
    assert found.best("error") == [found.rows[1]]


@pytest.mark.parametrize("width", [70, 100, 200])
def test_a_terminal_gets_parts_that_fit(sweep: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(table, "Console", lambda: console)
    table.print_table(compare(sweep))
    framed = [line for line in written.getvalue().splitlines() if line[:1] in "┃│"]
    assert max(map(len, framed)) <= width
    for text in ("0.7500 ± 0.0500 *", "0.7000 to 0.8000", "+0.2333", "1,500", "p (seeds)"):
        assert sum(text in line for line in framed) == 1, "whole, and once"


def test_markdown(sweep: Path) -> None:
    lines = table.markdown(compare(sweep, metrics=("exact_match", "tf_perplexity"))).splitlines()
    heads = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert heads[:6] == ["run", "attention", "n", "exact_match", "95 % interval", "min to max"]
    assert heads[-5:] == ["tf_perplexity", "parameters", "seconds", "tokens/s", "GB"]
    cells = dict(zip(heads, (cell.strip() for cell in lines[3].strip("|").split("|")), strict=True))
    assert cells["exact_match"] == "**0.7500 ± 0.0500**"
    assert cells["min to max"] == "0.7000 to 0.8000"
    assert cells["difference"] == "+0.2333"
    assert cells["parameters"] == "1,500"
    assert "| **1,000** |" in lines[2]
    assert any("paired t-test over seeds 1, 2, 3" in line for line in lines)


def test_nothing_in_a_name_is_markdown(sweep: Path) -> None:
    make_unfinished(sweep / "31_dot", State.FAILED, ValueError("<img src=x> *a* `b` ![c](d) ~e~ f|g &lt; \\"))
    text = table.markdown(compare(sweep))
    assert r"\<img src=x> \*a\* \`b\` ![c\](d) \~e\~ f\|g \&lt; \\" in text
    assert "| [0.6258, 0.8742] |" in text, "numbers stay as they are"


def test_nothing_is_less_than_zero_by_rounding(sweep: Path) -> None:
    for seed in (1, 2, 3):
        value = json.loads((sweep / f"1{seed}_dot" / "results.json").read_text())["test"]["exact_match"]
        edit(next(sweep.glob(f"2{seed}_*")), test={"exact_match": value - 1e-9 * seed})
    shown = {column.head: column.cells[1] for column in table.columns(compare(sweep))}
    assert shown["difference"] == "+0.0000"
    assert shown["95 % (seeds)"] == "[+0.0000, +0.0000]"


def test_names_that_are_no_text_are_written_with_escapes(
    sweep: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    make_unfinished(Path(os.fsdecode(bytes(sweep) + b"/31_\xff")), State.FAILED, ValueError("why"))
    write_predictions(Path(os.fsdecode(bytes(sweep) + b"_\xfe")), {"test": items(TARGETS)})
    found = compare(sweep, Path(os.fsdecode(bytes(sweep) + b"_\xfe")), metrics=("exact_match",))
    table.print_table(found)
    printed = capsysbinary.readouterr().out.decode()
    for text in (printed, table.markdown(found), table.comma_separated(found), page(found)):
        assert re.search(r"sweep/31_\\+udcff", text)
        assert re.search(r"sweep_\\+udcfe", text)
        text.encode()
    assert pictures(found).keys() == {"exact_match.png", "exact_match_against_speed.png"}


def test_comma_separated_values_are_complete(sweep: Path) -> None:
    make_unfinished(sweep / "31_dot", State.FAILED, ValueError("a, b"))
    rows = list(csv.DictReader(io.StringIO(table.comma_separated(compare(sweep)))))
    assert [row["state"] for row in rows] == ["finished", "finished", "failed"]
    assert float(rows[1]["exact_match"]) == pytest.approx(0.75)
    assert rows[1]["seeds"] == "1 2 3"
    assert float(rows[1]["seeds_p"]) < 0.05
    assert rows[0]["difference"] == ""
    assert rows[2]["reason"] == "ValueError: a, b"


def test_many_comparisons_are_warned_of(sweep: Path) -> None:
    assert not any("Bonferroni" in line for line in table.notes(compare(sweep)))
    make_run(sweep / "wide", model={"size": 16})
    assert any("divide 0.05 by 2" in line for line in table.notes(compare(sweep)))


def test_a_run_that_was_not_tested_says_how_to(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a")
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    del results["test"]
    (run / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (found,) = find_runs([run])
    assert (found.state, found.is_untested) == ("finished", True)
    assert found.left_out
    assert f"`zoo test {run}`" in found.left_out


def test_runs_that_were_not_tested_are_compared_by_validation(tmp_path: Path) -> None:
    for name, seed, measured in (("a", 1, 0.5), ("b", 2, 0.75)):
        path = make_run(tmp_path / name, seed=seed) / "results.json"
        results = json.loads(path.read_text(encoding="utf-8"))
        del results["test"]
        results["val"] = {"exact_match": measured}
        path.write_text(json.dumps(results), encoding="utf-8")
    said = refused(tmp_path)
    assert "(2 runs were not tested: `--split val` compares without, `zoo test RUN` tests one)" in said
    assert "it was not tested" in refused(tmp_path / "a"), "of one run its own command is named"
    found = compare(tmp_path, split="val", metrics=("exact_match",))
    (row,) = found.rows
    assert (row.scores["exact_match"].mean, row.scores["exact_match"].n) == (0.625, 2)
    assert not found.left_out
    assert any("picked each checkpoint" in note for note in found.notes)
    make_run(tmp_path / "tested", seed=3)
    assert [run.is_untested for run in compare(tmp_path).left_out] == [True, True]
