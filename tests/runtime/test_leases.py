"""GPUs are lent to one job at a time, and come back when it is gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.config.sweep_rules import check_gpus
from zoo.core.problems import ConfigError
from zoo.runtime.leases import Leases, gpus, gpus_wanted


def test_two_sweeps_share_the_machine(tmp_path: Path) -> None:
    first, second = Leases(["0", "1"], 1, tmp_path), Leases(["0", "1"], 1, tmp_path)
    one, two = first.take(1), second.take(1)
    assert one is not None
    assert two is not None
    assert (one.devices, two.devices) == (("0",), ("1",))
    assert first.take(1) is None
    one.close()
    assert second.take(2) is None, "half of what is wanted"
    again = second.take(1)
    assert again is not None
    assert again.devices == ("0",), "what a refused wish had taken is free again"


def test_several_jobs_on_a_device(tmp_path: Path) -> None:
    leases = Leases(["0", "1"], 2, tmp_path)
    taken = [leases.take(1) for _ in range(5)]
    assert [lease and lease.devices[0] for lease in taken] == ["0", "1", "0", "1", None]


def test_a_lease_lives_as_long_as_the_job(tmp_path: Path) -> None:
    leases = Leases(["0"], 1, tmp_path)
    lease = leases.take(1)
    assert lease is not None
    job = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=lease.descriptors
    )
    lease.close()
    assert leases.take(1) is None
    job.kill()
    job.communicate()
    assert leases.take(1) is not None


class TestWhichGpus:
    @pytest.fixture(autouse=True)
    def two_gpus(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tool = tmp_path / "nvidia-smi"
        tool.write_text("#!/bin/sh\necho GPU-aa\necho GPU-bb\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    @pytest.mark.parametrize(
        ("visible", "expected"),
        [
            (None, ["GPU-aa", "GPU-bb"]),
            ("1", ["GPU-bb"]),
            ("GPU-bb,0", ["GPU-bb", "GPU-aa"]),
            ("MIG-cc", ["MIG-cc"]),
            ("", []),
            ("0,-1,1", ["GPU-aa"]),
        ],
    )
    def test_are_visible(
        self, monkeypatch: pytest.MonkeyPatch, visible: str | None, expected: list[str]
    ) -> None:
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert gpus() == expected

    def test_more_than_there_are(self) -> None:
        cpu = {"trainer": {"accelerator": "cpu", "devices": 4}}
        check_gpus([cpu, {"trainer": {"accelerator": "gpu", "devices": 2}}])
        with pytest.raises(ConfigError, match=r"trainer.devices: a job wants 3 GPUs, and this machine has 2"):
            check_gpus([cpu, {"trainer": {"accelerator": "gpu", "devices": 3}}])

    def test_none_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        check_gpus([{"trainer": {"accelerator": "cpu"}}])
        with pytest.raises(ConfigError, match=r"a job wants 1 GPUs, and this machine has 0"):
            check_gpus([{"trainer": {"accelerator": "gpu", "devices": -1}}])


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ({"accelerator": "cpu", "devices": 2}, 0),
        ({"accelerator": "gpu"}, 1),
        ({"accelerator": "gpu", "devices": 2}, 2),
        ({"accelerator": "cuda", "devices": [0, 3]}, 2),
        ({"accelerator": "gpu", "devices": -1}, 4),
        ({"accelerator": "gpu", "devices": "auto"}, 4),
    ],
)
def test_what_a_job_wants(trainer: dict[str, object], expected: int) -> None:
    assert gpus_wanted({"trainer": trainer}, 4) == expected
