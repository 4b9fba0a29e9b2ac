"""Which settings a trained model can be tested with, other than its own: none that made it what it is."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from zoo.config.overrides import key_of, options_of, parsed, taken_unset
from zoo.config.values import TARGET
from zoo.core.problems import ConfigError, Problem, joined, similar, unknown
from zoo.runs.frozen import Config, resolved

_TRAINER = (
    *("accelerator", "devices", "limit_test_batches", "precision", "strategy"),
    "use_distributed_sampler",  # which a strategy asks to be false
)
_NOT_DATA = ("tokenizer", "seed")
"""Settings below `data` that a test may not change, because they change the vocabulary or the split."""
_ALLOWED = (
    f"decoding=NAME, decoding.*, data.* but no {' or '.join(_NOT_DATA)}, trainer.({'|'.join(_TRAINER)})"
)


def with_overrides(config: Config, overrides: Sequence[str], config_dir: Path) -> Config:
    """The configuration of a run with other settings of its test.

    Args:
        config: resolved; left as it is.
        overrides: as typed; `decoding=NAME` takes a search of `config_dir`.
        config_dir: the folder of configuration files.

    Raises:
        ConfigError: names every override that does not fit.
    """
    changed = deepcopy(config)
    if "compile" in changed:
        changed["compile"] = False  # which concerns training alone, and may need what this machine has not
    with initialize_config_dir(str(config_dir), version_base="1.3"):
        read, problems = parsed(overrides)
        for override in sorted(read, key=lambda one: key_of(str(one.input_line)) != "decoding"):
            message = _mistake(override, config) or _put(changed, override)
            if message:
                problems.append(Problem(str(override.input_line), message))
    if problems:
        raise ConfigError(problems)
    return resolved(OmegaConf.create(changed), Path(config["paths"]["run_dir"]))


def typed(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """What was typed in all: for the training, as far as it still holds, and for the test."""
    told = {key_of(text) for text in now}
    replaced = told | {"test"}
    kept = [text for text in before if key_of(text) not in replaced]
    if "decoding" in told:
        kept = [text for text in kept if not key_of(text).startswith("decoding.")]
    return [*kept, *now]


def _mistake(override: Override, config: Config) -> str | None:
    """What the form of an override, or its key, gives away."""
    key = key_of(str(override.input_line))
    if override.is_sweep_override():
        return "these are several values; a test takes one"
    if override.is_delete():
        return f"a test leaves nothing out; allowed: {_ALLOWED}"
    parts = key.split(".")
    if not _is_allowed(parts):
        return f"a test cannot change it{similar(key, _names(config)) or ';'} allowed: {_ALLOWED}"
    if parts[0] == "decoding" and "decoding" not in config["task"]:
        return "changes nothing: the task writes no text; leave it out"
    return None


def _is_allowed(parts: Sequence[str]) -> bool:
    group, rest = parts[0], parts[1:]
    if any(part.startswith("_") for part in rest):  # what is built
        return False
    if group == "trainer":
        return len(rest) == 1 and rest[0] in _TRAINER
    return group == "decoding" or (group == "data" and bool(rest) and not set(rest) & set(_NOT_DATA))


def _names(config: Config) -> Iterator[str]:
    """Full keys of what may be changed, as far as they exist."""
    yield "decoding"
    for group in ("decoding", "data", "trainer"):
        names = _TRAINER if group == "trainer" else config.get(group) or {}
        yield from (joined(group, name) for name in names if _is_allowed([group, name]))


def _put(config: Config, override: Override) -> str | None:
    """Puts a value in its place, or says why that cannot be."""
    key = key_of(str(override.input_line))
    value: Any = override.value()
    if key == "decoding":
        options = options_of("decoding")
        if value not in options:
            return f"there is no decoding called {value}{unknown(str(value), options)}"
        value = OmegaConf.to_container(compose(f"decoding/{value}").decoding)
    message = _set(config, str(override.input_line), value, new=override.is_add())
    if message is None and key.split(".")[0] == "decoding":  # of which the task has a copy
        _set(config["task"], str(override.input_line), deepcopy(value), new=True)
    return message


def _set(config: dict[str, Any], override: str, value: Any, *, new: bool) -> str | None:
    node: Any = config
    parts = key_of(override).split(".")
    for number, part in enumerate(parts):
        if not isinstance(node, dict):
            return f"{parts[number - 1]} is not a mapping, so there is nothing in it"
        last = number == len(parts) - 1
        may_be_missing = last and (new or parts[0] == "trainer" or len(parts) == 1)
        if part not in node and not may_be_missing:
            names = [str(name) for name in node if not str(name).startswith("_")]
            taken = taken_unset(override, part, node.get(TARGET)) if last else None
            return taken or f"there is no {part}{unknown(part, names)}"
        if last:
            node[part] = value
        else:
            node = node[part]
    return None
