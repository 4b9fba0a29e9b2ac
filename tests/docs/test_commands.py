"""Every command of README and docs fits what there is; those that need no download are run, shortened."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from shown_commands import PROJECT, shown, trainings, words_of, zoo_commands

from zoo.cli.app import main
from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.rules import data_is_what_the_task_takes
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

CONF = PROJECT / "conf"
FORMS = (" ...", "=... ", "<name>", "KEY=VALUE", "[RUN or", "RUN...")
"""What stands for other words: such a line shows a form, and no command."""
ELSEWHERE = {
    "data=my_corpus": "needs the class of the guide; tests/test_guides.py composes its file",
    "sweep=mine": "needs the file of the guide, with which tests/test_guides.py composes it",
    "attention=low_rank": "a part of the guide's package; tests/own_parts runs all of it",
    "model=sign_linear": "a part of the guide's package; tests/own_parts runs all of it",
    "hydra/sweeper=optuna": "needs an extra; tests/sweeps runs it where that is installed",
    "hydra/launcher=slurm": "needs an extra and SLURM; tests/sweeps has a stand-in",
    "model.hiden_size=64": "shows a message; a test here expects it",
}
"""Words of lines that cannot be run as they stand, and why."""
UNTRIED = {
    "trainer=gpu": "needs a GPU",
    "compile=true": "compiles for minutes; tests/runtime does so",
    "trainer=ddp": "starts processes on GPUs",
    "model.pretrained=RUN": "needs a trained run; tests/tasks fine-tune one",
    "data.tokenizer.run=RUN": "needs a trained run; tests/tasks take its vocabulary",
}
"""Words of lines that are composed, and not run, and why."""
PLAIN = re.compile(r"(experiment|sweep)=\w+|(seed|test|check|sweep\.\w+)=[\w,]+")
"""Words of lines whose recipe or sweep other tests compose: tests/config and tests/sweeps."""
BUILT_IN = {
    *("Copy", "Reverse", "Dates", "Needle", "NeedleDocuments", "Counterparts", "Shapes", "Digits"),
    *("CatchData", "StandardLibrary", "BitSequenceData"),
}
"""What makes its data without any file."""
OWN = {"ParallelData", "OwnTexts", "OwnRunningText", "OwnPairs", "ImageFolder", "ImageCaptions"}
"""What reads files of the user's."""


FIRST = ("README.md", "docs/own-data.md", "docs/adding-a-model.md", "docs/runs.md", "docs/dashboards.md")


def commands() -> list[str]:
    return [line for line in trainings() if not any(form in f"{line} " for form in (*FORMS, *ELSEWHERE))]


def first_job(line: str) -> list[str]:
    """What the first job of a line is told."""
    words = [word for word in words_of(line)[2:] if word != "-m"]
    return [part for word in words for part in _first(word)]


def _first(word: str) -> list[str]:
    key, _, value = word.partition("=")
    if key == "either":
        return re.findall(r"[\w./]+=[^,]*", value.removeprefix("(").partition(")")[0])
    if value.startswith("glob("):
        pattern = value.removeprefix("glob(").removesuffix(")")
        return [f"{key}={min((CONF / key).glob(f'{pattern}.yaml')).stem}"]
    return [word if "[" in value or "(" in value else f"{key}={value.partition(',')[0]}"]


def composed(words: list[str]) -> Config:
    resolvers.register()
    return compose_jobs(CONF, words, multirun=any(word.startswith("sweep=") for word in words))[0].config


def test_the_guides_show_commands() -> None:
    assert len(trainings()) > 80
    assert len(commands()) >= 55
    assert len(zoo_commands()) > 40
    for word in (*ELSEWHERE, *UNTRIED):
        assert any(word in line for line in trainings()), f"no guide shows {word} any more"


@pytest.mark.parametrize("are_first", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_training_is_composed_and_its_data_fits_its_model(
    are_first: bool, folder_of_a_user: Path
) -> None:
    """Those of the guides that a new user types first; the others take as long again, and more."""
    problems = []
    for line in commands():
        if (shown()[line] in FIRST) != are_first:
            continue
        words = first_job(line)
        if all(PLAIN.fullmatch(word) for word in words):
            files = [
                CONF / f"{word.replace('=', '/')}.yaml"
                for word in words
                if word.startswith(("exp", "sweep="))
            ]
            problems += [f"{shown()[line]}: {line}: no {file}" for file in files if not file.is_file()]
            continue
        try:
            misfits = list(data_is_what_the_task_takes(composed(words), words))
        except ConfigError as error:
            misfits = error.problems
        problems += [f"{shown()[line]}: {line}: {problem}" for problem in misfits]
    assert problems == []


def test_a_misspelt_setting_of_the_readme_is_named() -> None:
    (line,) = (line for line in trainings() if "hiden_size" in line)
    with pytest.raises(ConfigError, match="hidden_size"):
        composed(first_job(line))


def test_every_verb_takes_its_words() -> None:
    """As the command line reads them: no verb, option or number of arguments is wrong."""
    group: Any = typer.main.get_command(main)
    for line in zoo_commands():
        _, verb, *words = words_of(line)
        if "|" in line or line.endswith(("--plot", "--html")):
            continue  # a form
        command = group.commands[verb]
        command.make_context(f"zoo {verb}", list(words), resilient_parsing=False)


@pytest.mark.slow
@pytest.mark.parametrize("line", commands())
def test_every_training_is_run(
    line: str, folder_of_a_user: Path, start: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A few batches of what is built in or the user's own; of a sweep all jobs are checked."""
    words = first_job(line)
    if reason := next((reason for word, reason in UNTRIED.items() if word in line), None):
        pytest.skip(reason)
    if "logger=tensorboard" in words and not importlib.util.find_spec("tensorboard"):
        pytest.skip("needs an extra")
    sweep = ["-m"] if any(word.startswith("sweep=") for word in words) else []
    config = composed(words)
    is_here = bool(set(re.findall(r"'_target_': '[\w.]*\.(\w+)'", str(config["data"]))) & (BUILT_IN | OWN))
    if not is_here:
        pytest.skip("needs a published data set; it is composed above")
    short = ["trainer=debug", "decoding=greedy"] if "decoding" in config["task"] else ["trainer=debug"]
    told = [word for word in words if not word.startswith(("trainer=", "trainer.", "logger="))]
    line_run = [*sweep, *words, "check=true"] if sweep else [*told, *short, "logger=csv"]
    assert start(*line_run) == 0, capsys.readouterr().err
