"""Records how a run went, whatever happens."""

import logging
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from lightning.pytorch.loggers import Logger

from zoo.callbacks.divergence import Diverged
from zoo.runs import wandb
from zoo.runs.report import log_to
from zoo.runs.status import State, StatusFile

log = logging.getLogger(__name__)

_INTERRUPTED, _TERMINATED = 130, 143  # what a shell reports after SIGINT and SIGTERM


class Recording:
    """A context in which a run happens: its log, its status, and the true exit code in W&B.

    An error ends here, logged in one line on the terminal and with its traceback in train.log.

    Args:
        folder: the run's folder.
        overrides: what was typed beyond the default configuration.

    Attributes:
        loggers: those to be closed, filled in by the run.
        exit_code: of the run, once it has ended.
    """

    def __init__(self, folder: Path, overrides: Sequence[str]) -> None:
        self.loggers: list[Logger] = []
        self.exit_code = 0
        self._folder, self._overrides = folder, overrides
        self._status = StatusFile(folder)

    def __enter__(self) -> "Recording":
        log_to(self._folder / "train.log")
        self._status.start(self._overrides)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        state, self.exit_code = _judge(error)
        if error is not None:
            log.error("%s: %s", type(error).__name__, error)
            with (self._folder / "train.log").open("a", encoding="utf-8") as file:
                traceback.print_exception(error, file=file)
        wandb.finish(self.loggers, self.exit_code)
        self._status.end(state, exit_code=self.exit_code, exception=error)
        log.info("%s: %s", state, self._folder)
        return True


def _judge(error: BaseException | None) -> tuple[State, int]:
    if error is None:
        return State.FINISHED, 0
    if isinstance(
        error, KeyboardInterrupt | SystemExit
    ):  # Lightning turns Ctrl-C and SIGTERM into the latter
        by_hand = isinstance(error, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt)
        return State.PREEMPTED, _INTERRUPTED if by_hand else _TERMINATED
    return State.DIVERGED if isinstance(error, Diverged) else State.FAILED, 1
