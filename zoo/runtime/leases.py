"""Leases of GPUs for jobs. A lease is a lock on a file, so it ends with its last holder."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Lease:
    """GPUs for one job, until every process that inherited `descriptors` has ended.

    Attributes:
        devices: their names, for CUDA_VISIBLE_DEVICES.
        descriptors: the open locks; the job inherits them.
    """

    devices: tuple[str, ...]
    descriptors: tuple[int, ...]

    def close(self) -> None:
        """Closes this process's locks; the lease lasts while the job holds them."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Leases:
    """The GPUs of this machine, shared by all sweeps that run on it.

    Args:
        devices: names for CUDA_VISIBLE_DEVICES.
        jobs_per_device: the most leases of one device at a time.
        folder: of the locks, the same for every sweep.
    """

    def __init__(self, devices: Sequence[str], jobs_per_device: int = 1, folder: Path | None = None) -> None:
        self.devices = tuple(devices)
        self._jobs = jobs_per_device
        self._folder = folder or Path(tempfile.gettempdir()) / f"attention-zoo-gpus-{os.getuid()}"

    def take(self, count: int) -> Lease | None:
        """Leases `count` different devices; None while too few are free."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        taken: dict[str, int] = {}
        # All first places before any second one, to spread the jobs over the devices.
        for place in range(self._jobs):
            for device in self.devices:
                if len(taken) < count and device not in taken:
                    descriptor = self._lock(device, place)
                    if descriptor is not None:
                        taken[device] = descriptor
        lease = Lease(tuple(taken), tuple(taken.values()))
        if len(taken) == count:
            return lease
        lease.close()
        return None

    def _lock(self, device: str, place: int) -> int | None:
        name = "".join(letter if letter.isalnum() else "-" for letter in device)
        descriptor = os.open(self._folder / f"{name}.{place}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


def gpus() -> list[str]:
    """The GPUs that this process may use, by names that are the same in every process of the machine."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    known = _identities()
    if visible is None:
        return known
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if "-1" in names:  # CUDA reads no further
        names = names[: names.index("-1")]
    return [known[int(name)] if name.isdigit() and int(name) < len(known) else name for name in names]


def gpus_wanted(config: Mapping[str, Any], available: int) -> int:
    """The number of GPUs that a resolved configuration trains on, of those that are `available`."""
    trainer = config["trainer"]
    if trainer.get("accelerator") not in ("gpu", "cuda"):
        return 0
    devices = trainer.get("devices", 1)
    if isinstance(devices, list):
        return len(devices)
    return available if devices in (-1, "auto", "-1") else int(devices)


def _identities() -> list[str]:
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in said.splitlines() if line.strip()]
