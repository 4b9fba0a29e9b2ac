"""status.json: how a run is doing, written when it happens."""

import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from zoo.core.files import write_json
from zoo.core.lock import is_held
from zoo.core.reading import Unreadable, read_json

_SILENCE = timedelta(minutes=15)
"""After so long without a sign of life a run on another machine counts as killed."""
_LARGEST = 2**20
"""Bytes of a status.json; what was typed may be long."""
_LONGEST = 2000
"""Characters of an exception; its whole text is in train.log."""


class State(StrEnum):
    """What became of a run.

    Two are never written but inferred: `KILLED`, see `StatusFile.read`, and `DAMAGED`, see `status_of`.
    """

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    PREEMPTED = "preempted"
    DIVERGED = "diverged"
    PRUNED = "pruned"
    KILLED = "killed"
    DAMAGED = "damaged"


FINAL = frozenset(State) - {State.QUEUED, State.RUNNING}
"""The states in which nothing happens any more."""


@dataclass(frozen=True)
class Progress:
    """How far a training is.

    Attributes:
        step: training steps done.
        steps: of how many; None when the budget is not counted in steps.
        seconds_left: of the whole training, estimated; None when unknown.
        metric: the name of the metric that picks the checkpoint; None when nothing does.
        best: its best value so far; None before the first validation.
    """

    step: int
    steps: int | None = None
    seconds_left: float | None = None
    metric: str | None = None
    best: float | None = None


@dataclass(frozen=True)
class Status:
    """The content of status.json; times are ISO 8601 in UTC.

    Attributes:
        state: see `State`.
        exit_code: of the process; None while it runs.
        exception: class and message of what ended the run; None without.
        start: when the run began.
        end: when it ended; None while it runs.
        overrides: what was typed beyond the default configuration.
        host: the machine.
        pid: the process.
        heartbeat: the last sign of life.
        progress: of the training; None before it begins.
        tests: the folder of the run whose checkpoint is only tested here; None where one is trained.
    """

    state: State
    exit_code: int | None
    exception: str | None
    start: str
    end: str | None
    overrides: list[str]
    host: str
    pid: int
    heartbeat: str
    progress: Progress | None = None
    tests: str | None = None


class StatusFile:
    """Reads and writes one run's status.json.

    Args:
        folder: the run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = Path(folder) / "status.json"

    def start(
        self, overrides: Sequence[str] = (), state: State = State.RUNNING, *, tests: str | None = None
    ) -> None:
        """Records that this process runs (or queues) the run; see `Status`."""
        now = _now()
        self._write(
            Status(
                state=state,
                exit_code=None,
                exception=None,
                start=now,
                end=None,
                overrides=list(overrides),
                host=socket.gethostname(),
                pid=os.getpid(),
                heartbeat=now,
                tests=tests,
            )
        )

    def beat(self, progress: Progress | None = None) -> None:
        """Records a sign of life, and how far the training is when that is given."""
        status = self._load()
        self._write(replace(status, heartbeat=_now(), progress=progress or status.progress))

    def end(self, state: State, *, exit_code: int, exception: BaseException | None = None) -> None:
        """Records how the run ended."""
        now = _now()
        text = None if exception is None else f"{type(exception).__name__}: {exception}"[:_LONGEST]
        self._write(
            replace(self._load(), state=state, exit_code=exit_code, exception=text, end=now, heartbeat=now)
        )

    def read(self) -> Status:
        """The status as it really is: a `running` whose process is gone reads `killed`.

        On this host that is known at once; of another one it is believed after 15 minutes of silence.

        Raises:
            FileNotFoundError: there is no status.json.
            ValueError: it is not one of ours.
        """
        status = self._load()
        if status.state is State.RUNNING and not self._lives(status):
            # It may have ended between the two looks.
            status = self._load()
            if status.state is State.RUNNING:
                return replace(status, state=State.KILLED)
        return status

    def _lives(self, status: Status) -> bool:
        if status.host != socket.gethostname():
            return datetime.now(UTC) - datetime.fromisoformat(status.heartbeat) < _SILENCE
        held = is_held(self.path.parent)
        return _alive(status.pid) if held is None else held

    def _load(self) -> Status:
        try:
            values = read_json(self.path, _LARGEST)
            progress = values.get("progress")
            known = {"state": State(values["state"]), "progress": Progress(**progress) if progress else None}
            return Status(**{**values, **known})
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{self.path} does not exist: is {self.path.parent} a run's folder?"
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"it {error.reason}" if isinstance(error, Unreadable) else str(error)
            raise ValueError(f"{self.path} is not a run's status: {reason}") from error

    def _write(self, status: Status) -> None:
        write_json(self.path, asdict(status))


def status_of(folder: Path) -> Status:
    """The status of a run; where its folder is gone or its status.json cannot be read, that it is damaged.

    What is wrong with one run must not keep others from being run, recorded and shown.
    """
    try:
        if not folder.is_dir():
            raise FileNotFoundError("its folder is gone")
        return StatusFile(folder).read()
    except (OSError, ValueError) as error:
        now = _now()
        return Status(
            state=State.DAMAGED,
            exit_code=None,
            exception=str(error),
            start=now,
            end=None,
            overrides=[],
            host="",
            pid=0,
            heartbeat=now,
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # alive, and another user's
        return True
    return True
