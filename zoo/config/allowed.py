"""Which classes a configuration may build.

A name proves nothing: `zoo.some_module.os.system` begins with `zoo`, and `torch.load` runs code from a file.
So the object that a name leads to is judged, and only classes pass: functions are never called.
"""

import importlib
import inspect
import re
import sys
from functools import cache

from zoo.core.plugins import import_plugins, plugins
from zoo.core.problems import failure, unknown

_PACKAGES = ("zoo", "data", "torch", "lightning")
_OWN = ("zoo", "data")
FOREIGN = (
    *("torch.nn", "torch.optim", "lightning.pytorch.callbacks", "lightning.pytorch.loggers"),
    "lightning.pytorch.trainer",
)
"""Packages of others whose classes may be built: tests/config/test_constructors.py tries each of them."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")


class NotAllowed(ValueError):
    """A target that is refused or does not exist."""


@cache
def _bases() -> tuple[type, ...]:
    from lightning.pytorch import Callback, Trainer
    from lightning.pytorch.loggers import Logger
    from torch.nn import Module
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

    return (Module, Optimizer, LRScheduler, Callback, Logger, Trainer)


def locate(target: object) -> type:
    """The class that a `_target_` names.

    Nothing outside our own and the few permitted packages is even imported.

    Raises:
        NotAllowed: it names nothing, or something that a configuration may not build.
    """
    target, package = _permitted_name(target)
    if package in plugins():
        try:
            import_plugins()
        except ValueError as error:
            raise NotAllowed(f"{target!r} may not be built: {error}") from error
    parts = target.split(".")
    found: object = importlib.import_module(parts[0])
    for position, part in enumerate(parts[1:], 2):
        here = ".".join(parts[: position - 1])
        if inspect.ismodule(found) and not hasattr(found, part):
            if found.__name__ != here:
                raise NotAllowed(f"{target!r} may not be built: {here} is another module, {found.__name__}")
            try:
                importlib.import_module(f"{here}.{part}")
            except Exception as error:  # whatever its code does
                if not (isinstance(error, ModuleNotFoundError) and error.name == f"{here}.{part}"):
                    reason = f"{here}.{part} cannot be imported: {failure(error)}"
                    raise NotAllowed(f"{target!r} may not be built: {reason}") from error
        if not hasattr(found, part):
            raise NotAllowed(f"{target!r} does not exist{_similar(found, here, part)}")
        found = getattr(found, part)
    if not isinstance(found, type):
        raise NotAllowed(f"{target!r} may not be built: it is not a class")
    if not permitted(found):
        bases = ", ".join(base.__name__ for base in _bases())
        raise NotAllowed(
            f"{target!r} may not be built: neither defined in {' or '.join(_OWN)}, nor in"
            f" {', '.join(FOREIGN)} and derived from {bases}"
        )
    return found


def require_permitted_name(target: object) -> None:
    """Refuses a `_target_` by its name alone; nothing is imported.

    Raises:
        NotAllowed: it is not of one of the packages whose classes may be built.
    """
    _permitted_name(target)


def _permitted_name(target: object) -> tuple[str, str]:
    """The name, and the package that it begins with."""
    packages = (*_PACKAGES, *plugins())
    if not isinstance(target, str) or not _NAME.fullmatch(target):
        raise NotAllowed(f"{target!r} may not be built; targets begin with {', '.join(packages)}")
    if (package := target.partition(".")[0]) not in packages:
        if package in sys.stdlib_module_names:
            raise NotAllowed(f"{target!r} may not be built; targets begin with {', '.join(packages)}")
        # Says nothing of the class: a run has several of a package, and one message is enough.
        raise NotAllowed(
            f"classes of {package!r} may not be built; targets begin with {', '.join(packages)};"
            f" if {package} is a package of your own, name it: ZOO_PLUGINS={package}"
        )
    return target, package


def permitted(kind: type) -> bool:
    """True for classes that a configuration may build."""
    foreign = any(f"{kind.__module__}.".startswith(f"{package}.") for package in FOREIGN)
    return is_own(kind) or (foreign and issubclass(kind, _bases()))


def is_own(kind: type) -> bool:
    """True for classes that are defined in this project, or in a package that the user named."""
    return kind.__module__.partition(".")[0] in (*_OWN, *plugins())


def _similar(holder: object, name: str, part: str) -> str:
    classes = [
        key for key, value in vars(holder).items() if isinstance(value, type) and not key.startswith("_")
    ]
    return f": {name} has no {part}" + unknown(part, classes)
