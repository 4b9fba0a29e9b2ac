"""What tests of several parts share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.frozen import Config

CONF = Path(__file__).parents[1] / "conf"


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's folders, and none talks to a server."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def configure(tmp_path: Path) -> Callable[..., Config]:
    """Composes and resolves what a command line asks for, with all folders below the test's."""

    def compose(*overrides: str) -> Config:
        resolvers.register()
        folders = [f"paths.runs_dir={tmp_path}/runs"]
        return compose_jobs(CONF, [*folders, *overrides], multirun=False)[0].config

    return compose
