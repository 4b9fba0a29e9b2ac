"""What the files of conf/ offer: the words for a message about a choice that does not fit."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.config.allowed import locate
from zoo.config.resolvers import PROJECT
from zoo.core.plugins import plugin_folders
from zoo.core.problems import joined
from zoo.core.reading import read_yaml


def models_for(batch: type) -> list[str]:
    """The models whose task takes such batches; where no model brings that task, the task.

    Returns:
        Words to type, such as `model=ram`.
    """
    tasks = [name for name, kind in _kinds("task") if getattr(kind, "batch_type", None) is batch]
    files = dict(_files("model"))
    models = [f"model={name}" for name, file in files.items() if _task_of(file, files) in tasks]
    return models or [f"task={name}" for name in tasks]


def data_for(batch: type) -> list[str]:
    """The data with such batches, as words to type, such as `data=digits`."""
    return [f"data={name}" for name, kind in _kinds("data") if getattr(kind, "batch_type", None) is batch]


def parts_of(recipe: str) -> list[str]:
    """What a recipe says besides its model, as words to type: choices, then settings."""
    choices, settings = _contents(recipe, dict(_files("experiment")))
    words = [f"{group}={chosen}" for group, chosen in choices.items()]
    return words + [f"{key}={_word(value)}" for key, value in settings.items()]


def _contents(recipe: str, recipes: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The choices and the settings of a recipe and of those that it begins with."""
    file = recipes.pop(recipe, {})  # each is read once, even if it begins with itself
    choices: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    listed = file.get("defaults")
    for name in listed if isinstance(listed, list) else ():
        if isinstance(name, str) and name in recipes:
            begun, set_there = _contents(name, recipes)
            choices |= begun
            settings |= set_there
    for key, chosen in _defaults(file):
        group = key.removeprefix("override /")
        if group.partition("/")[0] != "model":
            choices[group] = chosen
    own = {key: value for key, value in file.items() if key not in ("defaults", "model")}
    return choices, settings | dict(_settings(own))


def _settings(node: dict[str, Any], key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a file by its full key, also null, which a recipe may put in the place of a default."""
    for name, value in node.items():
        if isinstance(value, dict) and value:
            yield from _settings(value, joined(key, name))
        else:
            yield joined(key, name), value


def _word(value: object) -> str:
    """A value as it is typed; quoted where a shell would read something into it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return shlex.quote(str(value).replace(" ", ""))


def _files(group: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every file of a group, by name; what cannot be read is left out."""
    for folder in (PROJECT / "conf", *plugin_folders()):
        for path in sorted((folder / group).glob("*.yaml")):
            if content := _read(path):
                yield path.stem, content


def _read(path: Path) -> dict[str, Any]:
    try:
        content = read_yaml(path)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _defaults(file: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The choices in the defaults list of a file, by their keys without packages."""
    listed = file.get("defaults")
    for entry in listed if isinstance(listed, list) else ():
        for key, chosen in entry.items() if isinstance(entry, dict) else ():
            yield str(key).partition("@")[0], chosen


def _task_of(model: dict[str, Any], models: dict[str, dict[str, Any]]) -> Any:
    """The task that a model's file chooses, or one that it begins with; else the default one."""
    listed = model.get("defaults")
    begun = [models.get(name) for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    for file in (model, *filter(None, begun)):
        if task := dict(_defaults(file)).get("override /task"):
            return task
    return dict(_defaults(_read(PROJECT / "conf/train.yaml"))).get("task")


def _kinds(group: str) -> Iterator[tuple[str, type]]:
    """The class that each file of a group builds, where there is one."""
    for name, file in _files(group):
        try:
            yield name, locate(file.get(group, file).get("_target_"))
        except (AttributeError, ImportError, TypeError, ValueError):
            continue
