"""The jobs of a sweep that is no full product: the union of several products, each said by one line."""

import shlex
from collections.abc import Callable, Sequence

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.types import Override


def union(
    lines: Sequence[str], typed: Sequence[Override], parse: Callable[[list[str]], list[Override]]
) -> list[list[str]]:
    """Every job: for each line the product of what was typed with what the line says.

    Args:
        lines: overrides, as they would be typed; an empty line adds nothing.
        typed: on the command line.
        parse: reads overrides.

    Returns:
        The overrides of each job, line by line.
    """
    return [
        job
        for line in lines
        for batch in BasicSweeper.split_arguments([*typed, *parse(shlex.split(line))], None)
        for job in batch
    ]
