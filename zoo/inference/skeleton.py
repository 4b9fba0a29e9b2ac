"""What a checkpoint asks to build, looked at before memory is taken for it: anyone may have written it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_buffer_registration_hook as on_buffer
from torch.nn.modules.module import register_module_parameter_registration_hook as on_parameter

from zoo.config.allowed import NotAllowed, require_permitted_name
from zoo.config.instantiate import instantiate
from zoo.config.values import TARGET
from zoo.core.problems import Problem, joined
from zoo.training.checkpoint import Checkpoint

_LARGEST = 2**20
"""Of the whole numbers among a model's settings, which are sizes and counts."""
_SPARE_TENSORS = 1000
_SPARE_BYTES = 2**30
"""Beyond what the checkpoint holds: for tables that are computed, such as of positions, and for weights that
are registered anew when they are shared."""


def strangers(config: Any, key: str = "") -> Iterator[Problem]:
    """Every class in a configuration that may not be built by its package, also where nothing builds it."""
    if isinstance(config, dict) and TARGET in config:
        try:
            require_permitted_name(config[TARGET])
        except NotAllowed as error:
            yield Problem(joined(key, TARGET), str(error))
    for name, value in _parts(config):
        yield from strangers(value, joined(key, name))


def enormous(config: Any, key: str) -> Iterator[Problem]:
    """Every size or count in a configuration that no model has: constructors would make lists of it."""
    if isinstance(config, int) and abs(config) > _LARGEST:
        yield Problem(key, f"must be at most {_LARGEST:,}, got {config}")
    for name, value in _parts(config):
        yield from enormous(value, joined(key, name))


def _parts(config: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(config, dict):
        yield from config.items()
    elif isinstance(config, list):
        yield from enumerate(config)


def require_fit(checkpoint: Checkpoint) -> None:
    """Builds the task without memory, and refuses one that is far larger than the checkpoint.

    Raises:
        ConfigError: constructors refuse their arguments.
        ValueError: it has more tensors or numbers than the checkpoint can fill.
    """
    weights = checkpoint.state_dict.values()
    held = sum(weight.numel() * weight.element_size() for weight in weights)
    with (
        _at_most(tensors=2 * len(weights) + _SPARE_TENSORS, size=8 * held + _SPARE_BYTES),
        torch.device("meta"),
    ):
        network = instantiate(checkpoint.config["model"], "model")(spec=checkpoint.spec)
        instantiate(checkpoint.config["task"], "task")(network=network, spec=checkpoint.spec)


@contextmanager
def _at_most(*, tensors: int, size: int) -> Iterator[None]:
    """A context in which modules may register so many tensors, and bytes in them."""
    count = total = 0

    def registered(module: nn.Module, name: str, tensor: Tensor | None) -> None:
        nonlocal count, total
        if tensor is not None and not nn.parameter.is_lazy(tensor):
            count, total = count + 1, total + tensor.numel() * tensor.element_size()
        if count > tensors or total > size:
            what = f"{count:,} tensors" if count > tensors else f"{total / 2**30:,.1f} GiB"
            raise ValueError(
                f"the model that its configuration describes has {what} or more, too many to fill"
            )

    hooks = [on_parameter(registered), on_buffer(registered)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
