"""No class that a configuration may name does anything to the world when it is constructed.

Which classes there are is found by importing everything. Each is constructed with made-up arguments under an
audit hook that refuses processes, connections and changes of files; and of our own, whose arguments are not
always guessed, the source of the constructor is read as well.
"""

import ast
import importlib
import inspect
import pkgutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

import data
import zoo
from zoo.config.allowed import FOREIGN, permitted
from zoo.config.values import annotations, takes_path

EFFECTS = (
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
    *("os.kill", "os.killpg", "signal.pthread_kill", "pty.spawn", "socket.connect", "urllib.Request"),
    *("os.remove", "os.rmdir", "os.rename", "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod"),
    *("shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp"),
)
CALLS = (
    *("Popen", "run", "system", "execv", "fork", "kill", "killpg", "unlink", "rmtree", "rmdir", "mkdir"),
    *("write_text", "write_bytes", "write_json", "whole_file", "truncate", "touch", "rename", "symlink_to"),
    *("urlopen", "download", "connect", "start", "open", "putenv", "signal", "load_dataset"),
)
"""Names of functions that a constructor of ours does not call; those that only read have others."""


def modules() -> Iterator[str]:
    yield from FOREIGN
    for package in (zoo, data, *map(importlib.import_module, FOREIGN)):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name != "zoo.__main__":
                yield found.name


def classes() -> dict[str, type]:
    importlib.import_module("wandb")  # makes temporary folders once, in whichever constructor is the first
    found: dict[str, type] = {}
    for name in modules():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importlib.import_module(name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and permitted(kind) and not inspect.isabstract(kind):
                found[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return found


CLASSES = classes()
OWN = {name: kind for name, kind in CLASSES.items() if name.startswith(("zoo.", "data."))}


def made_up(annotation: Any, folder: Path) -> Any:
    """A value for an argument, as a configuration could give one."""
    simple = {int: 2, float: 0.5, bool: False, str: "text", Path: folder / "made", dict: {}, list: []}
    if annotation in simple:
        return simple[annotation]
    if takes_path(annotation):
        return str(folder / "made")
    options = [option for option in get_args(annotation) if option is not type(None)]
    origin = get_origin(annotation)
    if origin in (list, tuple) or "Sequence" in str(origin):
        return []
    if "Mapping" in str(origin) or origin is dict:
        return {}
    if "Callable" in str(origin):
        return lambda *_, **__: None
    return made_up(options[0], folder) if options and not isinstance(options[0], str) else (options or [2])[0]


def arguments(kind: type, folder: Path, *, all_of_them: bool) -> dict[str, Any]:
    known = annotations(kind)
    return {
        name: made_up(known.get(name, int), folder)
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and (all_of_them or parameter.default is parameter.empty)
    }


class Watch:
    """Refuses what changes the world, and remembers it, while it is on; a hook can never be taken away."""

    def __init__(self) -> None:
        self.on, self.seen = False, list[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, values: tuple[Any, ...]) -> None:
        writes = event == "open" and (any(letter in str(values[1]) for letter in "wax+"))
        if self.on and (writes or event.startswith(EFFECTS)) and "__pycache__" not in str(values):
            self.seen.append(f"{event} {values}"[:200])
            raise PermissionError(f"a constructor must not: {event}")

    def during(self, make: Callable[[], object]) -> list[str]:
        self.seen.clear()
        self.on = True
        try:
            with suppress(BaseException):  # made-up arguments need not fit
                make()
        finally:
            self.on = False
        return list(self.seen)


@pytest.fixture(scope="session")
def watch() -> Watch:
    return Watch()


class Guilty:
    """Does what a constructor must not."""

    def __init__(self, *, folder: str | Path) -> None:
        self._begin(Path(folder))

    def _begin(self, folder: Path) -> None:
        folder.mkdir()


def test_the_watch_sees_what_a_constructor_does(watch: Watch, tmp_path: Path) -> None:
    seen = watch.during(lambda: Guilty(**arguments(Guilty, tmp_path, all_of_them=True)))
    assert len(seen) == 1
    assert seen[0].startswith("os.mkdir")
    assert not list(tmp_path.iterdir())
    assert forbidden(Guilty) == ["mkdir"]
    file = str(tmp_path / "x")
    assert watch.during(lambda: open(file, "w"))[0].startswith("open")  # noqa: SIM115
    assert watch.during(lambda: importlib.import_module("subprocess").Popen(["true"]))
    assert not watch.during(Path(__file__).read_bytes)


def test_the_list_is_long_and_has_everything() -> None:
    assert {
        "zoo.sweeps.job.JobProcess",
        "zoo.loggers.wandb.WandbLogger",
        "data.images.mnist.MNIST",
    } <= OWN.keys()
    assert len(OWN) > 200
    assert len(CLASSES) > 500


def test_no_constructor_has_a_side_effect(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.chdir(tmp_path)
    made: set[str] = set()
    guilty: dict[str, list[str]] = {}
    for name, kind in CLASSES.items():
        for all_of_them in (False, True):

            def make(name: str = name, kind: type = kind, all_of_them: bool = all_of_them) -> None:
                kind(**arguments(kind, tmp_path, all_of_them=all_of_them))
                made.add(name)

            if seen := watch.during(make):
                guilty[name] = seen
    assert not guilty
    assert not list(tmp_path.iterdir())
    assert len(made) > 0.6 * len(CLASSES), "most are constructed to their end, the others as far as they came"


@pytest.mark.parametrize("name", OWN)
def test_no_constructor_of_ours_calls_what_has_one(name: str) -> None:
    assert not forbidden(OWN[name])


def forbidden(kind: type) -> list[str]:
    """What a constructor and the methods of its class that it calls call, and must not."""
    found: list[str] = []
    waiting = ["__new__", "__init__", "__post_init__", "__init_subclass__"]
    done: set[str] = set()
    while waiting:
        name = waiting.pop()
        method = next((vars(base).get(name) for base in kind.__mro__ if name in vars(base)), None)
        method = method.fget if isinstance(method, property) else inspect.unwrap(method) if method else None
        if name in done or not inspect.isfunction(getattr(method, "__func__", method)):
            continue
        done.add(name)
        function = getattr(method, "__func__", method)
        if function.__module__.partition(".")[0] not in ("zoo", "data", __name__.partition(".")[0]):
            continue
        with suppress(OSError):  # a dataclass's own constructor has no source
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
                if isinstance(node, ast.Call):
                    called = node.func
                    word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                    if isinstance(called, ast.Attribute) and ast.unparse(called.value) in ("self", "cls"):
                        waiting.append(word)
                    elif word in CALLS:
                        found.append(word)
                elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
                    waiting.append(node.attr)
    return found
