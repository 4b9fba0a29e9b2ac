"""What is wrong with what was typed, said about the override it was typed in."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml
from hydra.core.default_element import GroupDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from zoo.config.allowed import NotAllowed, locate
from zoo.config.choices import parts_of
from zoo.config.schema import Settings
from zoo.config.values import TARGET, shown
from zoo.core.problems import Problem, elsewhere, joined, unknown

ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, UserWarning, RecursionError)
"""What composing raises: about overrides, interpolations, files, odd values and missing folders."""

SEVERAL = ("callbacks", "logger")
"""Groups whose parts stand side by side, so that a list of choices makes sense."""


PLUGINS = {"slurm": "slurm", "submitit_slurm": "slurm", "submitit_local": "slurm"}
"""Choices that come with a package which may be missing, and the extra that installs it."""


SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("epochs", "epoch", "num_epochs", "n_epochs"), ("max_epochs",)),
    **dict.fromkeys(("steps", "step", "num_steps", "iterations"), ("max_steps",)),
    **dict.fromkeys(("learning_rate", "step_size"), ("lr",)),
    **dict.fromkeys(("batch_size", "batch", "bs"), ("batch_size", "batch_tokens")),
    **dict.fromkeys(("gpus", "num_gpus"), ("devices",)),
    **dict.fromkeys(("n_jobs", "jobs"), ("parallel",)),
}
"""Names of settings in other programs, and theirs here: the first that a configuration has is meant."""

_NAMED_FIRST = ("experiment", "sweep", "model", "data", "attention")
"""Groups whose choices are typed alone by those who forget the group."""

LISTING = ("basic", "union")
"""Sweepers whose jobs are known at the beginning; a study, and sweepers of others, draw them."""

OF_STUDIES = ("n_trials", "objectives")
"""Settings of studies, which stand below `hydra.sweeper`."""

_UNMATCHED = re.compile(r"In '(.+?)': Could not override '(.+?)'")
"""What Hydra says of a choice within a file for a group that nothing brings along."""


_NOT_BROUGHT = re.compile(r"Could not override '(.+?)'")
"""How Hydra's words begin for a typed choice in a group that nothing brings along."""


def key_of(override: str) -> str:
    """The key that an override is about."""
    return override.partition("=")[0].lstrip("+~")


def parsed(overrides: Sequence[str]) -> tuple[list[Override], list[Problem]]:
    """Those that can be read, and what is wrong with the others."""
    parser = OverridesParser.create(GlobalHydra.instance().config_loader())
    read, problems = [], []
    for text in overrides:
        try:
            read += parser.parse_overrides([text])
        except ERRORS as error:
            problems.append(Problem(text, _unreadable(text, error)))
    return read, problems


def mistaken(overrides: Sequence[str]) -> list[Problem]:
    """What the form of a job's overrides gives away, where Hydra would misunderstand it or say little."""
    read, problems = parsed(overrides)
    searchpath = [text for text in overrides if key_of(text) == "hydra.searchpath"]
    for override in read:
        text = str(override.input_line)
        try:
            message = _mistake(override, text, searchpath)
        except ERRORS:  # the search path itself is wrong: composing says so
            continue
        if message:
            problems.append(Problem(text, message))
    return problems


def explained(
    overrides: Sequence[str], compose: Callable[[Sequence[str]], DictConfig], error: Exception
) -> Iterator[Problem]:
    """One problem for each override that cannot be added to those that can, whatever their order.

    Args:
        overrides: one job's.
        compose: makes a configuration of overrides, or raises one of `ERRORS`.
        error: what it raised for all of them.
    """
    accepted: list[str] = []
    # Choices among files first: a value for which they leave no place is at fault, and not they.
    refused = dict.fromkeys(sorted(overrides, key=_outermost_first), error)
    try:
        base = compose(accepted)
    except ERRORS as broken:
        yield Problem("", _said(broken))
        return
    tried: dict[str, int] = {}  # with how many that were accepted
    while waiting := [one for one in refused if tried.get(one) != len(accepted)]:
        for override in waiting:
            tried[override] = len(accepted)
            try:
                base = compose([*accepted, override])
            except ERRORS as reason:
                refused[override] = reason
            else:
                accepted.append(override)
                del refused[override]
    for override, last in refused.items():
        bringing = _bringing(key_of(override)) if _is_not_brought(override, last) else ()
        if not any(choice in refused for choice in bringing):  # else that one says what is wrong
            yield Problem(override, _reason(override, last, base))


def _unreadable(text: str, error: Exception) -> str:
    key, equals, value = text.partition("=")
    if not key.strip("+~"):
        return "no setting is named; write key=value, without blanks around ="
    if not equals:
        meant = [f"{group}={key}" for group in _NAMED_FIRST if key in options_of(group)]
        return f"is given no value; write {' or '.join(meant) or f'{key}=VALUE'}"
    if value.startswith(",") or value.endswith(",") or ",," in value:
        return "a value is missing beside a comma"
    lines = str(error).splitlines()
    reason = next((line for line in lines if not line.startswith("Error parsing")), lines[0])
    reason = reason.partition(" expecting")[0]
    return f"cannot be read: {reason}; special characters need quotes: {key}='\"...\"'"


def options_of(group: str, searchpath: Sequence[str] = ()) -> list[str]:
    """The files of a group; none where there is no such group.

    Args:
        group: its folder.
        searchpath: overrides that name further folders of configuration files.
    """
    if not group or group.split("/")[0] == "hydra":
        return []
    loader = GlobalHydra.instance().config_loader()
    options = loader.get_group_options(group, overrides=list(searchpath))
    return sorted(name for name in options if not _is_for_wandb(group, name))


def _is_for_wandb(group: str, choice: object) -> bool:
    """Whether a file of conf/sweep is for W&B's agents and no part of a configuration."""
    return group == "sweep" and str(choice).startswith("wandb_")


def _groups(holder: str) -> list[str]:
    """The groups below a group."""
    loader = GlobalHydra.instance().config_loader()
    return [f"{holder}/{group}" for group in loader.list_groups(holder)]


def _bringing(group: str) -> Iterator[str]:
    """The choices whose files bring a group along, such as `model/pooling=attention`."""
    holder = group.rpartition("/")[0]
    load = GlobalHydra.instance().config_loader().repository.load_config  # type: ignore[attr-defined]
    for place in (holder, *_groups(holder)):
        for option in options_of(place):
            file = load(f"{place}/{option}")
            parts = file.defaults_list if file else []
            if group in (_whole(part, place) for part in parts if isinstance(part, GroupDefault)):
                yield f"{place}={option}"


def _whole(part: GroupDefault, place: str) -> str:
    """A group in a file's list of defaults, from the top; empty of one that the file only changes."""
    group = str(part.group)
    if part.override:
        return ""
    return group.removeprefix("/") if group.startswith("/") else f"{place}/{group}"


def _mistake(override: Override, text: str, searchpath: list[str]) -> str | None:
    key = override.key_or_group
    if not key:
        return "no setting is named; write key=value, without blanks around ="
    if override.is_sweep_override():
        name, _, values = text.partition("=")
        return (
            f"these are several values; add -m to run a job with each: -m {text} "
            f"(a list of values is written {name}=[{values}])"
        )
    value = override.value()
    options = options_of(key, searchpath)
    if override.is_delete():
        choose = f"; choose with {key}=NAME; allowed: {', '.join(options)}" if options else ""
        return f"a run cannot do without{choose}" if options or key in Settings.__annotations__ else None
    if not options:
        return _written_with_a_dot(key, value, searchpath)
    choices = f"; allowed: {', '.join(options)}"
    if _is_for_wandb(key, value):
        return f"is for W&B's agents: wandb sweep conf/sweep/{value}.yaml{choices}"
    if override.is_add() or override.is_force_add():
        return f"one is chosen already; write {key}={value} without the +"
    if isinstance(value, list) and len(value) > 1 and key not in SEVERAL:
        return f"takes one choice; to run a job with each: -m {key}={','.join(map(str, value))}"
    if value is None or value == "":
        return f"is a choice among files and cannot be {'null' if value is None else 'empty'}{choices}"
    if isinstance(value, bool | int | float):
        return f"there is no {key} called {value}{choices}"
    if key in SEVERAL:
        return _no_such_choices(key, value if isinstance(value, list) else [value], options, searchpath)
    return None


def _no_such_choices(
    group: str, chosen: Sequence[object], options: Sequence[str], searchpath: Sequence[str]
) -> str | None:
    """Choices, of a group that takes several, of which there is no file."""
    absent = [str(name) for name in chosen if str(name) not in options]
    if not absent:
        return None
    said = f"there is no {group} called {' or '.join(absent)}{unknown(absent[0], options)}"
    tasks = options_of("task", searchpath) if group == "callbacks" else []
    own = [name for name in absent if name in tasks]
    return f"{said}; task={own[0]} brings its own callbacks, leave callbacks= out" if own else said


def _written_with_a_dot(key: str, value: object, searchpath: list[str]) -> str | None:
    """`model.recurrent=lstm` where `model/recurrent=lstm` is meant."""
    group = key.replace(".", "/")
    options = options_of(group, searchpath) if group != key and isinstance(value, str) else []
    if not options:
        return None
    nearest = "" if value in options else unknown(str(value), options)
    return f"is a choice among files: write {group}={value}{nearest}"


def _outermost_first(override: str) -> tuple[bool, int]:
    """Orders by this: choices among files, then choices in what they chose, then values."""
    key = key_of(override)
    return "." in key, key.count("/")


def _reason(override: str, error: Exception, base: DictConfig) -> str:
    key = key_of(override)
    choices = OmegaConf.select(base, "hydra.runtime.choices") or {}
    if key.startswith(("hydra.sweeper.", "hydra/sweeper/")) and choices.get("hydra/sweeper") in LISTING:
        return "is a setting of studies: add -m hydra/sweeper=optuna"
    group, choice = "", ""
    if isinstance(error, MissingConfigException):
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
    if group.startswith("hydra/") and choice in PLUGINS:
        return f"needs a plugin: pip install -e '.[{PLUGINS[choice]}]' in the checkout"
    if isinstance(error, MissingConfigException) and error.options is not None:
        options = [option for option in error.options if not _is_for_wandb(group, option)]
        name = f"; a name for a sweep is sweep.name={choice}" if group == "sweep" else ""
        return f"there is no {group} called {choice}" + unknown(choice, options) + name
    if str(error).startswith("Could not append to config. An item is already"):
        return f"is set already; write {override.lstrip('+')} without the +"
    group, placed, package = key.partition("@")
    if placed:
        return f"nothing chooses {group} for {package}" + unknown(key, _placed(group, base))
    holder, slash, _ = key.rpartition("/")
    if slash and key not in (groups := _groups(holder)):
        return f"there is no {key}" + unknown(key, groups)
    unmatched = _NOT_BROUGHT.match(str(error))
    if unmatched and unmatched[1] != key:  # it was there before this choice was made
        return f"nothing in it has {unmatched[1]}; leave {unmatched[1]}= out, or take what was chosen before"
    if _is_not_brought(override, error):
        files = " or ".join(_bringing(key)) or "another choice"
        return f"nothing here has {key}; take it with {files}"
    # The deepest part of the key that exists says what could have been meant.
    parent, part = base, ""
    for part in key.split("."):
        if part not in parent:
            if options_of(key):  # a group whose choice leaves no key of its name
                break
            return _no_such_part(override, part, parent, base)
        node = OmegaConf.select(parent, part)
        if not isinstance(node, DictConfig):
            if part != key.split(".")[-1]:
                return f"{part} is {shown(node)}, so there is nothing in it"
            break
        parent = node
    cause = error.__cause__
    if isinstance(
        cause, ConfigKeyError | ConfigAttributeError
    ):  # a mapping with an entry that does not exist
        return _no_such_part(override, str(cause.key), parent, base)
    return _said(error)


def _is_not_brought(override: str, error: Exception) -> bool:
    """Whether it is a choice in a group within another one, which nothing that is chosen brings along."""
    key, unmatched = key_of(override), _NOT_BROUGHT.match(str(error))
    return "/" in key and unmatched is not None and unmatched[1] == key


def _placed(group: str, base: DictConfig) -> list[str]:
    """The keys that choose a group for one place, such as `attention@model.word_pooling.attention.score`."""
    choices = OmegaConf.select(base, "hydra.runtime.choices") or {}
    return [key for key in map(str, choices) if key.startswith(f"{group}@") and "_global_" not in key]


def taken_unset(override: str, part: str, target: object) -> str | None:
    """Says how to set what a class takes and no file sets; None where the class does not take it.

    Args:
        override: as typed.
        part: the name of the argument.
        target: the `_target_` that may take it.
    """
    try:
        kind = locate(target)
    except NotAllowed:
        return None
    if part not in inspect.signature(kind).parameters:
        return None
    return f"is not among the settings, but {kind.__name__} takes it: write +{override.lstrip('+')}"


def _no_such_part(override: str, part: str, parent: DictConfig, base: DictConfig) -> str:
    if (setting := key_of(override)) in OF_STUDIES:
        return f"is a setting of studies: add -m hydra/sweeper=optuna and write hydra.sweeper.{setting}=VALUE"
    names = [str(name) for name in parent if name != "hydra" and not str(name).startswith("_")]
    if "{" not in override and (taken := taken_unset(override, part, parent.get(TARGET))):
        return taken
    tree = OmegaConf.to_container(base)
    assert isinstance(tree, dict)
    tree.pop("hydra", None)
    meant = [] if "{" in override else elsewhere(key_of(override), tree) or _called_so(override, names, tree)
    return f"there is no {part}" + unknown(part, names, meant)


def _called_so(override: str, beside: Sequence[str], tree: Any) -> list[str]:
    """The name of a setting that has another one in other programs: beside it, else its full key."""
    holder, _, name = key_of(override).rpartition(".")
    if here := [other for other in SYNONYMS.get(name, ()) if other in beside]:
        return here[:1]
    found = (elsewhere(joined(holder, other), tree) for other in SYNONYMS.get(name, ()))
    return next(filter(None, found), [])


def _said(error: Exception) -> str:
    """An error in one line."""
    if unmatched := _UNMATCHED.match(str(error)):
        recipe, group = unmatched.groups()
        words = " ".join(parts_of(recipe.rpartition("/")[2]))
        own = f"; for this model type what you need of the recipe: {words}" if words else ""
        return (
            f"{recipe} chooses {group}=, which nothing here has; take another model, or another recipe{own}"
        )
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}: {error.problem or error.context}"
    if isinstance(error, UnicodeDecodeError):
        return f"a file is not UTF-8 text: {error.reason} at byte {error.start}"
    if isinstance(error, RecursionError):
        return "its file includes itself, perhaps by way of others, or is nested too deeply"
    if isinstance(error, UserWarning):  # ours is about the search path alone
        return f"there is no folder {str(error).partition('path=')[2].removesuffix(' is not available.')}"
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    return str(cause).strip().splitlines()[0]
