"""Records how a run went, whatever happens."""

import logging
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from zoo.core.files import remove_partials
from zoo.core.lock import RunLock
from zoo.loggers import wandb
from zoo.runs.report import log_to
from zoo.runs.status import State, StatusFile
from zoo.runtime.preemption import PREEMPTION, Preempted
from zoo.training.callbacks.divergence import Diverged
from zoo.training.callbacks.pruning import Pruned

log = logging.getLogger(__name__)

_INTERRUPTED, _TERMINATED = 130, 143  # what a shell reports after SIGINT and SIGTERM


class Recording:
    """A context in which a run happens: its lock, its log, its status, and the true exit code in W&B.

    An error ends here, logged in one line on the terminal and with its traceback in train.log. Of several
    processes that train together the first one writes.

    Args:
        folder: the run's folder.
        overrides: what was typed beyond the default configuration.
        tests: the folder of the run whose checkpoint is only tested here; None where one is trained.

    Attributes:
        loggers: those to be closed, filled in by the run.
        exit_code: of the run, once it has ended.

    Raises:
        Occupied: on entering, another process runs this folder.
    """

    def __init__(self, folder: Path, overrides: Sequence[str], tests: Path | None = None) -> None:
        self.loggers: list[Logger] = []
        self.exit_code = 0
        self._folder, self._overrides = folder, overrides
        self._tests = None if tests is None else str(tests.resolve())
        self._status = StatusFile(folder)
        self._leads = rank_zero_only.rank == 0  # type: ignore[attr-defined]
        self._held = ExitStack()

    def __enter__(self) -> "Recording":
        if self._leads:
            self._held.enter_context(RunLock(self._folder))
        self._held.enter_context(PREEMPTION)
        PREEMPTION.deferred = True  # until the run can be recorded; the training then sees it
        if self._leads:
            remove_partials(self._folder)
            log_to(self._folder / "train.log")
            self._status.start(self._overrides, tests=self._tests)
        PREEMPTION.deferred = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        PREEMPTION.deferred = True  # what follows is the way out
        with self._held:
            state, self.exit_code = _judge(error)
            if self._leads:
                self._record(state, error)
            elif error is not None:  # the first process may only hear that a connection broke
                traceback.print_exception(error)
        return True

    def _record(self, state: State, error: BaseException | None) -> None:
        if isinstance(error, Pruned):
            log.info("%s", error)
        elif error is not None:
            log.error("%s", "\n".join((f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ()))))
            # A disk that is full may be why: one record that fails must not take the others with it.
            with suppress(OSError), (self._folder / "train.log").open("a", encoding="utf-8") as file:
                traceback.print_exception(error, file=file)
        wandb.finish(self.loggers, self.exit_code)
        try:
            self._status.end(state, exit_code=self.exit_code, exception=error)
        except OSError as failed:
            log.error("status.json could not be written, the run will read as killed: %s", failed)
        log.info("%s: %s", state, self._folder)
        if state is State.PREEMPTED and self._tests is None:
            log.info("zoo resume %s goes on with it", self._folder)


def _judge(error: BaseException | None) -> tuple[State, int]:
    if error is None:
        return State.FINISHED, 0
    if isinstance(error, Preempted):
        return State.PREEMPTED, error.exit_code
    if isinstance(
        error, KeyboardInterrupt | SystemExit
    ):  # Lightning turns Ctrl-C and SIGTERM into the latter
        by_hand = isinstance(error, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt)
        return State.PREEMPTED, _INTERRUPTED if by_hand else _TERMINATED
    if isinstance(error, Pruned):
        return State.PRUNED, 0
    return State.DIVERGED if isinstance(error, Diverged) else State.FAILED, 1
