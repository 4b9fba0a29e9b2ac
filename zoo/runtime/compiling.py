"""`torch.compile` for the parts of a network that can gain by it, in place.

A network says itself which of its methods these are (`@compilable`): such as do much at a time, without a
loop over positions, which would become another graph for each length, and without torch's own recurrent
layers, which are compiled already.

Only calls that gradients flow through are compiled, those of a training: validations and searches, whose
shapes change all the time, run as ever. Parameters and modules keep their names, so a checkpoint does not
tell whether the network was compiled.
"""

import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from types import MethodType
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from zoo.kernels import noise

Method = TypeVar("Method", bound=Callable[..., Any])

_REMEMBERED = 1000
"""Compilations of which torch keeps a record; of its own accord it is 64."""


def compilable(method: Method) -> Method:
    """Marks a method of a module, as a decorator."""
    method.compilable = True  # type: ignore[attr-defined]
    return method


def compilable_methods(network: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Every module of the network that has a marked method, and the method's name."""
    for part in network.modules():
        for name in dir(type(part)):
            if getattr(getattr(type(part), name), "compilable", False):
                yield part, name


def compile_in_place(network: nn.Module, backend: str = "inductor") -> None:
    """Lets marked methods be compiled when a training first calls them.

    Args:
        network: only how its methods are run is changed.
        backend: what torch is to make of the graphs.
    """
    import torch._dynamo  # here: it takes a second, which no other run needs

    # What a process sends to the others, it sends between the parts that are compiled.
    torch._dynamo.config.optimize_ddp = False
    # Steps take the weights of torch's recurrent layers, and leave the rest of these alone.
    torch._dynamo.config.allow_rnn = True
    # Sizes that happen to be equal in one batch are not so in the next.
    torch.fx.experimental._config.use_duck_shape = False
    # Keyed noise counts its drawings, and each number would be another graph.
    noise.keyed_uniform = torch._dynamo.disable(noise.keyed_uniform)
    torch._dynamo.utils.clear_compilation_metrics()
    torch._dynamo.utils.set_compilation_metrics_limit(_REMEMBERED)
    for part, name in list(compilable_methods(network)):
        # A bound method, not a closure over the part: a copy of the network then calls its own parts.
        setattr(part, name, MethodType(_in_training(getattr(type(part), name), backend), part))


@cache  # layers of one class share what was compiled
def _in_training(method: Callable[..., Any], backend: str) -> Callable[..., Any]:
    # One graph for all lengths from the start: else the first length would have one of its own.
    compiled = torch.compile(method, backend=backend, dynamic=True)

    @wraps(method)
    def run(*arguments: Any, **named: Any) -> Any:
        return (compiled if torch.is_grad_enabled() else method)(*arguments, **named)

    return run


class Compilation(NamedTuple):
    """Something was compiled, or was not because it had been too often.

    Attributes:
        method: its name.
        seconds: that it took.
        changed: what was not as when it was compiled before, in torch's words; None the first time.
        refused: True where it was once too often: what fits nothing compiled runs as it is from now on.
    """

    method: str
    seconds: float
    changed: str | None
    refused: bool


def compilations() -> list[Compilation]:
    """All since `compile_in_place`, in their order."""
    from torch._dynamo.utils import get_compilation_metrics

    names: dict[str, str] = {}
    found = []
    for record in get_compilation_metrics():
        if not record.compile_id or record.is_forward is False:  # a backward pass belongs to its forward one
            continue
        frame = record.compile_id.partition("/")[0]
        name = names.setdefault(frame, record.co_name or "?")
        refused = "recompile limit" in (record.fail_reason or "")
        found.append(
            Compilation(name, record.entire_frame_compile_time_s or 0.0, record.recompile_reason, refused)
        )
    return found


def missing_tools(accelerator: str) -> list[str]:
    """What compiling needs and this machine has not, in words.

    Args:
        accelerator: the trainer's, `cpu`, `gpu`, ...
    """
    missing = []
    if accelerator in ("gpu", "cuda"):
        from torch.utils._triton import has_triton_package

        if not has_triton_package():
            missing.append("Triton (`pip install triton`)")
        if not any(shutil.which(name) for name in (os.environ.get("CC") or "gcc", "gcc", "clang")):
            missing.append("a C compiler (install gcc, or name another one in the environment's CC)")
    else:
        from torch._inductor.cpp_builder import get_cpp_compiler
        from torch._inductor.exc import InvalidCxxCompiler

        try:
            get_cpp_compiler()
        except InvalidCxxCompiler:
            missing.append("a C++ compiler (install g++, or name another one in the environment's CXX)")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        missing.append("Python's header files (on Debian and Ubuntu python3-dev)")
    return missing
