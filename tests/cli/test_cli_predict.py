"""`zoo predict` with many lines: order, windows, long ones, and what stays when it is stopped."""

import gzip
import random
from collections.abc import Callable
from contextlib import chdir
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from small_run import make_run
from typer.testing import CliRunner, Result

import zoo
from zoo.cli import predict_texts as cli_predict
from zoo.cli.app import main
from zoo.tasks.translation.predictor import Translator

LIMIT = 40  # tokens that the small model reads


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Windows of three lines; every call of the predictor, with what it was given."""
    monkeypatch.setattr(cli_predict, "WINDOW", 3)
    seen: list[dict[str, Any]] = []
    predict: Callable[..., Any] = Translator.predict

    @wraps(predict)
    def watched(self: Translator, texts: list[str], *arguments: Any, **named: Any) -> Any:
        seen.append({"texts": texts, **named})
        if "stop" in texts:
            raise KeyboardInterrupt
        if "break" in texts:
            raise RuntimeError("out of memory")
        return predict(self, texts, *arguments, **named)

    monkeypatch.setattr(Translator, "predict", watched)
    return seen


def _zoo(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)], input=stdin)


def test_lines_of_many_lengths_keep_their_order_over_windows(run: Path, calls: list[dict[str, Any]]) -> None:
    generator = random.Random(0)
    lines = [
        "".join(generator.choices("abcdefgh ", k=generator.choice([0, 1, 5, 30]))).strip() for _ in range(20)
    ]
    expected = [zoo.load(run)(line) if line else "" for line in lines]
    calls.clear()
    result = _zoo(run, "-", stdin="\n".join(lines).encode() + b"\n")
    assert result.stdout.split("\n") == [*expected, ""]
    assert [call["texts"] for call in calls] == [
        [line for line in lines[start : start + 3] if line] for start in range(0, 20, 3)
    ]
    assert not any(call["weights"] for call in calls), "nobody asked for them"
    assert "lines are done" not in result.stderr


def test_long_lines_are_cut_and_named_once(run: Path) -> None:
    long = "abc" * 33_334
    result = _zoo(run, "-", stdin=f"abc\n{long}\n\n{long[:41]}\n{long[:39]}\n".encode())
    assert result.exit_code == 0, result.output
    predictor = zoo.load(run)
    beginning = predictor(long[: LIMIT - 1])
    assert result.stdout.splitlines() == [predictor("abc"), beginning, "", beginning, beginning]
    said = [line for line in result.stderr.splitlines() if "longer than the model reads" in line]
    assert said == [
        "line 2: longer than the model reads, so only 40 of 100,003 tokens count",
        "line 4: longer than the model reads, so only 40 of 42 tokens count",
    ]


def test_what_is_done_is_written_when_it_is_stopped(run: Path, calls: list[dict[str, Any]]) -> None:
    result = _zoo(run, "-", stdin=b"a\n\nb\nc\nstop\n")
    assert result.exit_code == 130
    assert result.stdout.splitlines() == [zoo.load(run)("a"), "", zoo.load(run)("b")]
    assert "stopped: 3 of 5 lines are done and written" in result.stderr
    failed = _zoo(run, "-", stdin=b"a\nb\nc\nd\nbreak\nf\ng")
    assert isinstance(failed.exception, RuntimeError)
    assert len(failed.stdout.splitlines()) == 3
    assert "stopped: 3 of 7 lines are done and written" in failed.stderr


def test_a_bar_is_for_terminals_with_enough_to_do(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"abc\n" * 5
    assert "translating" not in _zoo(run, "-", stdin=lines).stderr
    monkeypatch.setattr(cli_predict, "_NO_BAR", 4)
    assert "translating" not in _zoo(run, "-", stdin=lines).stderr, "no terminal"
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    shown = _zoo(run, "-", stdin=lines)
    assert "translating" in shown.stderr
    assert "5/5" in shown.stderr
    assert "sentences/s" in shown.stderr
    assert shown.stdout.splitlines() == [zoo.load(run)("abc")] * 5
    monkeypatch.setattr(cli_predict, "_NO_BAR", 5)
    assert "translating" not in _zoo(run, "-", stdin=lines).stderr


def test_what_cannot_be_read_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "sentences.txt").write_text("abc")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(b"abc"))
    for arguments, message in {
        ("--file", "sentence.txt"): "sentence.txt cannot be read: No such file or directory; did you mean",
        ("--file", "."): ". cannot be read: Is a directory",
        ("--file", "packed.txt.gz"): "packed.txt.gz is packed: gzip -dc packed.txt.gz | zoo predict RUN -",
        ("A dog.", "--file", "sentences.txt"): "A dog. does not exist (with --file there is no sentence)",
    }.items():
        with chdir(tmp_path):
            result = _zoo(run, *arguments)
        assert result.exit_code == 2
        assert f"error: {message}" in result.stderr


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_of_every_system(run: Path, tmp_path: Path, ending: bytes, last: bool) -> None:
    lines = ["abc", "", "hgf edc", "k"]
    (tmp_path / "a.txt").write_bytes(ending.join(line.encode() for line in lines) + (ending if last else b""))
    translator = zoo.load(run)
    result = _zoo(run, "--file", tmp_path / "a.txt")
    assert result.stdout.splitlines() == [translator(line) for line in lines]
    assert "longer than the model reads" not in result.stderr


def test_a_return_within_a_line_of_a_file_with_line_feeds_ends_nothing(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc\rk\nk\n")
    translator = zoo.load(run)
    assert _zoo(run, "--file", tmp_path / "a.txt").stdout.splitlines() == [
        translator("abc k"),
        translator("k"),
    ]


@pytest.mark.parametrize("sentence", ["- hello", "-hello", "--hello world"])
def test_a_sentence_that_begins_with_a_dash(run: Path, sentence: str) -> None:
    assert "behind --" not in _zoo(run, "--flie", "a.txt").stderr, "an option was meant"
    result = _zoo(run, sentence)
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", " ").split())
    assert "comes last, behind --: zoo predict ... -- " in said
    assert sentence in said
    assert _zoo(run, "--", sentence).stdout.splitlines() == [zoo.load(run)(sentence)]
