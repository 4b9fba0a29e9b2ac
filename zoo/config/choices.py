"""What the files of conf/ offer: the words for a message about a choice that does not fit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.config.allowed import locate
from zoo.config.resolvers import PROJECT
from zoo.core.plugins import plugin_folders
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
    """What a recipe chooses besides its model and what belongs to that, as words to type."""
    file = next((file for name, file in _files("experiment") if name == recipe), {})
    groups = ((key.removeprefix("override /"), chosen) for key, chosen in _defaults(file))
    return [
        f"{group}={chosen}" for group, chosen in groups if group.partition("/")[0] not in ("model", recipe)
    ]


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
