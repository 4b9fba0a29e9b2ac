"""What a row is called where there is little room."""

import csv
import io
from pathlib import Path

import pytest
from compared_runs import make_run
from rich.cells import cell_len

from zoo.reports.comparison import table
from zoo.reports.comparison.comparison import Question, compare
from zoo.reports.comparison.page_data import page_data
from zoo.reports.runs import find_runs
from zoo.reports.short_names import LONGEST, RowName, short_names
from zoo.runs.status import State, StatusFile

LONG = [
    *("model.decoder.input_feeding=false", "optimizer.lr=0.005", "model.dropout=0.3"),
    *("data.tokenizer.size=6000", "trainer.max_steps=1473", "scheduler.warmup_steps=300"),
]


def row(recipe: str, *typed: str) -> RowName:
    return RowName(",".join(typed) or recipe, recipe, typed)


def test_what_is_short_or_a_path_stays() -> None:
    path = RowName("/somewhere/" + "deep/" * 20, "", ())
    assert short_names([row("toy"), row("toy", "attention=dot"), path]) == [
        "toy",
        "attention=dot",
        path.whole,
    ]


def test_what_few_rows_share_comes_first_and_the_rest_is_counted() -> None:
    first, second = short_names([row("toy", *LONG, "seed_of=1"), row("toy", *LONG, "model.size=9")])
    assert first == "seed_of=1,size=6000,input_feeding=false … +4"
    assert second.startswith("model.size=9,")
    assert max(map(cell_len, (first, second))) <= LONGEST


def test_cells_of_a_matrix_are_told_apart_where_there_is_less_room() -> None:
    window = "model/memory=window"
    cells = [
        row("toy", window, f"model.memory.length={length}", f"attention={score}")
        for length in (16, 256)
        for score in ("dot", "luong_concat")
    ]
    names = short_names([*cells, row("toy", "model/memory=none")], 40)
    assert names[0] == "attention=dot,length=16 … +1"
    assert len(set(names)) == 5
    assert max(map(cell_len, names)) <= 40


def test_of_a_path_the_last_part_is_shown_and_of_a_number_four_digits() -> None:
    typed = ["data.vectors.path=/somewhere/deep/down/glove.txt", "model.dropout=0.3378741491705541"]
    (name,) = short_names([row("toy", *typed)])
    assert name == "path=glove.txt,dropout=0.3379"
    deeper = [f"data.vectors.path=/somewhere/{place}/down/which/is/far/away/glove.txt" for place in "ab"]
    names = short_names([row("toy", one) for one in deeper])
    assert names == [
        "path=/somewhere/a/down/which/is/far/away/glove.txt",
        "path=/somewhere/b/down/which/is/far/away/glove.txt",
    ]


def test_keys_that_end_alike_stay_whole() -> None:
    (name,) = short_names([row("toy", "model.encoder.dropout=0.25", "model.decoder.dropout=0.75")])
    assert name == "model.decoder.dropout=0.75 … +1"


def test_several_recipes_are_named() -> None:
    names = short_names([row("multi30k_luong", *LONG), row("multi30k_bahdanau", *LONG)])
    assert [name.partition(",")[0] for name in names] == ["multi30k_luong", "multi30k_bahdanau"]


@pytest.mark.parametrize("word", ["key=" + "x" * 200, "漢字=" + "漢" * 200])
def test_a_single_word_is_cut(word: str) -> None:
    (name,) = short_names([row("toy", word)])
    assert cell_len(name) <= LONGEST
    assert name.endswith("…")


def _typed(run: Path, *words: str) -> None:
    StatusFile(run).start(["experiment=toy", *words])
    StatusFile(run).end(State.FINISHED, exit_code=0)


def test_all_but_csv_show_short_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"model.part_number_{number}.setting=value_{number}" for number in range(5)]
    for number, right in enumerate((8, 12)):
        run = make_run(tmp_path / str(number), right=right, model={"size": number})
        _typed(run, *words[: 1 + 4 * number])
    found = compare(find_runs([tmp_path]), Question())
    labels = [one.group.label for one in found.rows]
    shorts = [one.group.short for one in found.rows]
    assert max(map(cell_len, labels)) > 100
    assert len(set(shorts)) == 2
    table.print_table(found)
    printed = capsys.readouterr().out
    assert all(short in printed for short in shorts)
    assert max(map(cell_len, shorts)) <= LONGEST
    rows = list(csv.DictReader(io.StringIO(table.comma_separated(found))))
    assert [one["run"] for one in rows] == labels
    shown = page_data(found)
    assert shown["labels"] == shown["columns"][0]["cells"] == shorts
    assert shown["names"] == labels, "for those who point at a name"
    for text in (table.markdown(found), "\n".join(shown["notes"])):
        assert not any(label in text for label in labels if label not in shorts)
        assert shorts[0] in text
    again = compare(find_runs([tmp_path]), Question(baseline=shorts[1]))
    assert again.baseline.group.label == labels[1], "a name that was printed can be typed"


def test_of_one_row_alone_nothing_differs(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    _typed(run, *LONG)
    (only,) = compare(find_runs([tmp_path]), Question()).rows
    assert only.group.label == ",".join(sorted(LONG))
    assert only.group.short == "toy"
