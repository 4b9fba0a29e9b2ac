"""A dashboard is a view beside metrics.csv: what goes wrong in it is said once, and the training goes on."""

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from lightning.pytorch.loggers.logger import DummyLogger

log = logging.getLogger(__name__)

_Method = TypeVar("_Method", bound=Callable[..., None])


class Dashboard:
    """The part of a logger that answers for its errors.

    Attributes:
        shown_by: the dashboard's name, for the warning.
        lost: whether it could not even be begun, so that nothing more is tried.
        better: by validation metric, such as `val/bleu`, which value is the best: `max` or `min`. The task
            says it; a metric without a better side is not there.
    """

    shown_by: str
    lost = False
    better: Mapping[str, str] = {}
    _complained = False

    def begun(self, begin: Callable[[], Any]) -> Any:
        """What `begin` makes; where it fails, something that does nothing, and nothing more is tried."""
        if not self.lost:
            try:
                return begin()
            except Exception as error:
                self.lost = True
                self.complain(error)
        return DummyLogger().experiment

    def complain(self, error: Exception) -> None:
        """Says what went wrong, the first time; a dashboard that is gone fails again at every step."""
        if not self._complained:
            self._complained = True
            shows = "shows nothing" if self.lost else "may miss some"
            reason = first_line(error)
            log.warning("%s %s of this run, metrics.csv has all of it: %s", self.shown_by, shows, reason)


def harmless(method: _Method) -> _Method:
    """Keeps the errors of a dashboard's method from the training."""

    @wraps(method)
    def guarded(self: Dashboard, *args: Any, **kwargs: Any) -> None:
        if self.lost:
            return
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.complain(error)

    return cast("_Method", guarded)


def first_line(error: Exception) -> str:
    """The first line of what an error says, behind the name of its class."""
    said: Any = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
