"""sweep.json: what a sweep is made of, so that it can be taken up again as it was."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.core.files import write_json
from zoo.core.reading import Unreadable, read_json, read_yaml
from zoo.runs.frozen import FILE, Config
from zoo.runs.resume import differences

RECORD = "sweep.json"
_LARGEST = 2**30  # it holds the configuration of every job
_PLAIN = ("overrides", "launcher", "sweeper", "commit", "options")


@dataclass(frozen=True)
class SweepJob:
    """One job of a sweep.

    Attributes:
        number: its place in the sweep, from 0.
        folder: its run's.
        overrides: what was typed for it.
        config: its resolved configuration.
    """

    number: int
    folder: Path
    overrides: list[str]
    config: Config


@dataclass(frozen=True)
class Sweep:
    """What sweep.json says: enough to take the sweep up again, and to see whether it still is the same.

    Attributes:
        folder: the sweep's, which holds the folders of its jobs.
        overrides: the command line, behind `-m`.
        launcher: which one.
        sweeper: which one.
        commit: of the source code.
        options: of the launcher.
        jobs: in their order.
    """

    folder: Path
    overrides: list[str]
    launcher: str
    sweeper: str
    commit: str | None
    options: dict[str, Any] = field(default_factory=dict)
    jobs: list[SweepJob] = field(default_factory=list)

    def write(self) -> None:
        """Writes sweep.json, whole or not at all."""
        jobs = [
            {"folder": job.folder.name, "overrides": job.overrides, "config": job.config} for job in self.jobs
        ]
        about = {name: getattr(self, name) for name in _PLAIN}
        write_json(self.folder / RECORD, {**about, "jobs": jobs})


def read_sweep(folder: Path) -> Sweep:
    """Reads a sweep's sweep.json.

    Raises:
        ValueError: there is none, or it is not one of ours.
    """
    path = folder / RECORD
    try:
        values = read_json(path, _LARGEST)
        jobs = [
            SweepJob(number, folder / _name(job["folder"]), job["overrides"], job["config"])
            for number, job in enumerate(values.pop("jobs"))
        ]
        return Sweep(folder=folder, jobs=jobs, **values)
    except FileNotFoundError:
        raise ValueError(f"{folder} is not the folder of a sweep: it holds no {RECORD}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"it {error.reason}" if isinstance(error, Unreadable) else str(error)
        raise ValueError(f"{path} is not the record of a sweep: {reason}") from error


def _name(folder: str) -> str:
    """The name of a job's folder, which lies in the sweep's own and nowhere else."""
    if folder in ("", ".", "..") or Path(folder).name != folder:
        raise ValueError(f"{folder!r} is not the name of a job's folder")
    return folder


def configurations(jobs: Sequence[SweepJob]) -> tuple[dict[int, Config], dict[int, str]]:
    """What stands in the folders of jobs.

    Returns:
        The configurations, and why the other jobs have none any more; by the numbers of the jobs.
    """
    found: dict[int, Config] = {}
    damages: dict[int, str] = {}
    for job in jobs:
        try:
            if not job.folder.is_dir():
                raise FileNotFoundError("its folder is gone")
            config = read_yaml(job.folder / FILE)
            if not isinstance(config, dict):
                raise ValueError(f"{FILE} is not the configuration of a run")
            found[job.number] = config
        except Unreadable as error:
            damages[job.number] = f"{FILE} {' '.join(error.reason.split())}"
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            damages[job.number] = reason if FILE in reason or "gone" in reason else f"{FILE}: {reason}"
    return found, damages


def refuse_changes(jobs: Sequence[SweepJob], now: Mapping[int, Config]) -> None:
    """Refuses jobs that are not configured any more as they were when their sweep began.

    Raises:
        ValueError: names every key, what it was and what it is.
    """
    changes = [
        f"{job.folder / FILE}: {change}"
        for job in jobs
        if job.number in now
        for change in differences(_as_json(job.config), _as_json(now[job.number]))
    ]
    if changes:
        lines = "\n".join(f"  - {change}" for change in changes)
        raise ValueError(
            f"the configuration changed since the sweep began, nothing was run:\n{lines}\n"
            "  put it back, or leave a job out by its number: --skip 3"
        )


def _as_json(config: Any) -> Any:
    """As sweep.json would give it back: its keys are texts."""
    return json.loads(json.dumps(config, default=str))
