"""Sends what runs recorded offline to W&B, afterwards or while they train; W&B's own tool does the work."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.loggers.wandb_settings import has_key
from zoo.runs.status import FINAL, status_of
from zoo.runs.watching import offline_records

_SECONDS_BETWEEN_LOOKS = 5.0
_SECONDS_TO_FINISH = 120.0
"""For the last uploads of a run that has ended."""


class NothingToSync(ValueError):
    """There is nothing to send, or nowhere to send it; the message says what to do."""


def sync(
    *folders: Path | str,
    entity: str | None = None,
    project: str | None = None,
    parallel: int = 4,
    live: bool = False,
    dry_run: bool = False,
) -> int:
    """Sends the runs of some folders to W&B. Those that were sent before are skipped.

    Args:
        folders: runs, sweeps, or folders of many.
        entity: the team; None: the user's own.
        project: None: that of the runs.
        parallel: how many runs at once.
        live: also sends what comes, until all runs have ended.
        dry_run: only says what would be sent.

    Returns:
        The exit code of W&B's tool, the highest where it ran more than once.

    Raises:
        NothingToSync: nobody is logged in, or no run recorded anything offline.
        ValueError: a folder does not exist or has no run; `parallel` is below 1.
    """
    if parallel < 1:
        raise ValueError(f"parallel must be at least 1, got {parallel}")
    files = _files(folders)
    if not dry_run and not has_key():
        raise NothingToSync("nobody is logged in to W&B: type `wandb login`, or set WANDB_API_KEY")
    if not files and not (live and _train(folders)):
        raise NothingToSync(
            "no run there has recorded anything offline: runs of a user who is logged in are sent while they"
            " train, and those with another logger= are not recorded for W&B"
        )
    options = ["--yes", "--skip-online", "-n", str(parallel)]
    for name, value in (("--entity", entity), ("--project", project)):
        options += [name, value] if value is not None else []
    if live and not dry_run:
        return _follow(folders, options)
    return _tool([*options, *(["--dry-run"] if dry_run else []), *map(str, files)]).wait()


def _follow(folders: Sequence[Path | str], options: Sequence[str]) -> int:
    """Sends every record as long as its run trains; a record that begins later, too."""
    tools: dict[Path, subprocess.Popen[bytes]] = {}
    try:
        while True:
            training = _train(folders)
            for file in _files(folders):
                if file not in tools:
                    tools[file] = _tool([*options, "--live", str(file)])
            if not training:
                break
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        return max((_end(tool) for tool in tools.values()), default=0)
    finally:
        for tool in tools.values():
            tool.terminate()


def _end(tool: subprocess.Popen[bytes]) -> int:
    """The exit code of a tool; 0 for that of a killed run, whose data are sent and whose end never comes."""
    try:
        return tool.wait(_SECONDS_TO_FINISH)
    except subprocess.TimeoutExpired:
        tool.terminate()
        tool.wait()
        return 0


def _files(folders: Sequence[Path | str]) -> list[Path]:
    return list(dict.fromkeys(file for folder in folders for file in offline_records(Path(folder))))


def _train(folders: Sequence[Path | str]) -> bool:
    """Whether any of the runs trains, or waits for that."""
    runs = (path.parent for folder in folders for path in Path(folder).rglob("status.json"))
    return any(status_of(run).state not in FINAL for run in runs)


def _tool(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "wandb", "beta", "sync", *arguments]
    return subprocess.Popen(command, env=_online(os.environ))


def _online(environment: Mapping[str, str]) -> dict[str, str]:
    """Without the word that keeps runs on this machine."""
    return {name: value for name, value in environment.items() if name != "WANDB_MODE"}
