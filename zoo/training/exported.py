"""A model that travels: a folder that needs no run, no data set and no other machine.

| file | what |
| --- | --- |
| model.safetensors | the weights |
| config.yaml | the resolved configuration, in which no path leads anywhere |
| zoo.json | step, validation metrics, and what the data was like |
| tokenizer_FIELD.json | the `tokenizers` JSON of each text |
| metrics.json, README.md | for people: what was measured, and the model card |

Anyone may have made such a folder. Reading one runs no code from it, follows no link out of it, and imports
nothing that it names.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from torch import Tensor

from zoo.core.files import write_json, write_text
from zoo.core.problems import joined
from zoo.core.reading import Unreadable, read_json, read_text, read_yaml, unique_keys
from zoo.core.safetensors import read_tensors, write_tensors
from zoo.core.spec import DataSpec
from zoo.training.checkpoint_content import finite_weights, step_of

FORMAT = 1
WEIGHTS, CONFIG, ABOUT = "model.safetensors", "config.yaml", "zoo.json"
METRICS, CARD = "metrics.json", "README.md"
TOKENIZER = re.compile(r"tokenizer_[a-z][a-z0-9_]*\.json")

_PICKLES = (".bin", ".ckpt", ".dill", ".joblib", ".pickle", ".pkl", ".pt", ".pth")
"""Endings of files that many programs unpickle."""
_OF_THE_MACHINE = ("paths", "logger")
"""Groups of a configuration that say where a run was written and logged, and nothing of the model."""
_ROOTED = re.compile(r"/.|~|[A-Za-z]:[/\\]|\\\\|file:", re.IGNORECASE)
"""How paths begin that do not depend on the current folder; a slash alone is a text."""
_LARGEST_CONFIG = 2**20


class Exported(NamedTuple):
    """What a model needs to be built and used; the attributes are those of a `Checkpoint`."""

    config: dict[str, Any]
    spec: DataSpec
    state_dict: dict[str, Tensor]
    step: int
    metrics: dict[str, float]
    monitor: str | None


def is_export(folder: Path) -> bool:
    """Whether a folder says that it is an exported model."""
    return os.path.lexists(folder / ABOUT)


def write_export(folder: Path, model: Exported, version: str) -> None:
    """Writes the files of a model that a program reads into an empty folder.

    Args:
        folder: is there.
        model: paths in its configuration are shortened, see `without_places`.
        version: of this package.
    """
    write_tensors(folder / WEIGHTS, model.state_dict)
    config = {key: value for key, value in model.config.items() if key not in _OF_THE_MACHINE}
    text = yaml.safe_dump(without_places(config), sort_keys=False, allow_unicode=True)
    write_text(folder / CONFIG, text)
    data = model.spec.to_dict()
    for name, one in data["fields"].items():
        if "tokenizer" in one:
            write_text(folder / _tokenizer(name), one["tokenizer"])
            one["tokenizer"] = _tokenizer(name)
    about = {"format": FORMAT, "version": version, "step": model.step, "monitor": model.monitor}
    write_json(folder / ABOUT, {**about, "metrics": model.metrics, "data": data})


def read_export(folder: Path) -> Exported:
    """Reads a folder that `write_export` wrote, or that somebody made to look like one.

    Raises:
        ValueError: a file is missing, damaged or something else, leads out of the folder or names places; the
            message names the file.
    """
    _refuse_pickles(folder)
    try:
        about = read_json(_inside(folder, ABOUT), object_pairs_hook=unique_keys)
        _require_format(folder / ABOUT, about)
        config = read_yaml(_inside(folder, CONFIG), _LARGEST_CONFIG)
        _require_no_places(folder / CONFIG, config)
        spec = _spec(folder, about)
        weights = read_tensors(_inside(folder, WEIGHTS))
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is no complete export: there is no {error.filename}") from error
    try:
        return Exported(
            config=config,
            spec=spec,
            state_dict=finite_weights(weights),
            step=step_of(about["step"]),
            metrics={str(name): float(value) for name, value in about["metrics"].items()},
            monitor=None if about["monitor"] is None else str(about["monitor"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{folder} is damaged: {_lacking(error)}") from error


def without_places(node: Any) -> Any:
    """A copy of a configuration in which of every path that leads elsewhere only the last part is left."""
    if isinstance(node, Mapping):
        return {key: without_places(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [without_places(value) for value in node]
    return _last_part(node) if isinstance(node, str) and leads_elsewhere(node) else node


def override_without_place(override: str) -> str:
    """What was typed, `key=value`; of a path that leads elsewhere, such as that of a run, the last part."""
    key, sign, value = override.partition("=")
    return f"{key}{sign}{without_places(value)}"


def leads_elsewhere(text: str) -> bool:
    """Whether a text is a path that leads out of the current folder, on any system."""
    return bool(_ROOTED.match(text)) or ".." in re.split(r"[/\\]", text)


def _last_part(path: str) -> str:
    names = [part for part in re.split(r"[/\\:]", path) if part.strip(".~ ")]
    return names[-1].lstrip("~") if names else "."


def _inside(folder: Path, name: str) -> Path:
    """A file of the folder, which no link may make one from elsewhere."""
    path = folder / name
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise Unreadable(path, "is a link that leads out of the folder; an export has files of its own")
    return path


def _refuse_pickles(folder: Path) -> None:
    """Nothing here would open them, but whoever made the folder meant them for a program that does."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in _PICKLES:
            raise Unreadable(
                path, "is refused: such a file may run code when it is opened, and an export has none"
            )


def _require_format(path: Path, about: Any) -> None:
    if not isinstance(about, dict) or "format" not in about:
        raise Unreadable(path, "does not describe an exported model of this project")
    if about["format"] != FORMAT:
        raise Unreadable(
            path,
            f"has format {about['format']!r} (of version {about.get('version')}); this version reads"
            f" {FORMAT}",
        )


def _require_no_places(path: Path, config: Any) -> None:
    if not isinstance(config, dict):
        raise Unreadable(path, "is no configuration: it must be a mapping")
    for key, value in _texts(config, ""):
        if leads_elsewhere(value):
            raise Unreadable(
                path,
                f"is refused: {key} is {value[:80]!r}, and an exported model names no place outside of it",
            )


def _texts(node: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text among the values of a configuration, with its full key."""
    if isinstance(node, str):
        yield key, node
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, value in parts:
        yield from _texts(value, joined(key, name))


def _spec(folder: Path, about: Mapping[str, Any]) -> DataSpec:
    try:
        data = dict(about["data"])
        data["fields"] = {name: dict(one) for name, one in data["fields"].items()}
        for name, one in data["fields"].items():
            if "tokenizer" in one:
                if one["tokenizer"] != _tokenizer(name) or not TOKENIZER.fullmatch(_tokenizer(name)):
                    raise ValueError(f"the tokenizer of {name!r} must be {_tokenizer(name)}")
                one["tokenizer"] = read_text(_inside(folder, _tokenizer(name)))
        return DataSpec.from_dict(data)
    except (Unreadable, FileNotFoundError):
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(folder / ABOUT, f"is damaged: {_lacking(error)}") from error


def _tokenizer(field: str) -> str:
    return f"tokenizer_{field}.json"


def _lacking(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
