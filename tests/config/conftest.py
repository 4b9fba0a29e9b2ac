"""One composed configuration, to be changed by tests that look at what is wrong with it."""

import copy
from pathlib import Path

import pytest

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.runs.frozen import Config


@pytest.fixture(scope="session")
def composed_once(tmp_path_factory: pytest.TempPathFactory) -> Config:
    resolvers.register()
    folder = tmp_path_factory.mktemp("base")
    overrides = [f"paths.runs_dir={folder}/runs", f"paths.cache_dir={folder}/cache", "trainer=cpu"]
    conf = Path(__file__).parents[2] / "conf"
    return compose_jobs(conf, [*overrides, "model.embedding_size=8", "model.hidden_size=8"], False)[0].config


@pytest.fixture
def config(composed_once: Config) -> Config:
    """The default configuration, small, to be spoiled."""
    return copy.deepcopy(composed_once)
