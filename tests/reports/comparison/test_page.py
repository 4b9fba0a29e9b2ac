"""What the page shows, and that it is one file which a browser can read alone."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import edit, items, make_run, make_unfinished
from PIL import Image

from zoo.reports.comparison import page_data as module
from zoo.reports.comparison.comparison import Comparison, Question, compare
from zoo.reports.comparison.curves import bands, read_curves
from zoo.reports.comparison.html import page
from zoo.reports.comparison.page_data import page_data
from zoo.reports.runs import find_runs
from zoo.runs.predictions import write_predictions
from zoo.runs.status import State

_FILE = BytesIO()
Image.new("RGB", (7, 5)).save(_FILE, "png")
PICTURE = _FILE.getvalue()


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    for seed in (1, 2):
        make_run(tmp_path / "sweep" / f"a{seed}", "Dot", seed, right=8 + seed)
        make_run(tmp_path / "sweep" / f"b{seed}", "Cosine", seed, right=4 + seed)
        make_run(tmp_path / "sweep" / f"c{seed}", "Additive", seed, right=12 + seed, model={"size": 16})
    return tmp_path / "sweep"


def compared(path: Path) -> Comparison:
    return compare(find_runs([path]), Question(samples=20))


def test_the_baseline_then_the_best_come_first(sweep: Path) -> None:
    found = page_data(compared(sweep))
    assert found["labels"] == ["attention=dot", "attention=cosine", "attention=additive"]
    assert found["order"] == [0, 2, 1]
    assert (found["baseline"], found["runs"]) == (0, 6)
    assert found["settings"]["model.size"] == ["8", "8", "16"]
    assert found["costs"]["tokens/s"] == {"moreIsBetter": True, "values": [1000.0] * 3}


def test_costs_are_in_the_units_of_their_heads_and_of_one_machine(sweep: Path) -> None:
    assert page_data(compared(sweep))["costs"]["GB"]["values"] == pytest.approx([2**30 * 1e-9] * 3)
    edit(sweep / "a1", machine={"processor": "another", "cores": 64})
    assert list(page_data(compared(sweep))["costs"]) == ["parameters"]


def test_the_table_is_complete(sweep: Path) -> None:
    """Also with metrics that were not asked for; numbers beside texts, to sort by."""
    found = {column["head"]: column for column in page_data(compared(sweep))["columns"]}
    assert found["tf_perplexity"]["cells"][0] == "4.500 ± 0.707"
    assert found["exact_match"]["values"] == pytest.approx([0.475, 0.275, 0.675])
    assert found["exact_match"]["best"] == [False, False, True]
    assert found["difference"]["values"][0] is None


def test_notes_say_how_the_page_marks_the_best(sweep: Path) -> None:
    first = page_data(compared(sweep))["notes"][0]
    assert first.startswith("Bold and green: the best of its column; differences are from attention=dot")


def test_curves_are_a_band_over_seeds(tmp_path: Path) -> None:
    """Seeds were validated at other steps, and one stopped sooner."""
    first = (np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0]))
    second = (np.array([10.0, 15.0, 25.0]), np.array([2.0, 3.0, 5.0]))
    found = bands([{"val/bleu": first}, {"val/bleu": second}])["val/bleu"]
    assert found.steps == [10, 20]
    assert found.mean == [1.5, 3.0], "4 of the second at step 20, between 3 and 5"
    assert (found.low, found.high) == ([1, 2], [2, 4])
    assert bands([{"a": first}, {}])["a"].mean == [1, 2, 3]


def test_what_is_no_number_is_a_gap(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    file.write_text("step,name,value\n1,val/bleu,nan\n2,val/bleu,3\n2,train/seconds,9\n", encoding="utf-8")
    curves = read_curves(file)
    assert list(curves) == ["val/bleu"]
    assert bands([curves])["val/bleu"].mean == [None, 3]


def test_curves_that_count_tokens_of_other_vocabularies_are_left_out(sweep: Path) -> None:
    names = ["val/exact_match", "train/loss"]
    assert list(page_data(compared(sweep))["curves"]) == names
    edit(sweep / "b1", vocabulary_hash="other")
    found = page_data(compared(sweep))
    assert list(found["curves"]) == names[:1]
    (note,) = (note for note in found["notes"] if note.startswith("no curves of"))
    assert note.startswith("no curves of train/loss: vocabulary_hash")


def test_kept_results_have_the_curve_of_what_picked_the_checkpoint(sweep: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for name, curve in (
        ("a1", {"step": [10, 20], "seconds": [1, 2], "value": [0.25, 0.5]}),
        ("b1", {"step": [1]}),
    ):
        edit(sweep / name, learning_curve=curve)
        (sweep / name / "results.json").rename(kept / f"{name}.json")
    found = page_data(compared(kept))
    (band, nothing) = found["curves"]["val/exact_match"]
    assert (band["steps"], band["mean"], nothing) == ([10, 20], [0.25, 0.5], None)
    assert "no learning curve: the learning_curve in the results of seed 1 is damaged" in found["notes"]


def test_long_curves_are_thinned(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    rows = "".join(f"{step},train/loss,{step * 2}\n" for step in range(10_000))
    file.write_text(f"step,name,value\n{rows}", encoding="utf-8")
    steps, values = read_curves(file)["train/loss"]
    assert len(steps) == 200
    np.testing.assert_allclose(values, steps * 2)
    assert values.mean() == pytest.approx(9999)


def test_predictions_are_of_the_same_items(sweep: Path) -> None:
    found = page_data(compared(sweep))["samples"]
    assert [item["id"] for item in found["items"]] == list(range(20))
    assert found["items"][3] == {"id": 3, "input": "day 3", "references": ["2020-01-04"]}
    assert [said[5] for said in found["predictions"]] == ["2020-01-06", "wrong", "2020-01-06"]


def test_what_is_missing_or_damaged_is_left_out(sweep: Path) -> None:
    for name in ("a1", "a2"):
        (sweep / name / "metrics.csv").unlink()
    for name in ("b1", "b2"):
        (sweep / name / "predictions.jsonl").unlink()
    (sweep / "c1" / "metrics.csv").write_text("step,name,value\n1,val/exact_match,high\n", encoding="utf-8")
    found = page_data(compared(sweep))
    curves = found["curves"]["val/exact_match"]
    assert [curve is None for curve in curves] == [True, False, False]
    assert curves[2]["low"] == curves[2]["high"], "one seed is left"
    assert any("metrics.csv, line 2" in note for note in found["notes"])
    assert found["samples"]["predictions"][1] is None


def test_pictures_have_a_budget_and_the_best_come_first(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a1", "b1", "c1"):
        (sweep / name / "figures").mkdir()
        (sweep / name / "figures" / "alignments_test.png").write_bytes(PICTURE.ljust(100, b"\0"))
        (sweep / name / "figures" / "alignments_step0000010.png").write_bytes(b"x" * 100)
    (alignments,) = page_data(compared(sweep))["pictures"].values()
    assert [(picture["width"], picture["height"]) for picture in alignments] == [(7, 5)] * 3
    monkeypatch.setattr(module, "_PICTURE_BYTES", 250)
    found = page_data(compared(sweep))
    assert [picture is not None for picture in found["pictures"]["alignments"]] == [True, False, True]
    assert any("pictures of 1 groups" in note for note in found["notes"])


def test_pictures_that_cannot_be_read_are_left_out(sweep: Path) -> None:
    for name in ("a1", "b1", "c1"):
        (sweep / name / "figures").mkdir()
    (sweep / "a1" / "figures" / "alignments_test.png").symlink_to("nowhere")
    (sweep / "b1" / "figures" / "alignments_test.png").mkdir()
    (sweep / "c1" / "figures" / "alignments_test.png").write_bytes(PICTURE)
    found = page_data(compared(sweep))
    assert [picture is not None for picture in found["pictures"]["alignments"]] == [False, False, True]
    assert sum("no pictures: " in note for note in found["notes"]) == 2
    (sweep / "c1" / "figures" / "alignments_test.png").write_bytes(b"x")
    found = page_data(compared(sweep))
    assert found["pictures"] == {}
    assert sum("no pictures: " in note for note in found["notes"]) == 3


WEIGHTS = [
    {
        "title": "",
        "axes": ["target", "source"],
        "rows": ["a", "b"],
        "columns": ["c"],
        "weights": [[0.25], [1.0]],
    },
    {"title": "right", "sentences": [{"words": ["x", " y"], "shades": [0.5, 1.0], "weight": None}]},
]


def test_weights_take_the_place_of_pictures(sweep: Path) -> None:
    for name, content in (
        ("a1", json.dumps(WEIGHTS)),
        ("b1", '[{"title": ""}]'),
        ("c1", json.dumps(WEIGHTS)),
    ):
        (sweep / name / "figures").mkdir()
        (sweep / name / "figures" / "alignments_test.png").write_bytes(PICTURE)
        (sweep / name / "figures" / "alignments_test.json").write_text(content)
    (sweep / "c1" / "figures" / "alignments_test.json").write_text(json.dumps(WEIGHTS).replace("[1.0]", "[]"))
    found = page_data(compared(sweep))
    first, *others = found["pictures"]["alignments"]
    assert (json.loads(json.dumps(first)), others) == ({"shown": WEIGHTS}, [None, None])
    said = [note for note in found["notes"] if note.startswith("no pictures: ")]
    assert len(said) == 2
    assert any("b1/figures/alignments_test.json: 0/" in note for note in said)
    assert any("numbers of labels and weights differ" in note for note in said)


def test_intervals_of_shares_stay_within_0_and_1(sweep: Path) -> None:
    for name in ("a1", "a2"):
        records = {"exact_match": {"better": "max", "share": True}}
        edit(sweep / name, test={"exact_match": 0.9 if name == "a1" else 1.0}, metrics=records)
    found = {column["head"]: column for column in page_data(compared(sweep))["columns"]}
    assert found["95 % interval"]["cells"][0] == "[0.3147, 1.0000]"
    assert any("mean, cut at 0 and 1" in note for note in page_data(compared(sweep))["notes"])


def test_numbers_that_json_does_not_know_are_in_no_page(sweep: Path) -> None:
    for name in ("a1", "b1", "b2"):
        edit(sweep / name, test={"exact_match": 0.5, "tf_perplexity": 1e308})
    edit(sweep / "c1", seconds=float("inf"))
    assert "</html>" in page(compared(sweep))


def test_the_page_is_one_file(sweep: Path) -> None:
    """What it holds cannot end the part it stands in, and nothing is fetched."""
    hostile = '</script><img src="http://example.org/x">{{script}}'
    edit(sweep / "b1", experiment=hostile)
    write_predictions(sweep / "a1", {"test": items([hostile] * 20)})
    edit(sweep / "a1", test={"exact_match": 0.0})
    make_unfinished(sweep / "z", State.FAILED, ValueError(hostile))
    text = page(compared(sweep))
    assert text.count("</script>") == 4
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none';")
    assert "connect-src" not in policy[1]
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", text.partition("<script>")[0])
    data: Any = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert data["samples"]["predictions"][0][0] == hostile
    assert hostile in data["leftOut"][0][2]
