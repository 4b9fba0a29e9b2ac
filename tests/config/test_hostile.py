"""A hostile configuration runs no code: the marker that each of these would leave is not there."""

import contextlib
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from zoo.config import resolvers
from zoo.config.check import check
from zoo.config.instantiate import instantiate
from zoo.config.rules import paths_stay_in_their_folders
from zoo.core.problems import ConfigError
from zoo.runs.copying import copy_run
from zoo.runs.frozen import Config, thaw

REFUSED = r"may not be built|does not exist"


class Payload:
    """Makes the marker when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.marker,)


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that hostile code makes, with everything around that such code needs."""
    path = tmp_path / "marker"
    (tmp_path / "payload.pickle").write_bytes(pickle.dumps(Payload(path)))
    (tmp_path / "hubconf.py").write_text(f"def model():\n    open({str(path)!r}, 'w').close()\n")
    (tmp_path / "evil_module.py").write_text(f"open({str(path)!r}, 'w').close()\nclass Evil: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return path


def touch(target: str, *arguments: Any, **values: Any) -> dict[str, Any]:
    return {"_target_": target, **({"_args_": list(arguments)} if arguments else {}), **values}


def attacks(marker: Path) -> dict[str, dict[str, Any]]:
    command = f"touch {marker}"
    code = f"open({str(marker)!r}, 'w').close()"
    return {
        "os.system": touch("os.system", command),
        "builtins.eval": touch("builtins.eval", code),
        "builtins.exec": touch("builtins.exec", code),
        "subprocess class": touch("subprocess.Popen", ["touch", str(marker)]),
        "torch.load": touch("torch.load", str(marker.with_name("payload.pickle")), weights_only=False),
        "torch.hub.load": touch("torch.hub.load", str(marker.parent), "model", source="local"),
        "torch's shell": touch("torch.utils.collect_env.run", command),
        "re-exported function": touch("zoo.core.files.os.system", command),
        "re-exported class": touch("zoo.sweeps.job.subprocess.Popen", ["touch", str(marker)]),
        "re-exported importer": touch("zoo.config.allowed.importlib.import_module", "evil_module"),
        "own function": touch("zoo.core.files.write_text", marker, "x"),
        "own method": touch(
            "zoo.runs.status.StatusFile.start", touch("zoo.runs.status.StatusFile", str(marker))
        ),
        "method of an allowed class": touch("torch.nn.Module.register_module.__globals__", command),
        "module of this folder": touch("evil_module.Evil"),
        "hydra itself": touch("hydra.utils.instantiate", touch("os.system", command)),
        "partial": touch("functools.partial", touch("os.system", command)),
        "relative name": touch("..os.system", command),
        "private name": touch("zoo.config._os.system", command),
        "late": touch("os.system", command, _partial_=True),
        "hidden by recursion": touch(
            "zoo.attention.Soft", _recursive_=False, query_size=touch("os.system", command)
        ),
    }


def test_the_attacks_would_work(marker: Path) -> None:
    """The test's own check: what the markers stand for does happen without protection."""
    import torch

    with contextlib.suppress(RuntimeError):  # it runs first and is found not to be a checkpoint then
        torch.load(marker.with_name("payload.pickle"), weights_only=False)
    assert marker.exists()
    marker.unlink()
    __import__("evil_module")
    assert marker.exists()
    del sys.modules["evil_module"]


@pytest.mark.hostile("configuration")
@pytest.mark.parametrize("name", attacks(Path("marker")))
@pytest.mark.parametrize("place", ["alone", "nested"])
def test_no_code_runs(marker: Path, config: Config, name: str, place: str) -> None:
    attack = attacks(marker)[name]
    config["callbacks"]["hostile"] = attack if place == "alone" else {"list": [{"deep": attack}]}

    with pytest.raises(ConfigError, match=REFUSED):
        check(config)
    with pytest.raises(ConfigError, match=REFUSED):
        instantiate(config["callbacks"], "callbacks")
    assert not marker.exists()


@pytest.mark.hostile("configuration")
@pytest.mark.parametrize("target", [3, None, ["os", "system"], {"_target_": "os.system"}, "", "os", "zoo"])
def test_a_target_is_a_dotted_name(config: Config, target: object) -> None:
    config["callbacks"]["hostile"] = {"_target_": target}
    with pytest.raises(ConfigError, match="may not be built"):
        check(config)


def frozen(config: Config, folder: Path) -> Path:
    path = folder / "run" / "config.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.hostile("configuration")
@pytest.mark.parametrize(
    "hostile",
    [
        {"_target_": "${evil}", "_args_": ["COMMAND"]},
        "${oc.create:'{_target_: os.system, _args_: [COMMAND]}'}",
        "${callbacks.${which}}",
        r"\${oc.create:'{_target_: os.system, _args_: [COMMAND]}'}",
    ],
    ids=["target", "whole node", "node by name", "resolved twice"],
)
def test_interpolation_hides_nothing(marker: Path, config: Config, hostile: Any) -> None:
    resolvers.register()
    text = yaml.safe_dump(hostile).replace("COMMAND", f"touch {marker}")
    config["callbacks"]["hostile"] = yaml.safe_load(text)
    config["callbacks"]["other"] = touch("os.system", f"touch {marker}")
    config |= {"evil": "os.system", "which": "other"}

    with pytest.raises(ConfigError) as caught:
        check(thaw(frozen(config, marker.parent)))
    assert "callbacks.hostile" in str(caught.value)
    assert not marker.exists()


@pytest.mark.hostile("configuration")
@pytest.mark.parametrize(
    "content",
    [
        "!!python/object/apply:os.system ['touch MARKER']",
        "paths: !!python/object/apply:os.system ['touch MARKER']",
        "paths: {run_dir: !!python/name:os.system }",
    ],
)
def test_yaml_makes_no_objects(marker: Path, content: str) -> None:
    path = marker.with_name("config.yaml")
    path.write_text(content.replace("MARKER", str(marker)))
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        thaw(path)
    assert not marker.exists()


@pytest.mark.hostile("configuration")
def test_a_pickle_is_no_configuration(marker: Path) -> None:
    path = marker.with_name("config.yaml")
    path.write_bytes(pickle.dumps(Payload(marker), protocol=4))
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        thaw(path)
    assert not marker.exists()


def test_what_was_checked_is_what_is_built(config: Config) -> None:
    """A class derived from an allowed one, defined elsewhere, passes by what it is and not by its name."""
    task = instantiate(config["decoding"], "decoding")
    assert type(task).__module__.startswith("zoo.decoding")


@pytest.mark.hostile("configuration")
@pytest.mark.parametrize(
    ("part", "key"),
    [
        ({"_target_": "zoo.tasks.translation.sample_table.SampleTable", "folder": "ELSEWHERE"}, "folder"),
        ({"_target_": "zoo.tasks.translation.sample_table.SampleTable", "folder": "run"}, "folder"),
        ({"_target_": "zoo.tasks.translation.sample_table.SampleTable", "folder": "RUN/.."}, "folder"),
        ({"_target_": "lightning.pytorch.callbacks.ModelCheckpoint", "dirpath": "ELSEWHERE"}, "dirpath"),
        ({"_target_": "lightning.pytorch.callbacks.ModelCheckpoint", "dirpath": "RUN/../x"}, "dirpath"),
        (
            {"_target_": "lightning.pytorch.callbacks.ModelCheckpoint", "dirpath": "RUN", "filename": "../x"},
            "filename",
        ),
        (
            {
                "_target_": "lightning.pytorch.callbacks.OnExceptionCheckpoint",
                "dirpath": "RUN",
                "filename": "ELSEWHERE",
            },
            "filename",
        ),
        (
            {"_target_": "lightning.pytorch.loggers.CSVLogger", "save_dir": "RUN", "version": "../../x"},
            "version",
        ),
        ({"_target_": "zoo.loggers.metrics_file.MetricsFile", "path": "ELSEWHERE"}, "path"),
    ],
)
@pytest.mark.parametrize("group", ["callbacks", "logger"])
def test_a_received_configuration_writes_in_its_runs_folder_alone(
    tmp_path: Path, config: Config, group: str, part: dict[str, str], key: str
) -> None:
    run = config["paths"]["run_dir"]
    places = {"RUN": run, "ELSEWHERE": str(tmp_path / "elsewhere")}
    hostile = {name: _placed(text, places) for name, text in part.items()}
    problems = paths_stay_in_their_folders({**config, group: {"hostile": hostile}}, ())
    assert [problem.key for problem in problems] == [f"{group}.hostile.{key}"]


def _placed(text: str, places: dict[str, str]) -> str:
    for word, place in places.items():
        text = text.replace(word, place)
    return text


@pytest.mark.hostile("configuration")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("paths: " + "[" * 5000 + "]" * 5000, "is no YAML that can be read"),
        ("paths: &a {run_dir: [*a]}", "stands for something that is not complete there"),
        (
            "a: &a {" + ", ".join(f"k{n}: x" for n in range(999)) + "}\npaths: [" + "*a, " * 999 + "]",
            "100,000",
        ),
    ],
    ids=["brackets", "circle", "aliases"],
)
def test_yaml_that_no_reader_can_take_apart_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(content)
    for read in (thaw, lambda path: copy_run(path.parent)):
        with pytest.raises(ValueError, match=re.escape(said)) as caught:
            read(path)
        assert str(path) in str(caught.value)
