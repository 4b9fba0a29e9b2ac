"""`zoo predict` with a language model: continuations, streams and scores."""

from pathlib import Path
from typing import Any

import pytest
from small_run import make_run, part, save_run
from typer.testing import CliRunner, Result

import zoo
from data.text.running.vocabulary import EveryCharacter
from zoo.cli.app import main
from zoo.core.spec import DataSpec
from zoo.core.text import text_spec

TEXT = EveryCharacter().train(["abcdefgh\n" * 4])
SPEC = DataSpec("letters", {"text": text_spec(TEXT, maximum_length=8)})


def _settings() -> dict[str, Any]:
    model = part(
        "zoo.networks.gpt.Gpt",
        attention={"score": part("zoo.attention.ScaledDot")},
        positions=part("zoo.networks.positions.Learned", maximum_length=8),
        model_size=8,
        feed_forward_size=8,
        heads=2,
        layers=1,
        dropout=0.0,
        attention_dropout=0.0,
        activation=part("torch.nn.GELU"),
    )
    task = part(
        "zoo.tasks.language_modelling.LanguageModelling",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        decoding=part("zoo.decoding.Sample", partial=False, seed=5),
        monitor="val/loss",
    )
    return {"name": "small", "model": model, "task": task}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_run(tmp_path_factory.mktemp("runs") / "letters", _settings(), SPEC, 2.0)


def _zoo(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)], input=stdin)


def _fails(*arguments: object, stdin: bytes = b"") -> str:
    result = _zoo(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("error: ")


def test_a_text_is_written_piece_by_piece(run: Path) -> None:
    model = zoo.load(run)
    pieces = list(model.stream("abc", length=30, seed=2, top_k=4, temperature=0.7))
    assert len(pieces) > 1
    shown = _zoo(run, "abc", "--length", 30, "--seed", 2, "--top-k", 4, "--temperature", 0.7)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == "abc" + "".join(pieces) + "\n"
    (whole,) = model.predict(["abc"], length=30, seed=2, top_k=4, temperature=0.7)[0]
    assert shown.stdout == f"abc{whole.text}\n"
    assert len(_zoo(run, "abc", "--length", 9, "--temperature", 0).stdout) >= 12


@pytest.mark.parametrize("text", ["abc\n", "\n", " abc"])
def test_blanks_around_a_text_belong_to_it(run: Path, tmp_path: Path, text: str) -> None:
    (found,) = zoo.load(run).predict([text], length=9)[0]
    assert _zoo(run, text, "--length", 9).stdout == f"{text}{found.text}\n"


def test_blanks_at_the_ends_of_lines_belong_to_them(run: Path) -> None:
    (found,) = zoo.load(run).predict(["abc "], length=9)[0]
    wanted = f"abc {found.text}".replace("\n", "\\n")
    assert _zoo(run, "-", "--length", 9, stdin=b"abc \r\n \r\n").stdout == f"{wanted}\n\n"


def test_several_samples_have_their_log_probabilities(run: Path) -> None:
    found = zoo.load(run).predict(["abc"], nbest=3, length=5, top_p=0.9)[0]
    shown = _zoo(run, "abc", "--nbest", 3, "--length", 5, "--top-p", 0.9).stdout
    assert shown == "".join(f"1\t{one.log_prob:.2f}\tabc{one.text}\n" for one in found)


def test_each_line_of_a_file_is_continued_in_one_line(run: Path) -> None:
    lines = _zoo(run, "-", "--length", 40, stdin=b"abc\n\nh\n").stdout.splitlines()
    found = zoo.load(run).predict(["abc", "h"], length=40)
    texts = [one[0].prompt + one[0].text for one in found]
    assert any("\n" in text for text in texts), "the seed has to write a line break for this test"
    assert [line.replace("\\n", "\n") for line in lines] == [texts[0], "", texts[1]]


def test_lines_are_scored(run: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("abcdefghabcdefgh\n\nba\n")
    shown = _zoo(run, "--score", tmp_path / "lines.txt")
    assert shown.exit_code == 0, shown.output
    first, last = zoo.load(run).score(["abcdefghabcdefgh", "ba"])
    assert shown.stdout.splitlines() == [
        f"{first.log_prob:.4f}\t15\t{first.perplexity:.2f}",
        "\t\t",
        f"{last.log_prob:.4f}\t1\t{last.perplexity:.2f}",
    ]
    assert f"16 tokens, {-(first.log_prob + last.log_prob) / 16:.4f} nats each" in shown.stderr
    again = save_run(tmp_path / "again", _settings(), SPEC, 2.0)
    both = _zoo(run, again, "--score", "-", stdin=b"ba\n").stdout.splitlines()
    assert both == [f"{name}\t{last.log_prob:.4f}\t1\t{last.perplexity:.2f}" for name in (run, again)]


def test_unknown_tokens_are_said(run: Path) -> None:
    said = "2 of 4 tokens are unknown: the model reads <unk> in their place"
    assert _zoo(run, "aXYb", "--length", 3).stderr.splitlines()[-1] == said
    assert f"line 1: {said}" in _zoo(run, "aXYb", "--length", 3, "--nbest", 2).stderr
    scored = _zoo(run, "--score", "-", stdin=b"ab\naXYb\n")
    assert scored.exit_code == 0
    assert [line for line in scored.stderr.splitlines() if "unknown" in line] == [
        f"standard input, line 2: {said}"
    ]
    assert "unknown" not in _zoo(run, "ab", "--length", 3).stderr


def test_a_mask_is_no_mask_to_a_language_model(run: Path) -> None:
    assert "fills no masks" in _zoo(run, "a[MASK]b", "--length", 3).stderr
    assert "masks" not in _zoo(run, "ab", "--length", 3).stderr


def test_without_attention_nothing_is_written_before_a_drawing_is_refused(tmp_path: Path) -> None:
    model = part(
        "zoo.networks.lstm_language_model.LSTMLanguageModel",
        recurrent=part("zoo.networks.recurrent.LSTM"),
        embedding_size=4,
        hidden_size=4,
        layers=1,
        dropout=0.0,
        tie_embeddings=True,
        memory=None,
    )
    plain = save_run(tmp_path / "plain", _settings() | {"model": model}, SPEC, 2.0)
    assert "has no attention to draw" in _fails(plain, "abc", "--plot", tmp_path / "a.png")


def test_what_cannot_be_done_is_said(run: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "translates")
    assert _fails(other, "abc", "--top-k", 3, "--length", 4) == (
        f"the model of {other} takes no --length, --top-k"
    )
    assert _fails(other, "--score", "-", stdin=b"a\n").startswith(f"the model of {other} gives texts no prob")
    assert "with --score FILE there is no sentence" in _fails(run, "abc", "--score", "-", stdin=b"a\n")
    assert "leave the other options out" in _fails(run, "--score", "-", "--nbest", 2)
    assert "give temperature" in _fails(run, "abc", "--nbest", 2, "--temperature", 0)
    assert "top_p must be" in _fails(run, "abc", "--top-p", 2)
    assert _fails(run, "") == f"the text is empty, and the model of {run} needs a token to go on from"
    assert _fails(run, "--score", "-", stdin=b"\n \n") == (
        "standard input has no line with a text: there is nothing to score"
    )
