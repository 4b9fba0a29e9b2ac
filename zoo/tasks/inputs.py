"""What the `predict` of a trained model takes: checked before anything is computed, in one place for all."""

import inspect
import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Answers = TypeVar("_Answers")

_NAMED = 3
"""Wrong elements that a message names; of more it says how many."""


class Inputs(NamedTuple):
    """One kind of input.

    Attributes:
        kinds: of an element.
        words: what an element is, in words behind "each".
        example: how a list of them is written.
    """

    kinds: tuple[type, ...]
    words: str
    example: str

    def checked(self, given: object, name: str) -> list[Any]:
        """The inputs as a list.

        Args:
            given: what somebody gave: a list, a tuple or another sequence is right.
            name: of the argument, for messages.

        Raises:
            TypeError: it is no sequence, or elements are of a wrong type; the message names their positions.
            ValueError: a text cannot be written as UTF-8.
        """
        takes = f"{name} must be a list, each element {self.words}"
        if isinstance(given, str | bytes | os.PathLike):
            raise TypeError(f"{takes}; got {described(given)} alone: write {self.example}")
        if not isinstance(given, Sequence):
            raise TypeError(f"{takes}; got {described(given)}")
        wrong = [
            f"{name}[{position}] is {described(one)}"
            for position, one in enumerate(given)
            if not isinstance(one, self.kinds)
        ]
        if wrong:
            more = f", and {len(wrong) - _NAMED} more are wrong" if len(wrong) > _NAMED else ""
            raise TypeError(f"{takes}; {', '.join(wrong[:_NAMED])}{more}")
        for position, one in enumerate(given):
            if isinstance(one, str) and not _is_text(one):
                raise ValueError(f"{name}[{position}] cannot be written as UTF-8: {one[:40]!r}")
        return list(given)


SENTENCES = Inputs((str,), "a text (str)", '["a sentence"]')
PICTURES = Inputs((str, os.PathLike), "the path of a picture file (str or Path)", '["picture.png"]')


def takes(inputs: Inputs) -> Callable[[Callable[_Given, _Answers]], Callable[_Given, _Answers]]:
    """Decorates a `predict`: its first argument is checked, and its `nbest` where it has one.

    Args:
        inputs: what the first argument is a list of.
    """

    def decorate(predict: Callable[_Given, _Answers]) -> Callable[_Given, _Answers]:
        signature = inspect.signature(predict)
        name = list(signature.parameters)[1]  # behind self

        @wraps(predict)
        def checked(*arguments: _Given.args, **named: _Given.kwargs) -> _Answers:
            bound = signature.bind(*arguments, **named)
            bound.arguments[name] = inputs.checked(bound.arguments[name], name)
            if "nbest" in bound.arguments:
                check_whole_number("nbest", bound.arguments["nbest"], least=1)
            return predict(*bound.args, **bound.kwargs)

        checked.takes = inputs  # type: ignore[attr-defined]  # `Predictor` asks for it
        return checked

    return decorate


def check_whole_number(name: str, number: object, *, least: int, most: int | None = None) -> None:
    """Refuses what is no whole number, or too small or too large a one.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is below `least` or above `most`.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} must be a whole number from {least} on, got {described(number)}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, got {number}")


def described(value: object) -> str:
    """A value of a wrong type in a few words."""
    if value is None:
        return "None"
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    name = kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"a {name} of shape {tuple(shape)}"
    short = isinstance(value, str | bytes | int | float) and len(repr(value)) <= 40
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}" + (f" ({value!r})" if short else "")


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
