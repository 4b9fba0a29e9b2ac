"""The command `zoo`: its output is plain lines, its errors are one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from small_run import make_run, transformer
from typer.testing import CliRunner, Result

import zoo
from zoo.cli.app import main

PROJECT = Path(zoo.__file__).parents[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first")
    make_run(folder / "second", seed=1)
    make_run(folder / "without", decoder="FixedVectorDecoder")
    return folder


def _zoo(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def _fails(*arguments: object, stdin: bytes = b"") -> str:
    result = _zoo(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, "one line"
    return result.stderr


def test_help_waits_for_no_model() -> None:
    """Torch and Lightning take seconds; each verb brings them when it runs, as far as it needs them."""
    code = (
        "import sys, zoo.cli.app; sys.exit(' '.join({'torch', 'lightning', 'wandb'} & {*sys.modules}) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# predict


def test_a_sentence(runs: Path) -> None:
    result = _zoo("predict", runs / "first", "abc def")
    assert result.exit_code == 0, result.output
    assert result.stdout == zoo.load(runs / "first")("abc def") + "\n"
    assert f"using {runs}/first/checkpoints/best.ckpt (step 7, val/bleu 12.5)" in result.stderr


@pytest.mark.parametrize("source", ["file", "stdin by option", "stdin as sentence"])
def test_lines_keep_their_places(runs: Path, tmp_path: Path, source: str) -> None:
    content = "\ufeffabc\n\n \u200b\u2060 \u00ad\t\nhgf\r\nabc".encode()
    file = tmp_path / "input.txt"
    file.write_bytes(content)
    arguments = {"file": ["--file", file], "stdin by option": ["--file", "-"], "stdin as sentence": ["-"]}[
        source
    ]
    result = _zoo("predict", runs / "first", *arguments, stdin=content)
    predictor = zoo.load(runs / "first")
    assert result.stdout.splitlines() == [predictor("abc"), "", "", predictor("hgf"), predictor("abc")]


@pytest.mark.parametrize("blank", ["", " ", "\u200b", "\u3000\ufeff"])
def test_a_sentence_in_which_nothing_can_be_seen(runs: Path, blank: str) -> None:
    assert _zoo("predict", runs / "first", blank).stdout == "\n"


def test_n_best(runs: Path) -> None:
    result = _zoo("predict", runs / "first", "-", "--nbest", 2, stdin=b"abc\n\n")
    expected = zoo.load(runs / "first").predict(["abc"], nbest=2)[0]
    assert result.stdout.splitlines() == [*(f"1\t{t.score:.4f}\t{t.text}" for t in expected), "2\t\t"]


def test_several_runs_are_told_apart(runs: Path) -> None:
    result = _zoo("predict", runs / "first", runs / "second", "abc")
    expected = [f"{name}\t{zoo.load(runs / name)('abc')}" for name in ("first", "second")]
    assert result.stdout.splitlines() == expected
    twice = _zoo("predict", runs / "first", runs / "first" / "checkpoints" / "best.ckpt", "abc")
    assert len(twice.stdout.splitlines()) == 2, "the same run under two names"


def test_a_picture_of_one_run_and_of_several(runs: Path, tmp_path: Path) -> None:
    for names in (["first"], ["first", "second"]):
        result = _zoo("predict", *(runs / name for name in names), "abc", "--plot", tmp_path / "a.png")
        assert result.exit_code == 0, result.output
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        assert f"drew {tmp_path / 'a.png'}" in result.stderr


def test_every_picture_of_heads_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", model=transformer())
    result = _zoo("predict", run, "abc", "--plot", tmp_path / "a.pdf")
    said = [line for line in result.stderr.splitlines() if line.startswith("drew ")]
    files = [tmp_path / f"a{kind}.pdf" for kind in ("", "_encoder", "_decoder", "_cross")]
    assert said == [f"drew {file}" for file in files]
    assert all(file.read_bytes().startswith(b"%PDF") for file in files)


def test_a_cut_off_translation_is_said_to_be(runs: Path) -> None:
    result = _zoo("predict", runs / "second", "abc")
    finished = zoo.load(runs / "second").predict(["abc"])[0][0].finished
    assert ("line 1: cut off at the length limit" in result.stderr) is not finished


def test_of_several_runs_it_is_said_which_was_cut_off(runs: Path) -> None:
    sentences = ["abc", "hgf edc", "k"]
    result = _zoo("predict", runs / "first", runs / "second", "-", stdin="\n".join(sentences).encode())
    expected = {
        f"{run}, line {number}: cut off at the length limit"
        for run in ("first", "second")
        for number, found in enumerate(zoo.load(runs / run).predict(sentences), 1)
        if not found[0].finished
    }
    assert {line for line in result.stderr.splitlines() if "cut off" in line} == expected
    assert expected


def test_mistakes_in_what_is_to_be_translated(runs: Path, tmp_path: Path) -> None:
    first = runs / "first"
    assert f"no sentence or picture after {first}" in _fails("predict", first)
    assert "is not a run" in _fails("predict", "just a sentence")
    assert "is not a run" in _fails("predict", "a long sentence " * 100)
    assert f"is not a run; did you mean {first}?" in _fails("predict", runs / "frist")
    assert f"frist does not exist; did you mean {first}?" in _fails("predict", runs / "frist", "abc")
    assert (
        "word does not exist (one sentence may follow the runs, and 2 are given: write them line by line"
        in (_fails("predict", first, "word", "by word"))
    )
    assert "standard input, line 2: not UTF-8" in _fails("predict", first, "-", stdin=b"abc\n\xff\n")
    (tmp_path / "latin.txt").write_bytes("gut\n\nschön\n".encode("latin-1"))
    latin = _fails("predict", first, "--file", tmp_path / "latin.txt")
    assert f"{tmp_path}/latin.txt, line 3: not UTF-8 (invalid start byte at byte 3)" in latin
    assert "the sentence: not UTF-8 (invalid start byte at byte 2)" in _fails("predict", first, "ab\udcffc")
    assert "the sentence: not UTF-8" in _fails("predict", first, "ab\ud800c")
    assert "missing.txt" in _fails("predict", first, "--file", tmp_path / "missing.txt")
    assert "no device 'tpu'" in _fails("predict", first, "abc", "--device", "tpu")
    assert _zoo("predict", first, "x" * 5000).exit_code == 0, "no path, only long"


def test_mistakes_in_pictures_are_found_before_the_work(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, picture = runs / "first", tmp_path / "a.png"
    assert "has no attention" in _fails_late("predict", runs / "without", "abc", "--plot", picture)
    monkeypatch.setattr("zoo.inference.loading.load", None)
    assert "the one given is empty" in _fails("predict", first, "", "--plot", picture)
    assert "draws one sentence, got 2" in _fails("predict", first, "-", "--plot", picture, stdin=b"a\nb\n")
    assert "nowhere does not exist" in _fails("predict", first, "a", "--plot", tmp_path / "nowhere" / "a.png")
    assert "a.dog" in _fails("predict", first, "a", "--plot", tmp_path / "a.dog")
    (tmp_path / "folder.png").mkdir()
    assert "it is a folder" in _fails("predict", first, "a", "--plot", tmp_path / "folder.png")
    assert not picture.exists()


def _fails_late(*arguments: object) -> str:
    result = _zoo(*arguments)
    assert result.exit_code == 2
    return result.stderr


def test_a_file_that_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "a.ckpt").write_bytes(b"nonsense")
    assert "a.ckpt is not a readable checkpoint" in _fails("predict", tmp_path / "a.ckpt", "abc")
    assert "no checkpoints/best.ckpt" in _fails("predict", tmp_path, "abc")


# list


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a little of everything."""
    for file, content in {
        "train.py": "",
        "conf/model/seq2seq.yaml": "# Recurrent.\n_target_: a.b.Seq2Seq\n",
        "conf/data/dates.yaml": "_target_: a.b\n",
        "conf/data/copy.yaml": "# The input again.\n",
        "conf/experiment/dates_bahdanau.yaml": "# Dates.\n# More.\n",
        "conf/experiment/long.yaml": "# @package _global_\n# The control (Luong et al. 2015), which goes on\n"
        "# at equal size, e.g. here. Said of it further.\ndefaults: []\n",
        "conf/experiment/open.yaml": "# It has no full stop\n#\n#   python train.py experiment=open\n",
        "conf/attention/additive.yaml": "_target_: zoo.attention.Additive\n",
        "conf/attention/perceptron.yaml": "_target_: zoo.attention.Additive\n_partial_: true\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content)
    return tmp_path


def test_lists_of_the_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _zoo("list", "models", "--project", checkout).stdout == "seq2seq  Recurrent.\n"
    monkeypatch.chdir(checkout / "conf" / "data")
    assert _zoo("list", "data").stdout == "copy   The input again.\ndates\n"
    assert _zoo("list", "experiments").stdout == (
        "dates_bahdanau  Dates.\n"
        "long            The control (Luong et al. 2015), which goes on at equal size, e.g. here.\n"
        "open            It has no full stop\n"
    )


def test_lists_are_wrapped_on_a_terminal(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.cli.app._terminal_columns", lambda: 45)
    lines = (
        "dates_bahdanau  Dates.",
        "long            The control (Luong et al.",
        "                2015), which goes on at equal",
        "                size, e.g. here.",
        "open            It has no full stop",
    )
    assert _zoo("list", "experiments", "--project", checkout).stdout.splitlines() == list(lines)
    monkeypatch.setattr("zoo.cli.app._terminal_columns", lambda: 5)
    assert "long            The control (Luong" in _zoo("list", "experiments", "--project", checkout).stdout


def test_as_a_module_into_a_pipe_that_nobody_reads(checkout: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m zoo list data | true",
        shell=True,
        cwd=checkout,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_the_attention_catalogue_needs_no_checkout(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    lines = _zoo("list", "attention").stdout.splitlines()
    scores = lines[lines.index("attention=") + 1 : lines.index("selection=")]
    selections = lines[lines.index("selection=") + 1 :]
    assert [line.split()[0] for line in scores] == [
        *("additive", "cosine", "dot", "euclidean", "general", "linear_concat", "location", "scaled_dot"),
        "uniform",
    ]
    assert [line.split()[0] for line in selections] == [
        *("content_and_location", "entmax", "gumbel_hard", "hard", "local_monotonic", "local_predictive"),
        *("soft", "sparsemax", "static"),
    ]
    assert all(len(line.split()) > 2 for line in scores + selections), "every one says what it is"
    monkeypatch.chdir(checkout)
    assert "  additive, perceptron  " in _zoo("list", "attention").stdout


def test_mistakes_in_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "did you mean models? allowed: attention, data, experiments, models, tasks" in _fails(
        "list", "model"
    )
    assert "seq2seq" in _zoo("list", "models").stdout, "of the checkout that the package lies in"
    assert f"in {tmp_path / 'x'}" in _fails("list", "models", "--project", tmp_path / "x")


def test_the_projects_own_lists() -> None:
    for kind in ("models", "attention", "data", "tasks", "experiments"):
        result = _zoo("list", kind, "--project", PROJECT)
        assert result.exit_code == 0, result.output
        assert result.stdout
