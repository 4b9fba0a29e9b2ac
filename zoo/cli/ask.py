"""Asks a model of any kind, and prints what it answers."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

if TYPE_CHECKING:
    from zoo.tasks.predictor import Predictor


def ask(
    predictor: "Predictor",
    inputs: Sequence[Any],
    nbest: int,
    progress: Callable[[int], object] = lambda count: None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> list[list[Any]]:
    """The answers to each input, best first, whichever of these arguments the model's `predict` has.

    Args:
        predictor: takes such inputs.
        inputs: what it is asked about.
        nbest: how many answers to each.
        progress: called after each batch with its number of inputs.
        options: further arguments, which the model's `predict` has.

    Raises:
        ValueError: several answers are asked for, and the model gives one.
    """
    predict: Any = predictor.predict  # type: ignore[attr-defined]  # every class with an input has it
    known = inspect.signature(predict).parameters
    if nbest > 1 and "nbest" not in known:
        raise ValueError(f"the model of {predictor.name} gives one answer to each input: leave --nbest out")
    named = {"nbest": nbest, "weights": shows_colours(predictor), "progress": progress}
    found = predict(inputs, **{name: value for name, value in named.items() if name in known}, **options)
    if "progress" not in known:
        progress(len(inputs))
    return list(found) if "nbest" in known else [[answer] for answer in found]


def shows_colours(predictor: "Predictor") -> bool:
    """Whether there is a terminal, and the model has more to show on it than columns."""
    from zoo.tasks.predictor import Predictor

    return type(predictor).render is not Predictor.render and Console().is_terminal


def answered(
    predictor: "Predictor", before: Sequence[str], answers: Sequence[Any], nbest: int, where: Sequence[str]
) -> list[str | RenderableType]:
    """A line for each answer to one input, and what a terminal shows of the best; warnings are printed.

    Args:
        predictor: whose answers they are.
        before: columns that stand before those of the answer.
        answers: best first.
        nbest: how many were asked for.
        where: words that stand before a warning.
    """
    for remark in predictor.remarks(answers):
        print(f"{', '.join(where)}: {remark}", file=sys.stderr)
    lines: list[str | RenderableType] = [
        "\t".join([*before, *predictor.columns(answer, nbest)]) for answer in answers
    ]
    if answers and shows_colours(predictor) and (shown := predictor.render(answers[0])) is not None:
        lines.append(shown)
    return lines


def write(lines: Sequence[str | RenderableType]) -> None:
    """Writes plain lines as they are, and the others as the terminal shows them."""
    for line in lines:
        if isinstance(line, str):
            sys.stdout.write(f"{line}\n")
        else:
            sys.stdout.flush()
            Console().print(line)
    sys.stdout.flush()
