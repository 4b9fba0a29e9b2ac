"""Parts of README and docs follow what was measured."""

import re
import shutil
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from published_runs import read, results

from zoo.reports import pages as module
from zoo.reports.pages import write_pages
from zoo.reports.publish import published
from zoo.reports.tables import matrix, summary, tables

PROJECT = Path(__file__).parents[2]


MATRIX = [
    results("toy", 1, "attention=dot", exact_match=0.5, alignment_accuracy=0.25)
    | {"test_unseen": {"exact_match": 0.125}},
    results("toy", 2, "attention=dot", exact_match=0.75, alignment_accuracy=0.75)
    | {"test_unseen": {"exact_match": 0.375}},
    results("toy", 1, "model/decoder=none", exact_match=0.875) | {"test_unseen": {"exact_match": 0.0}},
    results(
        "multi30k_fast",
        1,
        "attention=dot",
        data_set="multi30k",
        bleu=30.0,
        bleu_tok_lc=31.0,
        exact_match=0.01,
    ),
    results(
        "multi30k_fast",
        1,
        "attention=cosine",
        data_set="multi30k",
        bleu=20.0,
        bleu_tok_lc=21.0,
        exact_match=0.02,
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "models").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Zoo\n", encoding="utf-8")
    return tmp_path


def page(project: Path, name: str, *parts: str) -> Path:
    path = project / name
    shown = "".join(f"a\n<!-- {part}:begin -->\nold\n<!-- {part.split()[0]}:end -->\nz\n" for part in parts)
    path.write_text(shown, encoding="utf-8")
    return path


def test_mechanisms_are_rows_and_data_sets_are_columns() -> None:
    head, _, *rows = [line for line in matrix(read(MATRIX)).splitlines() if line.startswith("|")]
    toy = "toy, n = 2: exact_match | alignment_accuracy | exact_match (test_unseen) | seconds | tokens/s | GB"
    assert head == f"| mechanism | {toy} | multi30k, n = 1: bleu_tok_lc | seconds | tokens/s | GB |"
    dot = "0.625 ± 0.177 | 0.500 ± 0.354 | **0.250 ± 0.177** | 62 ± 1 | 1,000 ± 0 | 1.23 ± 0.00"
    assert rows == [
        f"| `attention=dot` | {dot} | **31.0** | 61 | 1,000 | 1.23 |",
        "| `model/decoder=none` | **0.875 (n = 1)** |  | 0.000 | 61 | 1,000 | 1.23 |  |  |  |  |",
        "| `attention=cosine` |  |  |  |  |  |  | 21.0 | 61 | 1,000 | 1.23 |",
    ]
    assert "Some CPU, 2 cores, threads: 2." in matrix(read(MATRIX))
    other = {"machine": {"processor": "Another CPU", "cores": 1, "threads": 1}}
    text = matrix(read([*MATRIX, results("toy", 3, "attention=dot", exact_match=0.5) | other]))
    assert "\nSome CPU, 2 cores, threads: 2; Another CPU, 1 core, threads: 1.\n" in text, "of every row"
    other["machine"]["bfloat16"] = False
    text = matrix(read([*MATRIX, results("toy", 3, "attention=dot", exact_match=0.5) | other]))
    assert "; Another CPU, 1 core, threads: 1, without bfloat16.\n" in text


def test_of_errors_the_lowest_is_best() -> None:
    rows = [
        results("ram_digits", 1, f"policy={name}", error=error) for name, error in (("a", 0.1), ("b", 0.2))
    ]
    text = matrix(read(rows))
    assert "**0.1000**" in text
    assert "**0.2000**" not in text


def test_two_names_of_one_mechanism_are_two_rows() -> None:
    """Their runs are the same, and are not counted as seeds of one."""
    rows = [results("toy", 1, f"attention={name}", exact_match=0.5) for name in ("additive", "luong_concat")]
    rows = [row | {"config_hash": "same"} for row in rows]
    assert matrix(read(rows)).count(" 0.500 ") == 2
    assert "| attention=luong_concat or attention=additive | 1 |" in tables(read(rows)), "one row, with both"


def test_a_recipe_and_the_same_typed_are_one() -> None:
    """Its own default, typed: no seed counts twice, in no table."""
    recipe = [results("toy", seed, exact_match=0.5) | {"config_hash": "same"} for seed in (1, 2)]
    typed = [
        results("toy", seed, "attention=dot", exact_match=0.5) | {"config_hash": "same"} for seed in (1, 3)
    ]
    assert "| toy or attention=dot | 1, 2, 3 |" in tables(read([*typed, *recipe]))
    text = matrix(read([*typed, *recipe]))
    assert [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")] == [
        "| `attention=dot`"
    ]
    assert "toy, n = 3" in text, "all seeds of both"
    recipe[0]["test"] = {"exact_match": 0.0}
    assert "| 0.333 ± 0.289 |" in matrix(read([*typed, *recipe])).replace("*", ""), (
        "of seed 1 the recipe's counts"
    )


def test_a_matrix_leaves_out_what_trained_longer_than_its_recipe() -> None:
    """It is in the tables, but more steps are no mechanism."""
    rows = [
        results("toy", 1, "attention=dot", exact_match=0.5),
        results("toy", 1, "attention=dot", "trainer.max_steps=9", exact_match=0.75),
    ]
    assert "max_steps" not in matrix(read(rows))
    assert " 0.500 " in matrix(read(rows))
    assert "| attention=dot,trainer.max_steps=9 | 1 | 0.750 |" in tables(read(rows))


def test_a_summary_has_a_row_for_each_recipe_as_it_stands() -> None:
    rows = [results("toy", seed, exact_match=seed / 4) for seed in (2, 1)]
    rows += [results("toy", 1, "attention=dot", exact_match=0.9)]
    same = {"config_hash": "multi30k_fast"}
    rows += [results("multi30k_fast", seed, "a=b", bleu=0.0, bleu_tok_lc=32.0) | same for seed in (1, 2)]
    rows[-1]["seconds"] = 150.0
    rows += [results("multi30k_fast", 1, bleu=30.0, bleu_tok_lc=31.0)]
    _, _, *lines = [line for line in summary(read(rows)).splitlines() if line]
    assert lines == [
        "| `toy` | exact_match 0.375 ± 0.177 | 1, 2 | 12,345 | 1.0 |",
        "| `multi30k_fast` | bleu_tok_lc 31.5 ± 0.7 | 1, 2 | 12,345 | 1.0 to 2.5 |",
    ]


@pytest.mark.parametrize(
    "asked",
    [
        "multi30k_a other",
        "data=multi30k",
        "task=TranslationTask model=RNN,Transformer",
        "multi30k_a data=multi30k",
    ],
)
def test_each_part_has_its_runs(project: Path, asked: str) -> None:
    first = page(project, "docs/models/a.md", f"results {asked}", "summary")
    second = page(project, "README.md", "results")
    other = results("multi30k_a", 1, data_set="multi30k", bleu=1.0, bleu_tok_lc=2.0)
    other["model"] = "zoo.networks.Transformer"
    write_pages(project, read([results("toy", 1, exact_match=0.5), other]))
    text = first.read_text(encoding="utf-8")
    assert text.count("experiment=multi30k_a`**") == 1
    assert "experiment=toy`**" not in text
    assert "| `toy` |" in text
    assert text.count("\nz\n") == 2, "what stands around a part stays"
    assert "old" not in text
    assert "experiment=toy`**" in second.read_text(encoding="utf-8")


def test_a_part_may_leave_out_what_other_settings_change(project: Path) -> None:
    rows = [
        results("toy", 1, *overrides, exact_match=0.5)
        for overrides in ((), ("attention=dot",), ("attention=dot", "model.layers=2"), ("model.layers=4",))
    ]
    path = page(project, "README.md", "matrix some toy changes=attention,selection")
    write_pages(project, read(rows))
    text = path.read_text(encoding="utf-8")
    assert "`attention=dot`" in text
    assert "model.layers" not in text


def test_a_matrix_is_drawn_and_shown_from_everywhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = MagicMock(wraps=module.side_by_side)
    monkeypatch.setattr(module, "side_by_side", drawn)
    part = "matrix attention toy multi30k_fast"
    shown_on = [page(project, name, part) for name in ("README.md", "docs/a.md", "docs/models/b.md")]
    write_pages(project, read(MATRIX))
    assert (project / "docs" / "pictures" / "attention.png").read_bytes().startswith(b"\x89PNG")
    titles = [panel.title for panel in drawn.call_args.args[0]]
    assert titles == ["toy\nexact_match", "toy (test_unseen)\nexact_match", "multi30k\nbleu_tok_lc"]
    for written in shown_on:
        text = written.read_text(encoding="utf-8")
        assert f"<!-- {part}:begin -->" in text
        (shown,) = re.findall(r"!\[.*?\]\((.*?)\)", text)
        assert (written.parent / shown).resolve() == project / "docs" / "pictures" / "attention.png"
    before = [path.read_bytes() for path in shown_on]
    write_pages(project, read(MATRIX))
    assert [path.read_bytes() for path in shown_on] == before, "written once more it is the same"


def test_what_is_not_measured_says_so(project: Path) -> None:
    path = page(project, "README.md", "matrix attention nothing", "results nothing", "summary nothing")
    write_pages(project, read(MATRIX))
    assert path.read_text(encoding="utf-8").count("Not measured yet.") == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "<!-- result:begin -->\n<!-- result:end -->\n",
            "there is no part 'result'; allowed: results, summary",
        ),
        ("<!-- results toy:begin -->\n", "of 1 parts that begin 0 end"),
        ("<!-- matrix:begin -->\n<!-- matrix:end -->\n", "matrix needs the name of a picture"),
        (
            "<!-- results moddel=RNN:begin -->\n<!-- results:end -->\n",
            "runs are chosen by .*'moddel'; did you mean model",
        ),
    ],
)
def test_a_part_that_cannot_be_written_is_named(project: Path, text: str, said: str) -> None:
    (project / "docs" / "a.md").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"a.md: .*{said}"):
        write_pages(project, read(MATRIX))


def test_every_picture_and_page_that_a_page_shows_is_there() -> None:
    for path in [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} shows {target}"


def test_the_pages_of_this_project_are_what_its_results_say(tmp_path: Path) -> None:
    for name in ("docs", "results"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    shutil.copy(PROJECT / "README.md", tmp_path)
    runs, refused = published(tmp_path / "results")
    assert refused == []
    write_pages(tmp_path, runs)
    for page in (tmp_path / "README.md", *(tmp_path / "docs").rglob("*.md")):
        written = (PROJECT / page.relative_to(tmp_path)).read_text(encoding="utf-8")
        assert page.read_text(encoding="utf-8") == written, "python -m zoo.reports.publish writes it anew"
