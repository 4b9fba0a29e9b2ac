"""The file in a sweep's folder that holds its study; `optuna-dashboard FILE` opens it."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # an extra
    from optuna.storages import JournalStorage
    from optuna.trial import FrozenTrial

FILE = "study.log"
RUN, STATE = "run", "state"
"""What the study knows of each trial besides: the name of its run's folder, and what became of it."""


def journal(folder: Path) -> "JournalStorage":
    """The storage of a sweep's study; several processes may use it at once, also on several machines."""
    import optuna  # here, because it is an extra
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        backend = JournalFileBackend(str(folder.resolve() / FILE))
        return optuna.storages.JournalStorage(backend)


def mend(folder: Path) -> None:
    """Removes what a machine that failed may have left: half a line, and the lock of a process that is gone.

    No process may use the study meanwhile.
    """
    path = folder / FILE
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])
    path.with_name(f"{FILE}.lock").unlink(missing_ok=True)


def trial_of(trials: "list[FrozenTrial]", run: str) -> Any:
    """The last trial of a run's folder; None where there is none."""
    return next((trial for trial in reversed(trials) if trial.user_attrs.get(RUN) == run), None)
