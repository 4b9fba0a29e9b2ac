"""Compiled networks: the same numbers, the same names, few graphs. Each in a process of its own."""

import json
import logging
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import lightning.pytorch as pl
import pytest
import torch
from torch import nn
from torch._inductor import config as inductor
from torch._inductor import cpp_builder

import zoo
import zoo.config.rules
import zoo.training.callbacks.compiling
from zoo.config.check import check
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config
from zoo.runs.results import config_hash
from zoo.runtime.compiling import Compilation, compilable, compilable_methods, compile_in_place, missing_tools
from zoo.training.callbacks import Compiling

ROOT = Path(__file__).parents[2]
NETWORKS = ROOT / "tests" / "networks"
SAMPLING = ("hard", "gumbel", "ram")
"""In names of networks whose graphs are cut where numbers are drawn."""
MOST_GRAPHS = 14
"""Of a whole network, however many lengths there are; first steps, of empty states, have their own."""


def compared(backend: str, lengths: int, *names: str) -> dict[str, dict[str, Any]]:
    """What tests/networks/compiled_networks.py says of networks, by their names; all without names."""
    path = os.pathsep.join([str(ROOT), str(NETWORKS)])
    done = subprocess.run(
        [sys.executable, str(NETWORKS / "compiled_networks.py"), backend, str(lengths), *names],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one.pop("name"): one for one in found}


def problems(found: dict[str, dict[str, Any]], tolerance: float) -> dict[str, dict[str, Any]]:
    """Those that differ, changed names, fell apart or were compiled for every length."""
    return {
        name: one
        for name, one in found.items()
        if one["worst"] > tolerance
        or not one["same_names"]
        or (one["breaks"] and not any(word in name for word in SAMPLING))
        or one["refused"]
        or not 1 <= one["graphs"] <= MOST_GRAPHS
    }


@pytest.mark.slow
def test_graphs_hold_what_networks_do() -> None:
    found = compared("eager", 3, "luong-GRU")
    assert list(found) == ["luong-GRU"]
    assert not problems(found, 1e-6)


@pytest.mark.slow
def test_every_network_at_ten_lengths() -> None:
    found = compared("eager", 10)
    assert len(found) > 25
    assert not problems(found, 1e-5)


@pytest.mark.slow
def test_compiled_code_computes_the_same() -> None:
    names = (
        *("bahdanau-LSTM", "luong-feeding-GRU", "luong-GRU", "transformer-post-norm", "captioner-soft"),
        *("captioner-hard", "ram", "fully-connected", "convolutional", "dropout"),
    )
    assert not problems(compared("inductor", 10, *names), 1e-4)


@pytest.mark.slow
def test_a_compiled_run_leaves_an_ordinary_checkpoint(tmp_path: Path) -> None:
    line = ["experiment=dates_bahdanau", "trainer=debug", "compile=true", "logger=csv"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *line, f"paths.runs_dir={tmp_path}/runs"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("runs/*/*/")
    assert "compilations: " in (folder / "train.log").read_text()
    (translations,) = zoo.load(folder).predict(["3 May 1999"])
    assert translations


class Doubling(nn.Module):
    """The smallest network of which something is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    @compilable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * self.weight * x


class TestInPlace:
    def test_only_training_is_compiled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch, "compile", lambda method, **_: lambda *arguments: 100 * method(*arguments))
        network = nn.Sequential(Doubling())
        compile_in_place(network, backend="nothing that torch knows")
        x = torch.ones(1)
        assert network(x) == 200
        with torch.no_grad():
            assert network(x) == 2
        network.eval()
        assert network(x) == 200, "gradients may flow in eval mode too"

    def test_names_and_copies(self) -> None:
        network = nn.Sequential(Doubling(), nn.Linear(1, 1))
        before = list(network.state_dict())
        compile_in_place(network)
        assert list(network.state_dict()) == before
        copy = deepcopy(network)
        with torch.no_grad():
            cast(Doubling, copy[0]).weight.fill_(5)
            assert copy[0](torch.ones(1)) == 10
            assert network[0](torch.ones(1)) == 2

    def test_hooks_run(self) -> None:
        network, seen = Doubling(), []
        compile_in_place(network)
        network.register_forward_hook(lambda *_: seen.append(1))
        with torch.no_grad():
            network(torch.ones(1))
        assert seen == [1]

    def test_parts_that_are_not_marked_stay(self) -> None:
        assert [name for _, name in compilable_methods(nn.Sequential(Doubling(), nn.Linear(1, 1)))] == [
            "forward"
        ]


class TestCheck:
    def test_compilers_are_looked_for_first(
        self, configure: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = configure("trainer=cpu", "compile=true")
        check(config)
        monkeypatch.setattr(zoo.config.rules, "missing_tools", lambda accelerator: [f"a {accelerator}", "b"])
        with pytest.raises(ConfigError, match="compile: true needs a cpu and b; or leave it out"):
            check(config)
        check(config | {"compile": False})
        check({key: value for key, value in config.items() if key != "compile"})

    def test_names_what_is_missing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert missing_tools("cpu") == []
        cpp_builder.cpp_compiler_search.cache_clear()
        monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
        with inductor.patch({"cpp.cxx": ("no-such-compiler",)}):
            found = [tool.partition(" (")[0] for tool in missing_tools("cpu")]
        assert found == ["a C++ compiler", "Python's header files"]
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "a C compiler" in [tool.partition(" (")[0] for tool in missing_tools("gpu")]
        cpp_builder.cpp_compiler_search.cache_clear()

    def test_something_must_be_compiled(self, configure: Callable[..., Config]) -> None:
        with pytest.raises(ConfigError, match="compile: true changes nothing: no part of this model"):
            check(configure("trainer=cpu", "model/decoder=none", "compile=true"))

    def test_compile_does_not_change_the_config_hash(self, configure: Callable[..., Config]) -> None:
        assert config_hash(configure("compile=true")) == config_hash(configure())


class TestReport:
    DONE = (
        Compilation("_advance", 3.0, None, False),
        Compilation("_advance", 2.0, "tensor 'state.feed' requires_grad mismatch", False),
    )

    def said(
        self, done: tuple[Compilation, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> list[str]:
        monkeypatch.setattr(zoo.training.callbacks.compiling, "compilations", lambda: list(done))
        with caplog.at_level(logging.INFO, "zoo"):
            Compiling().on_train_end(
                cast(pl.Trainer, SimpleNamespace(is_global_zero=True)), pl.LightningModule()
            )
        return [f"{record.levelname}: {record.getMessage()}" for record in caplog.records]

    def test_counts(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        assert self.said(self.DONE, monkeypatch, caplog) == [
            "INFO: compilations: 2 in 5 s, 1 of them because something had changed\n"
            "  _advance (tensor 'state.feed' requires_grad mismatch)"
        ]

    def test_warns_where_it_was_too_often(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        refused = Compilation("_advance", 0.1, "tensor 'x' dtype mismatch", True)
        assert self.said((*self.DONE, refused), monkeypatch, caplog)[1] == (
            "WARNING: compile: _advance was compiled 2 times and no more: where something has changed again,"
            " it runs uncompiled. The last change was: tensor 'x' dtype mismatch"
        )
