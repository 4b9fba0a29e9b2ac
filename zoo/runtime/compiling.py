"""`torch.compile` for the methods of a network that gain by it, in place.

Networks mark these methods by `@compilable`: they have no loop over positions, which would become another
graph for each length, and none of torch's recurrent layers, which are compiled already.

Only calls with gradients are compiled: the shapes of validations and searches change too often. Parameters
keep their names, so a checkpoint is the same with and without compilation.
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
"""The number of compilations that torch keeps a record of; by default 64."""


def compilable(method: Method) -> Method:
    """Decorates a module's method that is to be compiled."""
    method.compilable = True  # type: ignore[attr-defined]
    return method


def compilable_methods(network: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """The modules of the network with marked methods, and the methods' names."""
    for part in network.modules():
        for name in dir(type(part)):
            if getattr(getattr(type(part), name), "compilable", False):
                yield part, name


def compile_in_place(network: nn.Module, backend: str = "inductor") -> None:
    """Makes the network's marked methods be compiled when a training first calls them.

    Args:
        network: the network.
        backend: of `torch.compile`.
    """
    import torch._dynamo  # here, because it takes a second

    # Processes communicate between the compiled parts, not within them.
    torch._dynamo.config.optimize_ddp = False
    # Steps use only the weights of torch's recurrent layers.
    torch._dynamo.config.allow_rnn = True
    # Sizes that are equal in one batch may differ in the next.
    torch.fx.experimental._config.use_duck_shape = False
    # Keyed noise counts its calls, and each count would be another graph.
    noise.keyed_uniform = torch._dynamo.disable(noise.keyed_uniform)
    torch._dynamo.utils.clear_compilation_metrics()
    torch._dynamo.utils.set_compilation_metrics_limit(_REMEMBERED)
    for part, name in list(compilable_methods(network)):
        # A bound method, so that a copy of the network calls its own parts.
        setattr(part, name, MethodType(_in_training(getattr(type(part), name), backend), part))


@cache  # so that layers of one class share their graphs
def _in_training(method: Callable[..., Any], backend: str) -> Callable[..., Any]:
    # One graph for all lengths from the start; by default the first length has its own.
    compiled = torch.compile(method, backend=backend, dynamic=True)

    @wraps(method)
    def run(*arguments: Any, **named: Any) -> Any:
        return (compiled if torch.is_grad_enabled() else method)(*arguments, **named)

    return run


class Compilation(NamedTuple):
    """A compilation, or a refusal to compile once more.

    Attributes:
        method: the method's name.
        seconds: the duration.
        changed: what had changed since the previous compilation, in torch's words; None the first time.
        refused: whether the method reached torch's limit and now runs uncompiled where no graph fits.
    """

    method: str
    seconds: float
    changed: str | None
    refused: bool


def compilations() -> list[Compilation]:
    """All compilations since `compile_in_place`, in order."""
    from torch._dynamo.utils import get_compilation_metrics

    names: dict[str, str] = {}
    found = []
    for record in get_compilation_metrics():
        if not record.compile_id or record.is_forward is False:  # a backward pass counts with its forward
            continue
        frame = record.compile_id.partition("/")[0]
        name = names.setdefault(frame, record.co_name or "?")
        refused = "recompile limit" in (record.fail_reason or "")
        found.append(
            Compilation(name, record.entire_frame_compile_time_s or 0.0, record.recompile_reason, refused)
        )
    return found


def missing_tools(accelerator: str) -> list[str]:
    """What this machine lacks to compile for the trainer's `accelerator`, in words."""
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
