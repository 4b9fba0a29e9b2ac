"""What the `predict` of a trained model takes: checked before anything is computed, in one place for all."""

import inspect
import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Answers = TypeVar("_Answers")

_NAMED = 3
"""The most wrong elements that a message names; the others it counts."""


class Inputs(NamedTuple):
    """One kind of input.

    Attributes:
        kinds: classes of an element, or of its parts.
        words: what an element is, to stand after "each element".
        example: how a list of one element is written.
        parts: of how many parts an element is a tuple or a list; 1: it is no such thing.
    """

    kinds: tuple[type, ...]
    words: str
    example: str
    parts: int = 1

    def checked(self, given: object, name: str) -> list[Any]:
        """Any sequence of inputs as a list, of tuples where elements have parts.

        Args:
            given: what the user passed.
            name: the argument's name, for messages.

        Raises:
            TypeError: it is no sequence, or elements have a wrong type; the message names their positions.
            ValueError: a text cannot be written as UTF-8.
        """
        takes = f"{name} must be a list, each element {self.words}"
        if isinstance(given, str | bytes | os.PathLike):
            raise TypeError(f"{takes}; got {_described(given)} alone: write {self.example}")
        if not isinstance(given, Sequence):
            raise TypeError(f"{takes}; got {_described(given)}")
        wrong = [place for place, one in enumerate(given) if not self._is_one(one)]
        if wrong:
            named = ", ".join(f"{name}[{place}] is {_described(given[place])}" for place in wrong[:_NAMED])
            more = f", and {len(wrong) - _NAMED} more are wrong" if len(wrong) > _NAMED else ""
            raise TypeError(f"{takes}; {named}{more}")
        elements = [tuple(one) for one in given] if self.parts > 1 else list(given)
        for place, one in enumerate(elements):
            for part in one if self.parts > 1 else [one]:
                if isinstance(part, str) and not _is_text(part):
                    raise ValueError(f"{name}[{place}] cannot be written as UTF-8: {part[:40]!r}")
        return elements

    def _is_one(self, element: object) -> bool:
        if self.parts == 1:
            return isinstance(element, self.kinds)
        return (
            isinstance(element, tuple | list)
            and len(element) == self.parts
            and all(isinstance(part, self.kinds) for part in element)
        )


SENTENCES = Inputs((str,), "a text (str)", '["a sentence"]')
PAIRS = Inputs((str,), "two texts (a tuple of two str)", '[("one text", "another text")]', parts=2)
PICTURES = Inputs((str, os.PathLike), "the path of a picture file (str or Path)", '["picture.png"]')


def takes(inputs: Inputs) -> Callable[[Callable[_Given, _Answers]], Callable[_Given, _Answers]]:
    """A decorator for `predict`, which checks its first argument, a list of `inputs`, and its `nbest`."""

    def decorate(predict: Callable[_Given, _Answers]) -> Callable[_Given, _Answers]:
        signature = inspect.signature(predict)
        _, name, *_ = signature.parameters  # the first is self

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
    """Refuses what is not a whole number from `least` to `most`.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is out of range.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} must be a whole number from {least} on, got {_described(number)}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, got {number}")


def _described(value: object) -> str:
    """The type of a value, with its shape or its value where that is short."""
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
