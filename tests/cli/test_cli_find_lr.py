"""`zoo find-lr`: what it prints, draws, and refuses before any work."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from zoo.cli.app import main

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's, which the command silences

TINY = ("experiment=reverse", "trainer=cpu", "model.hidden_size=16", "data.batch_tokens=256")


def _zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_rate_is_proposed_and_drawn_and_nothing_else_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    ran = _zoo("find-lr", *TINY, "--steps", 24, "--lowest", "1e-4", "--plot", "rates.png")
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert lines[0] == "rate\tloss"
    assert 10 <= len(lines) <= 16
    assert "try optimizer.lr=0." in lines[-1]
    assert [path.name for path in here.iterdir()] == ["rates.png"]
    assert (here / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_is_refused_before_any_work(tmp_path: Path) -> None:
    wrong = _zoo("find-lr", "experiment=revers", "seed=x")
    assert wrong.exit_code == 2
    assert "did you mean reverse" in wrong.stderr
    assert len(wrong.stderr.splitlines()) > 1, "each problem has a line"
    nowhere = _zoo("find-lr", *TINY, "--plot", tmp_path / "no" / "rates.png")
    assert nowhere.exit_code == 2
    assert "does not exist" in nowhere.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--lowest", "1", "--highest", "0.1"),
        ("--lowest", "0"),
        ("--highest", "inf"),
        ("--highest", "nan"),
    ],
)
def test_rates_that_cannot_be_are_refused_before_the_configuration_is_read(options: tuple[str, ...]) -> None:
    wrong = _zoo("find-lr", "experiment=revers", *options)
    assert wrong.exit_code == 2
    assert "--lowest must be above 0 and below --highest" in wrong.stderr
    assert "revers" not in wrong.stderr
