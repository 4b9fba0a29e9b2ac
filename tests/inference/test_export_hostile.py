"""A folder that a stranger made to look like an export is refused in one line, and nothing of it runs."""

import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from small_run import make_run
from typer.testing import CliRunner

import zoo
from zoo.cli.app import main
from zoo.core.safetensors import read_tensors, write_tensors
from zoo.inference.exporting import export
from zoo.training.checkpoint import CheckpointError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return export(make_run(tmp_path / "run"), tmp_path / "export")


def _config(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        config = yaml.safe_load((folder / "config.yaml").read_text())
        change(config)
        (folder / "config.yaml").write_text(yaml.safe_dump(config))

    return apply


def _about(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        about = json.loads((folder / "zoo.json").read_text())
        change(about)
        (folder / "zoo.json").write_text(json.dumps(about))

    return apply


def _weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        weights = read_tensors(folder / "model.safetensors")
        change(weights)
        write_tensors(folder / "model.safetensors", weights)

    return apply


def _file(name: str, content: bytes | str) -> Callable[[Path], None]:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data) and None


def _link(name: str, target: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return apply


def _moved_out(folder: Path) -> None:
    (folder / "config.yaml").rename(folder.parent / "outside.yaml")
    (folder / "config.yaml").symlink_to("../outside.yaml")


def _many(target: str, **values: Any) -> dict[str, Any]:
    return {"_target_": target, **values}


GROWING = "a0: &a0 [1]\n" + "".join(f"a{n + 1}: &a{n + 1} [{f'*a{n}, ' * 9}]\n" for n in range(9))
"""A few lines that would become 9 to the power of 9 values."""


class _Hostile:
    def __reduce__(self) -> Any:
        return os.system, ("touch marker",)


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a model of the system": (
        _config(lambda it: it["model"].update(_target_="os.system")),
        "may not be built",
    ),
    "a loader of pickles": (_config(lambda it: it["model"].update(_target_="torch.load")), "not a class"),
    "a stranger's package": (
        _config(lambda it: it["model"].update(_target_="evil.Model")),
        "ZOO_PLUGINS=evil",
    ),
    "a class that nobody builds": (
        _config(lambda it: it.update(callbacks={"x": _many("subprocess.Popen", args="touch marker")})),
        "callbacks.x._target_",
    ),
    "a class in a list": (
        _config(lambda it: it.update(data={"all": [1, [_many("evil.x")]]})),
        "data.all[1][0]._target_",
    ),
    "a module of ours that leads elsewhere": (
        _config(lambda it: it["model"].update(_target_="zoo.training.exported.os.system")),
        "may not be built",
    ),
    "a target that is no text": (
        _config(lambda it: it["model"].update(_target_=["os", "system"])),
        "may not be",
    ),
    "a task in the place of the model": (
        _config(lambda it: it.update(model=it["task"])),
        "cannot be built",
    ),
    "no model": (_config(lambda it: it.pop("model")), "must name a model"),
    "settings that nothing takes": (_config(lambda it: it["model"].update(shell="x")), "takes no shell"),
    "a model without end": (_config(lambda it: it["model"].update(layers=10**6)), "too many to fill"),
    "a number without end": (
        _config(lambda it: it["model"].update(layers=10**9)),
        "model.layers: must be at most",
    ),
    "a model larger than memory": (
        _config(lambda it: it["model"].update(hidden_size=2**18, embedding_size=2**18)),
        "too many to fill",
    ),
    "an absolute path": (
        _config(lambda it: it["model"].update(weights_dir="/etc")),
        "model.weights_dir is '/etc'",
    ),
    "a path upward": (_config(lambda it: it.update(data={"train": ["a/../../b"]})), "data.train[0] is"),
    "a user's folder": (_config(lambda it: it.update(x="~/.ssh/id")), "x is '~/.ssh/id'"),
    "YAML with a tag": (
        _file("config.yaml", "model: !!python/object/apply:os.system ['touch marker']"),
        "no YAML",
    ),
    "YAML that grows": (
        _file("config.yaml", GROWING),
        "no YAML that can be read",
    ),
    "YAML that is a text": (_file("config.yaml", "touch marker"), "is no configuration"),
    "a large configuration": (_file("config.yaml", b"a: 1\n" * 300_000), "is larger than"),
    "JSON that is none": (_file("zoo.json", "{'format': 1}"), "no JSON"),
    "JSON that is a list": (_file("zoo.json", "[1]"), "does not describe"),
    "JSON that says a key twice": (_file("zoo.json", '{"format": 1, "format": 1}'), "stands twice"),
    "another format": (_about(lambda it: it.update(format=2)), "this version reads 1"),
    "no description of the data": (_about(lambda it: it.pop("data")), "it lacks 'data'"),
    "a step that is none": (_about(lambda it: it.update(step=-1)), "global_step"),
    "metrics that are none": (_about(lambda it: it.update(metrics=[1])), "is damaged"),
    "a tokenizer from elsewhere": (
        _about(lambda it: it["data"]["fields"]["source"].update(tokenizer="../../secret.json")),
        "the tokenizer of 'source' must be tokenizer_source.json",
    ),
    "a field with a path for a name": (
        _about(
            lambda it: it["data"]["fields"].update(
                {"../x": {**it["data"]["fields"]["source"], "tokenizer": "tokenizer_../x.json"}}
            )
        ),
        "the tokenizer of '../x' must be",
    ),
    "an oversized tokenizer": (
        _file("tokenizer_source.json", b" " * (65 * 2**20)),
        "is larger than the 64 MiB",
    ),
    "a tokenizer of other tokens": (_file("tokenizer_source.json", "{}"), "cannot be read as a tokenizer"),
    "a larger vocabulary than there is": (
        _about(lambda it: it["data"]["fields"]["source"].update(size=10**12)),
        "too many to fill",
    ),
    "a pickle for weights": (
        _file("model.safetensors", pickle.dumps(_Hostile())),
        "not a readable file of weights",
    ),
    "a pickle beside them": (
        _file("pytorch_model.bin", pickle.dumps(_Hostile())),
        "pytorch_model.bin is refused",
    ),
    "a tensor too few": (_weights(lambda it: it.pop("network.output.bias")), "network.output.bias"),
    "a tensor too many": (_weights(lambda it: it.update(more=torch.ones(1))), "more"),
    "a tensor of another shape": (
        _weights(lambda it: it.update({"network.output.bias": torch.ones(3)})),
        "network.output.bias",
    ),
    "a tensor of whole numbers": (
        _weights(lambda it: it.update({"network.output.bias": it["network.output.bias"].long()})),
        "holds torch.int64",
    ),
    "numbers that are none": (
        _weights(lambda it: it["network.output.bias"].fill_(float("nan"))),
        "not finite",
    ),
    "weights that lead outside": (_link("model.safetensors", "/dev/zero"), "leads out of the folder"),
    "a configuration that leads outside": (_moved_out, "leads out of the folder"),
    "a tokenizer that leads outside": (
        _link("tokenizer_source.json", "/etc/passwd"),
        "leads out of the folder",
    ),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "no complete export"),
    "no tokenizer": (lambda folder: (folder / "tokenizer_target.json").unlink(), "no complete export"),
}


@pytest.mark.sampled(15)
@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make, said = HOSTILE[kind]
    make(folder)
    with pytest.raises(CheckpointError, match=re.escape(said)) as caught:
        zoo.load(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    assert not (tmp_path / "marker").exists()


@pytest.mark.hostile("checkpoint")
def test_the_command_says_it_in_one_line(folder: Path) -> None:
    HOSTILE["a stranger's package"][0](folder)
    result = CliRunner().invoke(main, ["predict", str(folder), "abc"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_a_link_within_the_folder_is_fine(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights")
    (folder / "model.safetensors").symlink_to("weights")
    assert zoo.load(folder).predict(["abc"])
