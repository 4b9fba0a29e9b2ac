"""Composes every job of a command line before any of them runs, and says what is wrong in one message."""

import argparse
import json
import logging
import math
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from zoo.config.aliases import growing
from zoo.config.alternatives import is_either, parted
from zoo.config.borrowed import composed_for
from zoo.config.overrides import ERRORS, LISTING, explained, key_of, mistaken, parsed
from zoo.config.search import STUDY, read_search
from zoo.config.sweep_rules import no_settings
from zoo.core.plugins import PluginError, name_plugins, plugin_folders
from zoo.core.problems import ConfigError, Problem
from zoo.runs.frozen import Config, resolved
from zoo.runs.typed import named_by
from zoo.tasks.rules import uses_attention

log = logging.getLogger(__name__)

_MOST_JOBS = 10_000
"""Of one product: each is composed and checked before the first one starts."""


def command_line() -> argparse.Namespace:
    """What was typed: Hydra's own options and overrides in any order, and `--frozen`.

    Returns:
        Hydra's options; `frozen`, a config.yaml to run; `resume`, whether to go on with that run;
        `weights`, a run whose checkpoint is tested instead of training anything; `shows`, whether Hydra
        shall only show something.

    Raises:
        ConfigError: there is no such option, or a package of one's own cannot be used.
    """
    parser = get_args_parser()
    parser.add_argument("--frozen", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--resume", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--weights", type=Path, metavar="RUN", help=argparse.SUPPRESS)
    asked, strange = parser.parse_known_intermixed_args()
    if strange:
        raise ConfigError([Problem(word, _without_dashes(word)) for word in strange])
    asked.shows = any((asked.help, asked.hydra_help, asked.cfg, asked.info, asked.shell_completion))
    if asked.config_path or asked.config_name or asked.experimental_rerun:
        parser.error(
            "the primary configuration is conf/train.yaml; --config-dir adds a folder of your own to it"
        )
    folders = [Path(asked.config_dir).resolve()] if asked.config_dir and not asked.shows else []
    typed = list(typed_plugins(asked.overrides))
    try:
        name_plugins(typed)
        folders += plugin_folders()
    except PluginError as error:
        key = "plugins" if error.package in typed else error.place
        raise ConfigError([Problem(key, error.reason)]) from error
    if folders and not (asked.frozen or asked.weights):  # which compose nothing
        places = ",".join(f"'file://{folder}'" for folder in folders)
        asked.overrides.append(f"hydra.searchpath=[{places}]")
    return asked


def _without_dashes(word: str) -> str:
    key, _, value = word.lstrip("-").partition("=")
    return f"there is no such option; settings are typed without dashes: {key}={value or 'VALUE'}"


def typed_plugins(overrides: Sequence[str]) -> Iterator[str]:
    """The packages of `plugins=[...]`, whose configuration files are needed to compose anything."""
    for text in overrides:
        if key_of(text) == "plugins":
            _, _, value = text.partition("=")
            yield from filter(None, (name.strip(" '\"") for name in value.strip("[]").split(",")))


class Job(NamedTuple):
    """One run that a command line asks for.

    Attributes:
        overrides: what was typed for it.
        composed: as Hydra made it, with its name.
        config: resolved, for a folder that is still to be made.
        name: what the user called it; None where its name says what is run.
    """

    overrides: list[str]
    composed: DictConfig
    config: Config
    name: str | None


def compose_jobs(config_dir: Path, overrides: Sequence[str], multirun: bool) -> list[Job]:
    """Every job that a command line asks for; of those that would be equal the first.

    Args:
        config_dir: the folder of configuration files; train.yaml is the primary one.
        overrides: as typed.
        multirun: commas mean several jobs.

    Raises:
        ConfigError: names every override that does not fit.
    """
    if problems := list(growing(config_dir, overrides)):
        raise ConfigError(problems)
    if not multirun and (several := [one for one in overrides if is_either(one)]):
        raise ConfigError([Problem(one, f"is several jobs; add -m: -m '{one}'") for one in several])
    with initialize_config_dir(str(config_dir), version_base="1.3"), warnings.catch_warnings():
        # A folder of the search path that is not there would be passed over.
        warnings.filterwarnings("error", message=r"provider=.* is not available")
        jobs = []
        for chosen in _split(overrides) if multirun else [list(overrides)]:
            if problems := mistaken(chosen):
                raise ConfigError(problems)
            try:
                composed = composed_for(chosen, _composed)
            except ERRORS as error:
                raise ConfigError(list(explained(chosen, _composed, error))) from error
            if not isinstance(composed.sweep, DictConfig):
                raise ConfigError([no_settings(composed.sweep)])
            if not multirun and composed.hydra.sweeper.get("lines", [""]) != [""]:
                chosen_sweep = f"sweep={composed.hydra.runtime.choices['sweep']}"
                raise ConfigError([Problem(chosen_sweep, f"is many runs; add -m: -m {chosen_sweep}")])
            name = composed.name
            if isinstance(composed.model, DictConfig):  # the check refuses anything else
                label(composed, composed.hydra.runtime.choices, [] if multirun else chosen)
            jobs.append(Job(chosen, composed, resolved(composed, Path("run")), name))
        if multirun and jobs[0].composed.hydra.runtime.choices["hydra/sweeper"] in LISTING:
            _refuse_intervals(overrides)
        return _different(jobs)


def _different(jobs: Sequence[Job]) -> list[Job]:
    """The jobs without those that would do again what another one does.

    Two names of one mechanism, as `additive` and `luong_concat`, are two rows of a comparison, and both stay.
    """
    kept: dict[str, Job] = {}
    for job in jobs:
        choices = {key: str(chosen) for key, chosen in job.composed.hydra.runtime.choices.items()}
        what = json.dumps([{**job.config, "name": job.name}, choices], default=str)
        kept.setdefault(what, job)
    if equal := len(jobs) - len(kept):
        log.warning("%d of %d jobs would be equal to others: each is run once", equal, len(jobs))
    return list(kept.values())


def label(composed: DictConfig, choices: Mapping[str, Any], typed: Sequence[str] = ()) -> None:
    """Fills in the recipe's name and, where the user gave none, the run's: what is run, in a few words.

    Args:
        composed: is changed.
        choices: among files.
        typed: overrides, of which those that can change a result stand in the name, too. A job of a sweep
            has none here: it is named by what was typed for it alone.
    """
    OmegaConf.set_struct(composed, False)
    composed.experiment = choices.get("experiment")
    if composed.name is None:
        reads = uses_attention(OmegaConf.to_container(composed.model))
        groups = ["data", "model", "model/decoder", *(["attention", "selection"] if reads else []), "policy"]
        parts = [str(choices[group]) for group in groups if choices.get(group)]
        said = [] if composed.experiment else [*groups, "experiment"]
        words = [text for text in typed if key_of(text) not in said]
        composed.name = named_by(composed.experiment or "-".join(parts), words)


def _composed(overrides: Sequence[str]) -> DictConfig:
    config = compose("train", overrides=list(overrides), return_hydra_config=True)
    if "experiment" in config:
        raise ValueError("a recipe sets values everywhere, so its first line must be: # @package _global_")
    return config


def _split(overrides: Sequence[str]) -> list[list[str]]:
    """A sweep's jobs. What another sweeper will draw (an interval, a choice it steers) is left out here.

    Of a study, whose product may be endless, each value that it may draw is in one of them.
    """
    plain, alternatives = parted(overrides)
    typed = _read(plain)
    _refuse_lost_values(typed)
    if f"hydra/sweeper={STUDY}" in overrides:
        return list(read_search(overrides).samples())
    chosen = [[text for one in several for text in one] for several in product(*alternatives)]
    kept = _listed(typed)
    return [
        job
        for line in _lines(kept, [key_of(text) for texts in chosen for text in texts])
        for texts in chosen
        for job in _product([*kept, *_read(shlex.split(line)), *_listed(_read(texts))])
    ]


def _refuse_lost_values(typed: Sequence[Override]) -> None:
    """Refuses several values of a setting that is given again: of two overrides the last one wins."""
    texts = [str(one.input_line) for one in typed]
    keys = [key_of(text) for text in texts]
    lost = [
        Problem(text, "is given more than once: leave one out")
        for one, text, key in zip(typed, texts, keys, strict=True)
        if one.is_sweep_override() and keys.count(key) > 1
    ]
    if lost:
        raise ConfigError(lost)


def _refuse_intervals(overrides: Sequence[str]) -> None:
    """Refuses values that nothing would draw: the jobs would be run without them."""
    plain, alternatives = parted(overrides)
    texts = [*plain, *(text for several in alternatives for one in several for text in one)]
    problem = f"is an interval, and only a study draws from one: add hydra/sweeper={STUDY}, or list values"
    if drawn := [str(one.input_line) for one in _read(texts) if one.is_interval_sweep()]:
        raise ConfigError([Problem(text, problem) for text in drawn])


def _listed(overrides: Sequence[Override]) -> list[Override]:
    """Those that have one value, or several that are listed."""
    return [one for one in overrides if not one.is_sweep_override() or one.is_discrete_sweep()]


def _product(overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of each job: every combination of the values that are given.

    Raises:
        ConfigError: there is none, or there are too many.
    """
    counts = {str(one.input_line): _count(one) for one in overrides}
    if empty := [text for text, count in counts.items() if not count]:
        raise ConfigError(
            [Problem(text, "has no value: nothing is in this range or of this name") for text in empty]
        )
    if math.prod(counts.values()) > _MOST_JOBS:
        several = ", ".join(text for text, count in counts.items() if count > 1)
        problem = (
            f"more than {_MOST_JOBS:,} jobs come of {several}: give fewer values, or hydra/sweeper={STUDY}"
        )
        raise ConfigError([Problem("-m", problem)])
    return [job for batch in BasicSweeper.split_arguments(list(overrides), None) for job in batch]


def _count(override: Override) -> int:
    """How many values an override has; of more than a sweep may have not all are counted."""
    if not override.is_sweep_override():
        return 1
    return sum(1 for _ in islice(override.sweep_iterator(), _MOST_JOBS + 1))


def _read(overrides: Sequence[str]) -> list[Override]:
    read, problems = parsed(overrides)
    if problems:
        raise ConfigError(problems)
    return read


def _lines(typed: Sequence[Override], others: Sequence[str]) -> list[str]:
    """What the file in conf/sweep that was chosen asks for, if one was: each line is a product of its own.

    Args:
        typed: what every job is told.
        others: keys that only some are told.
    """
    chosen = next((one for one in typed if one.key_or_group == "sweep"), None)
    if chosen is None:
        return [""]
    name = str(chosen.input_line)
    if chosen.is_sweep_override():
        raise ConfigError([Problem(name, "takes one choice: these are sweeps of their own")])
    try:
        composed = compose("train", overrides=_product(typed)[0], return_hydra_config=True)
    except ERRORS:  # is explained job by job
        return [""]
    lines = [str(line) for line in composed.hydra.sweeper.get("lines", [""])]
    varied = {key_of(text) for line in lines for text in shlex.split(line)}
    given = [str(one.input_line) for one in typed if one.key_or_group in varied]
    given += [key for key in dict.fromkeys(others) if key in varied]
    problem = f"{name} has values of its own for it: leave it out, or leave {name} out"
    if given:
        raise ConfigError([Problem(one, problem) for one in given])
    return lines
