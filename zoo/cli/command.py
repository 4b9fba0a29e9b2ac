"""What all verbs of the command `zoo` do alike."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

Project = Annotated[
    Path | None,
    typer.Option(help="The project's checkout; by default found upward from the current folder."),
]
"""The option --project."""


Device = Annotated[str | None, typer.Option(help="For example cpu or cuda:0; the GPU when there is one.")]
"""The option --device."""

Precision = Annotated[
    str,
    typer.Option(
        help="32-true; bf16-mixed is faster where the machine multiplies bfloat16; int8 multiplies linear"
        " maps in eight bits on a CPU, and its answers differ a little."
    ),
]
"""The option --precision."""


class Verb(TyperCommand):
    """Says how to write an argument that begins with a dash, where it was taken for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes options and arguments apart."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # the library has no public name for an unknown option
            if getattr(error, "possibilities", "not one") or "--" in given:  # an option was meant
                raise
            option = str(getattr(error, "option_name", "-"))
            meant = next((text for text in given if text.startswith(option)), option)
            error.message += (  # type: ignore[attr-defined]
                f"; an argument that begins with a dash comes last, behind --: zoo {ctx.info_name} ... -- "
                f"{shlex.quote(meant)}"
            )
            raise
