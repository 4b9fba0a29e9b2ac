"""Command lines with a mistake, and exactly what is said about them."""

from pathlib import Path

import pytest

from zoo.config import resolvers
from zoo.config.compose import command_line, compose_jobs
from zoo.core.problems import ConfigError

CONF = Path(__file__).parents[2] / "conf"


def said(*line: str, multirun: bool = False) -> str:
    resolvers.register()
    with pytest.raises(ConfigError) as caught:
        compose_jobs(CONF, line, multirun)
    head, _, problems = str(caught.value).partition("\n")
    assert head.endswith("in the configuration, nothing was run:")
    return problems


@pytest.mark.sampled(15)
@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "experiment=dates",
            "there is no experiment called dates; did you mean dates_bahdanau or dates_luong or ",
        ),
        ("experiment=multi30k", "did you mean multi30k_bahdanau or multi30k_luong or "),
        ("model=null", "is a choice among files and cannot be null; allowed: abcnn1, abcnn2, "),
        ("attention=", "is a choice among files and cannot be empty; allowed: additive, cosine, dot, "),
        ("policy=wrong", "there is no policy called wrong; allowed: center, learned, random"),
        ("model=3", "there is no model called 3; allowed: abcnn1, abcnn2, "),
        ("callbacks=translation", "allowed: common; task=translation brings its own callbacks"),
        ("callbacks=[common,translation]", "there is no callbacks called translation; "),
        ("callbacks=[comon]", "there is no callbacks called comon; did you mean common? allowed: common"),
        ("logger=[csv,tensorbord]", "called tensorbord; did you mean tensorboard? allowed: "),
        ("model={a:1}", "there is no a; allowed: bidirectional, decoder, "),
        ("attention=[dot,general]", "takes one choice; to run a job with each: -m attention=dot,general"),
        ("attention=dot,general", "several values; add -m to run a job with each: -m attention=dot,general"),
        ("seed=1,2", "these are several values; add -m to run a job with each: -m seed=1,2"),
        ("data.train=a.en,a.de", "(a list of values is written data.train=[a.en,a.de])"),
        ("attention=dot,", "a value is missing beside a comma"),
        ("model.recurrent=lstm", "is a choice among files: write model/recurrent=lstm"),
        ("model.recurrent=lstn", "write model/recurrent=lstn; did you mean lstmn? allowed: gru, "),
        ("model/decodr=luong", "did you mean model/decoder? allowed: model/caption_decoder, "),
        ("modl=seq2seq", "there is no modl; did you mean model? allowed: attention, callbacks, "),
        ("~model", "a run cannot do without; choose with model=NAME; allowed: abcnn1, abcnn2, "),
        ("~seed", "a run cannot do without"),
        ("lr=0.1", "there is no lr; did you mean optimizer.lr? allowed: attention, "),
        ("epochs=9", "there is no epochs; did you mean trainer.max_epochs? allowed: attention, "),
        ("epoch=9", "there is no epoch; did you mean trainer.max_epochs? allowed: attention, "),
        ("optimizer.learning_rate=9", "there is no learning_rate; did you mean lr? allowed: betas, "),
        ("batch_size=9", "there is no batch_size; did you mean data.batch_tokens? allowed: attention, "),
        (
            "n_trials=9",
            "is a setting of studies: add -m hydra/sweeper=optuna and write hydra.sweeper.n_trials=",
        ),
        ("hydra.sweeper.n_trials=9", "is a setting of studies: add -m hydra/sweeper=optuna"),
        ("hydra/sweeper/pruner=median", "is a setting of studies: add -m hydra/sweeper=optuna"),
        ("n_jobs=2", "there is no n_jobs; did you mean sweep.parallel? allowed: "),
        ("batch_tokns=9", "there is no batch_tokns; did you mean data.batch_tokens? allowed: "),
        ("decoder.attention=9", "there is no decoder; did you mean model.decoder.attention? allowed: "),
        ("modl.layers=3", "there is no modl; did you mean model.layers? allowed: "),
        ("model.layer=3", "there is no layer; did you mean layers? allowed: "),
        ("~nothing", "there is no nothing; allowed: attention, "),
        ("~callbacks.sample", "there is no sample; did you mean samples? allowed: alignments, "),
        ("+attention=dot", "one is chosen already; write attention=dot without the +"),
        ("+seed=2", "is set already; write seed=2 without the +"),
        ("++attention=dot", "one is chosen already; write attention=dot without the +"),
        ("optimizer.weight_decay=0.1", "Adam takes it: write +optimizer.weight_decay=0.1"),
        ("optimizer.rate=0.1", "there is no rate; allowed: betas, eps, fused, lr"),
        ("trainer.max_time.days=1", "max_time is null, so there is nothing in it"),
        ("data.seed.of=1", "seed is 1, so there is nothing in it"),
        ("model.hidden_size", "is given no value; write model.hidden_size=VALUE"),
        ("reverse", "is given no value; write experiment=reverse or data=reverse"),
        ("=3", "no setting is named; write key=value, without blanks around ="),
        ("=", "no setting is named; write key=value, without blanks around ="),
        ("seed==3", "cannot be read: extraneous input '='; special characters need quotes"),
        ("hydra.searchpath=['file:///no/where']", "there is no folder /no/where"),
        ("hydra.searchpath=3", "hydra.searchpath must be a list of strings. Got: 3"),
        ("model/query=learned", "nothing here has model/query; take it with model/pooling=attention"),
        (
            "attention@model.pooling.attention.score=dot",
            "nothing chooses attention for model.pooling.attention.score; allowed: nothing",
        ),
        ("hydra/launcher=foo", "there is no hydra/launcher called foo; allowed: "),
    ],
)
def test_what_is_said(override: str, message: str) -> None:
    problems = said(override)
    assert problems.startswith(f"  - {override}: ") or override.startswith("hydra.searchpath=[")
    assert message in problems
    assert len(problems.splitlines()) == 1


@pytest.mark.parametrize(
    ("override", "key", "message"),
    [
        ("optimizer.lr=interval(0.1,1)", "", "only a study draws from one: add hydra/sweeper=optuna"),
        ("either=(optimizer.lr=interval(0.1,1)),(seed=2)", "optimizer.lr=interval(0.1,1)", "only a study"),
        ("seed=range(3,1)", "", "has no value: nothing is in this range"),
        ("attention=glob(nothing*)", "", "has no value: nothing is in this range or of this name"),
        ("seed=range(10000000000000)", "-m", "more than 10,000 jobs come of seed=range(10000000000000): "),
    ],
)
def test_values_that_make_no_sweep_are_named(override: str, key: str, message: str) -> None:
    problems = said("experiment=reverse", override, multirun=True)
    assert problems.startswith(f"  - {key or override}: ")
    assert message in problems
    assert len(problems.splitlines()) == 1


@pytest.mark.parametrize("again", ["seed=3", "++seed=4,5"])
def test_values_that_a_later_override_would_replace_are_refused(again: str) -> None:
    problems = said("experiment=reverse", "seed=1,2", again, multirun=True)
    assert problems.startswith("  - seed=1,2: is given more than once: leave one out")


def test_what_a_refused_choice_would_have_brought_is_no_second_problem() -> None:
    problems = said("experiment=reverse", "model=gpt", "model/size=gpt_tiny")
    assert problems.startswith("  - model=gpt: experiment/reverse chooses model/decoder=")
    assert len(problems.splitlines()) == 1


def test_settings_with_dashes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["train.py", "experiment=reverse", "--optimizer.lr=0.1", "--epochs"])
    with pytest.raises(ConfigError) as error:
        command_line()
    assert "--optimizer.lr=0.1: there is no such option" in str(error.value)
    assert "without dashes: optimizer.lr=0.1" in str(error.value)
    assert "without dashes: epochs=VALUE" in str(error.value)


def test_mistakes_of_form_are_said_at_once() -> None:
    problems = said("seed", "=", "3", "attention=dot,general", "~model", "data=dates")
    named = [line.removeprefix("  - ").partition(":")[0] for line in problems.splitlines()]
    assert sorted(named) == sorted(["seed", "3", "=", "attention=dot,general", "~model"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("attention=general,", "a value is missing beside a comma"),
        ("attention=,general", "a value is missing beside a comma"),
        ("attention=dot,,general", "a value is missing beside a comma"),
        ("attention=dot,genral", "did you mean general?"),
        ("attention=dot,null", "attention=null: is a choice among files and cannot be null"),
    ],
)
def test_what_is_said_of_a_sweep(override: str, message: str) -> None:
    assert message in said(override, multirun=True)


@pytest.mark.parametrize(
    ("line", "jobs"),
    [
        ([], 1),
        (["seed=1"], 1),
        (["seed=range(1,4)"], 3),
        pytest.param(["experiment=glob(*)"], None, marks=pytest.mark.slow),
    ],
    ids=["nothing", "one value", "range", "glob"],
)
def test_a_sweep_over_whatever_is_there(line: list[str], jobs: int | None) -> None:
    resolvers.register()
    recipes = len(list((CONF / "experiment").glob("*.yaml")))
    assert len(compose_jobs(CONF, line, True)) == (jobs or recipes)


@pytest.mark.parametrize("line", [["~callbacks.samples"], ["logger=[csv]"], ["logger=[csv,wandb]"]], ids=str)
def test_what_is_allowed(line: list[str]) -> None:
    resolvers.register()
    assert len(compose_jobs(CONF, line, False)) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [1\nb: 2\n", "own.yaml, line 2: expected ',' or ']', but got ':'"),
        (b"# @package _global_\nmodel:\n\tlayers: 2\n", "own.yaml, line 3: found character '\\t'"),
        (b"# @package _global_\nseed: 1\nseed: 2\n", "own.yaml, line 3: found duplicate key seed"),
        (b"a: \xff\n", "a file is not UTF-8 text: invalid start byte at byte 3"),
        (b"# @package _global_\ndefaults: [own]\n", "its file includes itself"),
        (
            b"# @package _global_\nname: " + b"[" * 5000,
            "includes itself, perhaps by way of others, or is nested",
        ),
        (b"seed: 3\n", "its first line must be: # @package _global_"),
        (b"- seed\n", "its first line must be: # @package _global_"),
        (
            b"# @package _global_\ndefaults: [{override /data: dat}]\n",
            "there is no data called dat; did you",
        ),
        (
            b"# @package _global_\ndefaults: [{override /dat: dates}]\n",
            "experiment/own chooses dat=, which nothing here has; take another model, or another recipe",
        ),
    ],
)
def test_a_file_of_ones_own(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "own.yaml").write_bytes(content)
    problems = said(f"hydra.searchpath=['file://{tmp_path}']", "experiment=own")
    assert problems.startswith("  - experiment=own: ")
    assert message in problems


def test_aliases_that_grow_without_end_are_found_before_they_are_read(tmp_path: Path) -> None:
    """Hydra would take them apart until memory is full."""
    rows = ["# @package _global_", "a0: &a0 [x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 6)]
    (tmp_path / "experiment").mkdir()
    file = tmp_path / "experiment" / "own.yaml"
    file.write_text("\n".join(rows))
    problems = said(f"hydra.searchpath=['file://{tmp_path}']", "seed=1")
    assert problems.startswith(f"  - {file}: ")
    assert "more than 100,000 values" in problems
    file.write_text("a: &a [1\nb: *a\n")  # a mistake in what is not chosen is nobody's
    resolvers.register()
    assert compose_jobs(CONF, [f"hydra.searchpath=['file://{tmp_path}']", "seed=1"], False)
