"""Published numbers stand beside ours with their source, and only what the zoo can run."""

import re
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from published_runs import read, results

from tests.reports.test_pages import page
from zoo.reports.anchors import Anchor, read_anchors
from zoo.reports.beside import beside
from zoo.reports.pages import write_pages

PROJECT = Path(__file__).parents[2]
WRITTEN = """
- source: Somebody 2014, Table 1
  seen: copied
  numbers:
    toy: {bleu_tok_lc: 41.02, bleu: 40.0}
    toy model.size=64: {bleu_tok_lc: 12.5}
- source: Somebody 2015
  seen: read
  differs: another corpus
  numbers:
    toy: {bleu_tok_lc: 42.0}
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    (tmp_path / "docs").mkdir()
    path = tmp_path / "results" / "anchors.yaml"
    path.write_text(WRITTEN, encoding="utf-8")
    return path


def test_a_row_says_what_was_reached_here_and_there_and_by_whom(written: Path) -> None:
    ours = [
        results("toy", 1, bleu_tok_lc=39.0, bleu=38.0),
        results("toy", 2, bleu_tok_lc=41.0, bleu=38.0),
        results("toy", 1, "model.size=128", bleu_tok_lc=1.0, bleu=1.0),
        results("other", 1, bleu_tok_lc=2.0, bleu=2.0),
    ]
    shown = page(written.parents[1], "docs/toy.md", "beside Somebody 2014; Somebody 2015")
    (written.parents[1] / "README.md").write_text("", encoding="utf-8")
    write_pages(written.parents[1], read(ours))
    text = shown.read_text(encoding="utf-8")
    assert (
        "| `toy` | bleu_tok_lc 40.0 ± 1.4, bleu 38.0 ± 0.0 | 1, 2 | 1.0 ± 0.0"
        " | bleu_tok_lc 41.02, bleu 40.0 [1]; bleu_tok_lc 42.0 (another corpus) [2]"
        " | bleu_tok_lc short by 1.0, within the interval, bleu short by 2.0 [1];"
        " short by 2.0, within the interval [2] |\n" in text
    )
    assert "| `toy model.size=64` | not measured |  |  | bleu_tok_lc 12.5 [1] |  |\n" in text
    assert "Numbers of the same test: 0 met, 2 within the 95 % interval of ours, 1 short." in text
    assert "- [1] Somebody 2014, Table 1; copied\n- [2] Somebody 2015; read\n" in text


@pytest.mark.parametrize(
    ("metric", "ours", "goal", "state"),
    [
        ("error", [0.25], 0.25, "met"),
        ("error", [0.25], 0.125, "short by 0.1250"),  # one seed has no interval
        ("error", [0.25, 0.375], 0.3, "short by 0.0125, within the interval"),
        ("error", [0.25, 0.375], 0.5, "met"),
        ("exact_match", [0.25, 0.25], 0.75, "short by 0.500"),
        ("exact_match", [0.25, 0.375], 0.25, "met"),
        ("exact_match", [0.5], 0.50001, "short by less than 0.001"),
    ],
)
def test_a_published_number_is_reached_by_our_mean_or_its_interval(
    metric: str, ours: list[float], goal: float, state: str
) -> None:
    runs = read([results("toy", seed, **{metric: value}) for seed, value in enumerate(ours, 1)])
    shown = beside(runs, [Anchor("toy", (), {metric: goal}, "Somebody", "read")])
    assert f"| {state} [1] |" in shown


def test_a_metric_at_a_size_is_read_as_the_metric() -> None:
    runs = read([results("toy", 1, error=0.25, error_120=0.5)])
    shown = beside(runs, [Anchor("toy", (), {"error_120": 0.25}, "Somebody", "read")])
    assert "| error_120 0.5000 |" in shown
    assert "| short by 0.2500 [1] |" in shown


def test_a_number_of_another_test_is_neither_reached_nor_missed() -> None:
    anchor = Anchor("toy", (), {"error": 0.5}, "Somebody", "read", "another corpus", other_test=True)
    shown = beside(read([results("toy", 1, error=0.25)]), [anchor])
    assert "| another test [1] |" in shown
    assert "Numbers of the same test" not in shown


@pytest.mark.parametrize("typed", [("b=False", "a=1"), ("a=1", "b=false")])
def test_order_and_form_of_overrides_make_no_difference(typed: tuple[str, str]) -> None:
    anchor = Anchor("toy", ("a=1", "b=False"), {"error": 0.5}, "Somebody", "read")
    assert "error 0.2500" in beside(read([results("toy", 1, *typed, error=0.25)]), [anchor])


def test_what_was_typed_may_be_what_the_recipe_says() -> None:
    anchor = Anchor("toy", (), {"error": 0.5}, "Somebody", "read")
    typed, other = results("toy", 1, "a=1", error=0.25), results("toy", 2, "a=2", error=0.75)
    assert "error 0.2500 | 1 |" in beside(read([{**typed, "recipe": True}, other]), [anchor])
    assert "not measured" in beside(read([typed, other]), [anchor])
    both = read([{**typed, "recipe": True}, results("toy", 3, error=0.125)])
    assert "error 0.1250 | 3 |" in beside(both, [anchor])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seen: read", "seen: reda"), "entry 2: there is no value of seen 'reda'; did you mean read"),
        (("source: Somebody 2015", "sauce: x"), "entry 2: there is no key 'sauce'; did you mean source"),
        (("source: Somebody 2015\n  seen", "seen"), "entry 2: source: Field required"),
        (("differs:", "differ:"), "entry 2: there is no key 'differ'; did you mean differs"),
        (
            ("differs: another corpus", "other_test: nope"),
            "entry 2: other_test: Input should be a valid boolean",
        ),
        (
            ("bleu_tok_lc: 42.0", "bleu_tok_lc: .nan"),
            "entry 2: numbers: toy: bleu_tok_lc: Input should be a fin",
        ),
        (
            ("bleu_tok_lc: 42.0", "bleu_tok_lc: true"),
            "entry 2: numbers: toy: bleu_tok_lc: Input should be a val",
        ),
        (("source: Somebody 2015", "source: ''"), "entry 2: source: String should have at least 1"),
        (("toy: {bleu_tok_lc: 42.0}", "toy: {}"), "entry 2: numbers: toy: Dictionary should have at least 1"),
        (
            ("bleu_tok_lc: 42.0", "bleu_tok_lc: much"),
            "entry 2: numbers: toy: bleu_tok_lc: Input should be a val",
        ),
        (("toy: {bleu_tok_lc: 42.0}", '"toy \'a": {bleu: 1}'), 'entry 2: numbers: "toy \'a" names no recipe'),
        (("- source: Somebody 2015", "- text\n- source: Somebody 2015"), "entry 2: must be keys and values"),
    ],
)
def test_what_cannot_be_understood_is_named(written: Path, change: tuple[str, str], message: str) -> None:
    written.write_text(WRITTEN.replace(*change), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"{written}, {message}")):
        read_anchors(written)


def test_a_metric_that_a_recipe_does_not_have_is_named() -> None:
    anchor = Anchor("toy", (), {"eror": 0.5}, "Somebody", "read")
    with pytest.raises(ValueError, match="of toy: there is no metric 'eror'; did you mean error"):
        beside(read([results("toy", 1, error=0.25)]), [anchor])


def test_a_source_that_is_not_there_is_named(written: Path) -> None:
    page(written.parents[1], "docs/toy.md", "beside Somebody 2014; Sombody 2015;")
    (written.parents[1] / "README.md").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="begins with 'Sombody 2015'; did you mean Somebody 2015"):
        write_pages(written.parents[1], [])


def test_without_a_file_there_is_nothing_beside(tmp_path: Path) -> None:
    assert read_anchors(tmp_path / "anchors.yaml") == []
    assert beside([], []) == ""


@pytest.mark.slow
def test_what_stands_beside_can_be_typed() -> None:
    anchors = read_anchors(PROJECT / "results" / "anchors.yaml")
    assert anchors
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        for anchor in anchors:
            compose("train", [f"experiment={anchor.experiment}", *anchor.overrides])
