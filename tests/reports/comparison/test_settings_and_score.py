"""What the page says of a sweep of several settings: which of them matter, and every run as a line."""

from pathlib import Path

import pytest
from compared_runs import make_run, make_unfinished

from zoo.reports.comparison import search as module
from zoo.reports.comparison.comparison import Comparison, Question, compare
from zoo.reports.comparison.search import search_data
from zoo.reports.runs import find_runs
from zoo.runs.status import State, StatusFile


def typed(run: Path, *overrides: str) -> Path:
    """Makes a run one for which this was typed."""
    status = StatusFile(run)
    state = status.read().state
    status.start(["experiment=toy", *overrides])
    status.end(state, exit_code=0)
    return run


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Twelve runs whose score is that of their rate alone, and one that was pruned."""
    for number in range(12):
        rate, size = 10.0 ** -(number % 4), (16, 32, 64)[number % 3]
        of_rate = {"right": 4 + 4 * (number % 4), "config_hash": f"{number:06}"}
        run = make_run(tmp_path / f"{number:02}", model={"number": number}, **of_rate)  # type: ignore[arg-type]
        window = ["selection.window=2"] if number // 4 % 2 else []
        typed(run, f"optimizer.lr={rate}", f"model.size={size}", "seed=1", *window)
    typed(make_unfinished(tmp_path / "pruned", State.PRUNED), "optimizer.lr=5.0", "model.size=16")
    return tmp_path


def compared(path: Path) -> Comparison:
    return compare(find_runs([path]), Question(samples=20))


def test_every_run_has_its_settings_and_its_score(sweep: Path) -> None:
    found = search_data(compared(sweep))
    assert found is not None
    axes = {axis["key"]: axis for axis in found["axes"]}
    assert list(axes) == ["optimizer.lr", "model.size", "selection.window"]
    assert axes["optimizer.lr"]["numbers"][:4] == [1.0, 0.1, 0.01, 0.001]
    assert (axes["optimizer.lr"]["is_log"], axes["model.size"]["is_log"]) == (True, False)
    assert axes["selection.window"]["numbers"] is None, "one number and nothing are two words"
    assert axes["selection.window"]["texts"][3:5] == ["", "2"]
    assert found["values"] == [(4 + 4 * (number % 4)) / 20 for number in range(12)] + [None]
    assert found["states"] == ["finished"] * 12 + ["pruned"]


def test_the_setting_that_decides_is_the_most_important(sweep: Path) -> None:
    found = search_data(compared(sweep))
    assert found is not None
    (first, share), *others = found["importances"]
    assert (first, len(others)) == ("optimizer.lr", 2)
    assert share > 2 * max(other for _, other in others)
    assert share + sum(other for _, other in others) == pytest.approx(1)
    assert "over 12 runs" in found["note"]


def test_says_what_is_missing_where_there_is_no_importance(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compared(sweep)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    found = search_data(comparison)
    assert found is not None
    assert found["importances"] == []
    assert "pip install -e '.[optuna]'" in found["note"]


def test_equal_scores_make_no_setting_important(tmp_path: Path) -> None:
    for number in range(5):
        run = make_run(tmp_path / str(number), config_hash=f"{number:06}")
        typed(run, f"a={number}", f"b={number * 2}", f"c={number % 2}")
    found = search_data(compared(tmp_path))
    assert found is not None
    assert (found["importances"], found["note"]) == (
        [],
        "All runs reached the same score, so no setting matters.",
    )


def test_two_settings_need_no_such_picture(tmp_path: Path) -> None:
    for number in range(5):
        typed(
            make_run(tmp_path / str(number), config_hash=f"{number:06}"),
            f"a={number}",
            f"b={number * 2}",
            "c=1",
        )
    assert search_data(compared(tmp_path)) is None
