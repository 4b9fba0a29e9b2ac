"""Answers in one line: of tensors only their shape."""

import reprlib
from typing import Any, Protocol


class _Named(Protocol):
    def _asdict(self) -> dict[str, Any]: ...


class _Short(reprlib.Repr):
    def repr_Tensor(self, tensor: Any, level: int) -> str:
        return f"Tensor{tuple(tensor.shape)}"


_short = _Short()
_short.maxlist = _short.maxtuple = 4
_short.maxstring = _short.maxother = 80


def short_repr(answer: _Named) -> str:
    """The `__repr__` of an answer, a `NamedTuple` whose tensors and long lists would fill a screen."""
    fields = (f"{name}={_short.repr(value)}" for name, value in answer._asdict().items())
    return f"{type(answer).__name__}({', '.join(fields)})"
