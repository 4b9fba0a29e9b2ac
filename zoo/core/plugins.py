"""Packages of one's own, whose parts the command line may name by one word.

Only packages that the user names are ever imported: by `plugins=[my_zoo]` on the command line, in the
environment's `ZOO_PLUGINS` (names with commas between them), or by installing one that announces itself with
an entry point of the group `attention_zoo`. What a checkpoint or a config.yaml names is not imported: they
may come from anyone.
"""

import hashlib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path

from zoo.core.problems import failure, similar

VARIABLE = "ZOO_PLUGINS"
GROUP = "attention_zoo"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class PluginError(ValueError):
    """A package that cannot be used.

    Attributes:
        package: its name.
        place: where the name stands, for whoever did not type it on the command line.
        reason: what is wrong.
    """

    def __init__(self, package: str, reason: str) -> None:
        self.package, self.place, self.reason = package, _place(package), reason
        super().__init__(f"{self.place}: {reason}")


def name_plugins(names: Iterable[str]) -> None:
    """Names further packages, for this process and those that it starts."""
    os.environ[VARIABLE] = ",".join(dict.fromkeys([*plugins(), *names]))


def plugins() -> tuple[str, ...]:
    """The packages that the user named."""
    return tuple(dict.fromkeys((*_typed(), *_installed())))


def _typed() -> list[str]:
    return [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]


@cache  # looking through all that is installed takes long
def _installed() -> tuple[str, ...]:
    # A point may name a module or an object in the package; parts are found from the package itself.
    return tuple(point.module.partition(".")[0] for point in entry_points(group=GROUP))


def _place(package: str) -> str:
    installed = package in _installed() and package not in _typed()
    return f"an installed package's entry point {GROUP}" if installed else VARIABLE


def import_plugins() -> None:
    """Imports all of them; one may lie in the current folder.

    Raises:
        PluginError: a package cannot be imported; the message names it.
    """
    for name in plugins():
        if not _NAME.fullmatch(name):
            raise PluginError(name, f"must name packages, got {name!r}")
        if importlib.util.find_spec(name) is None and os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
            importlib.invalidate_caches()
        try:
            module = importlib.import_module(name)
        except Exception as error:  # whatever its code does
            if isinstance(error, ModuleNotFoundError) and error.name == name:
                near = similar(name, _within_reach())
                reason = f"there is no package {name}: install it, or start in the folder that holds {name}/"
                raise PluginError(name, reason + near) from error
            raise PluginError(name, f"the package {name} cannot be imported: {failure(error)}") from error
        if getattr(module, "__file__", None) is None:
            raise PluginError(name, f"the folder {name}/ has no __init__.py, so it is no package")


def _within_reach() -> list[str]:
    """What lies in the current folder and on PYTHONPATH, where packages of one's own mostly are."""
    places = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return [module.name for module in pkgutil.iter_modules(places)]


def plugin_folders() -> list[Path]:
    """Where the packages keep configuration files: `conf/` in each, with the groups of the project's own."""
    import_plugins()
    folders = [Path(str(importlib.import_module(name).__file__)).parent / "conf" for name in plugins()]
    return [folder for folder in folders if folder.is_dir()]


def plugin_versions() -> dict[str, str]:
    """Each package's version, or a hash of its source code where it has none."""
    found = {}
    for name in plugins():
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = _hash(Path(str(importlib.import_module(name).__file__)).parent)
    return found


def _hash(folder: Path) -> str:
    text = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        text.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return f"sha256:{text.hexdigest()[:16]}"
