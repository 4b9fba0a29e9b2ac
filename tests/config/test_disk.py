"""What a sweep will write is estimated before it begins."""

import shutil
from collections import namedtuple
from collections.abc import Callable

import pytest

from zoo.config import disk
from zoo.config.check import check
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

Usage = namedtuple("Usage", "total used free")


def check_disk(*configs: Config) -> None:
    disk.check_disk(configs, [check(config).parameters for config in configs])


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    def leave(mebibytes: float) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, int(mebibytes * 2**20)))

    return leave


def test_what_fits_passes_and_what_does_not_is_said(
    configure: Callable[..., Config], free: Callable[[float], None]
) -> None:
    # 3 GRU layers of 512 units: a few million parameters, a few dozen megabytes in all checkpoints.
    config = configure("model.hidden_size=512", "model.embedding_size=64")
    free(10_000)
    check_disk(config)
    free(20)
    with pytest.raises(
        ConfigError, match=r"paths\.runs_dir: a run would write about 0\.\d+ GiB, and /.* has 0"
    ):
        check_disk(config)


def test_every_job_of_a_sweep_counts(configure: Callable[..., Config], free: Callable[[float], None]) -> None:
    config = configure("model.hidden_size=8", "model.embedding_size=8")
    free(30)
    check_disk(config)
    with pytest.raises(ConfigError, match="20 runs would write"):
        disk.check_disk([config] * 20, [check(config).parameters] * 20)


def test_a_vocabulary_counts_with_its_full_size(
    configure: Callable[..., Config], free: Callable[[float], None]
) -> None:
    words = ("data=multi30k", "model.hidden_size=8", "model.embedding_size=256")
    free(30)
    check_disk(configure(*words, "data.tokenizer.size=500"))
    with pytest.raises(ConfigError, match="a run would write"):
        check_disk(configure(*words, "data.tokenizer.size=20000"))
