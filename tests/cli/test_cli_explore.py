"""`zoo explore`: which input goes to which runs, and what is refused before anything is written."""

import socket
from pathlib import Path

import pytest
from small_run import draw_picture, make_answerer, make_player, make_recogniser, make_run
from typer.testing import CliRunner, Result

from zoo.cli.app import main
from zoo.reports.explorer.forms import Form
from zoo.reports.explorer.server import Server


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first")


def _zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["explore", *map(str, arguments)])


def test_several_runs_on_one_page(run: Path, tmp_path: Path) -> None:
    second = make_run(tmp_path / "second", seed=1)
    result = _zoo(run, second, "abc fed", "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"name":"first"' in text
    assert '"name":"second"' in text
    assert '"given":"abc fed"' in text
    assert "page.html" in result.stderr
    assert result.stdout == ""


def test_what_is_refused(run: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", draw_picture(tmp_path / "a.png")
    other = make_recogniser(tmp_path / "other")
    player = make_player(tmp_path / "player")
    cases = {
        (tmp_path / "nothing", "abc", "--html", page): "is not a run",
        (run, "abc", "def", "--html", page): "takes one text, got 2",
        (run, "--html", page): "takes one text, got 0",
        (run, "word " * 999, "def", "--html", page): "word ...', 'def']",
        (run, "abc", "def"): "takes one text, got 2",
        (run, " ", "--html", page): "the input is empty",
        (run, other, "abc", "--html", page): "the model of",
        (other, picture, picture, "--html", page): "takes one picture, got 2",
        (run, "abc", "--seed", 1, "--html", page): "takes no --seed",
        (player, "--length", 4, "--html", page): "takes no --length",
        (player, "abc", "--html", page): "takes no input, got 1",
        (run, "abc", "--html", tmp_path / "no" / "page.html"): "does not exist",
    }
    for arguments, said in cases.items():
        result = _zoo(*arguments)
        assert result.exit_code == 2, arguments
        assert said in result.stderr
        assert result.stderr.count("\n") <= 2
    assert not page.exists()


def test_models_that_make_their_input(tmp_path: Path) -> None:
    page, player, answerer = (
        tmp_path / "page.html",
        make_player(tmp_path / "a"),
        make_answerer(tmp_path / "b"),
    )
    assert _zoo(player, "--seed", 3, "--html", page).exit_code == 0
    assert '"given":"seed 3"' in page.read_text(encoding="utf-8")
    result = _zoo(answerer, "--length", 7, "--html", page)
    assert result.exit_code == 0, result.stderr
    assert '"given":"seed 1\\nlength 7"' in page.read_text(encoding="utf-8")
    assert "15 steps" in page.read_text(encoding="utf-8")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Server]:
    """Servers that end as soon as they begin, as by Ctrl-C."""
    seen: list[Server] = []

    def stop(self: Server) -> None:
        seen.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", stop)
    return seen


def test_without_a_file_a_page_is_served(run: Path, served: list[Server]) -> None:
    result = _zoo(run)
    assert result.exit_code == 0, result.stderr
    (server,) = served
    assert server.address in result.stdout
    assert server.form == Form("text")
    assert b'"runs":[]' in server.page
    assert server.answer({"texts": ["abc fed"]})["runs"][0]["views"]


def test_a_served_page_may_begin_with_an_input(run: Path, tmp_path: Path, served: list[Server]) -> None:
    assert _zoo(run, "abc fed").exit_code == 0
    answerer = make_answerer(tmp_path)
    assert _zoo(answerer, "--seed", 2).exit_code == 0
    assert b'"given":"abc fed"' in served[0].page
    assert b'"given":"seed 2"' in served[1].page
    assert served[1].form == Form("game", takes_length=True)
    assert served[1].answer({"seed": 4, "length": 2})["given"] == "seed 4\nlength 2"


def test_a_port_that_is_taken_is_said(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = _zoo(run, "--port", port)
    assert result.exit_code == 2
    assert f"cannot serve on port {port}: Address already in use" in result.stderr
