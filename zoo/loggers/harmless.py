"""Errors of a dashboard cost one warning, and the training goes on: metrics.csv has all values."""

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from lightning.pytorch.loggers.logger import DummyLogger

log = logging.getLogger(__name__)

_Method = TypeVar("_Method", bound=Callable[..., None])


class Dashboard:
    """A logger that catches its errors.

    Attributes:
        shown_by: the dashboard's name, for the warning.
        failed: whether it could not be started, so that nothing more is tried.
        better: by validation metric, such as `val/bleu`, which value is the best: `max` or `min`. The task
            sets it; metrics without a direction are not there.
    """

    shown_by: str
    failed = False
    better: Mapping[str, str] = {}
    _warned = False

    def started(self, start: Callable[[], Any]) -> Any:
        """The result of `start`; where it fails, an object whose methods do nothing."""
        if not self.failed:
            try:
                return start()
            except Exception as error:
                self.failed = True
                self.warn(error)
        return DummyLogger().experiment

    def warn(self, error: Exception) -> None:
        """Logs the first error; a dashboard that is gone fails at every step."""
        if not self._warned:
            self._warned = True
            shows = "shows nothing" if self.failed else "may miss some"
            reason = first_line(error)
            log.warning("%s %s of this run, metrics.csv has all of it: %s", self.shown_by, shows, reason)


def harmless(method: _Method) -> _Method:
    """Decorates a dashboard's method, whose errors are logged and not raised."""

    @wraps(method)
    def guarded(self: Dashboard, *args: Any, **kwargs: Any) -> None:
        if self.failed:
            return
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.warn(error)

    return cast("_Method", guarded)


def first_line(error: Exception) -> str:
    """The class of an error and the first line of its message."""
    said: Any = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
