"""What tests of several parts share."""

import itertools
import logging
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from fault_table import HOSTILE, note
from hydra.core.global_hydra import GlobalHydra

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.runs.frozen import Config

CONF = Path(__file__).parents[1] / "conf"
_NUMBERS = itertools.count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that says `sampled(count)` every k-th case is quick, k being odd; the others are slow."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for several in cases.values():
        marker = several[0].get_closest_marker("sampled")
        assert marker is not None
        step = -(-len(several) // marker.args[0]) | 1  # odd: parameters of two or four values all take turns
        for number, item in enumerate(several):
            if number % step:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Counts the hostile inputs that were met as they should be."""
    report = yield
    if report.when == "call" and report.passed and (marker := item.get_closest_marker("hostile")):
        input_, outcome = HOSTILE[marker.args[0]]
        note(f"hostile input: {input_}", lost=outcome)
    return report


@pytest.fixture(autouse=True)
def private_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's folders, and none talks to a server."""
    # Not `tmp_path`: to number a folder pytest looks through those of all tests before.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache{next(_NUMBERS)}"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def configure(tmp_path: Path) -> Callable[..., Config]:
    """Composes and resolves what a command line asks for, with all folders below the test's."""

    def compose(*overrides: str) -> Config:
        resolvers.register()
        folders = [f"paths.runs_dir={tmp_path}/runs", f"paths.data_dir={tmp_path}/data"]
        return compose_jobs(CONF, [*folders, *overrides], multirun=False)[0].config

    return compose


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def logging_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a run does to the logging and the warnings of its process is undone."""
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    root, handlers, level = logging.getLogger(), logging.getLogger().handlers[:], logging.getLogger().level
    with warnings.catch_warnings():
        yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def start(runs: Path, monkeypatch: pytest.MonkeyPatch, logging_kept: None) -> Iterator[Callable[..., int]]:
    """Runs `train.py` with a command line, in this process; what it did to the process is undone."""
    import train  # here, because it takes seconds and few tests need it

    def run(*line: str) -> int:
        where = [] if {"--frozen", "--weights"} & set(line) else [f"paths.runs_dir={runs}"]
        monkeypatch.setattr(sys, "argv", ["train.py", *line, *where])
        with warnings.catch_warnings():
            try:
                return train.main()
            except SystemExit as end:
                return int(end.code or 0)

    monkeypatch.setenv("PL_GLOBAL_SEED", "0")
    monkeypatch.setenv("PL_SEED_WORKERS", "0")
    yield run
    GlobalHydra.instance().clear()


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line that the process would have become."""
    line: list[str] = []

    def become(program: str, arguments: list[str]) -> None:
        assert program == arguments[0] == sys.executable
        line[:] = arguments[1:]
        raise SystemExit(7)

    monkeypatch.setattr(os, "execv", become)
    return line
