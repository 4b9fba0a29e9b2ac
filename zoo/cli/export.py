"""`zoo export`: writes a trained model into a folder that needs no run, no data set and no other machine."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors


def export(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, for its best checkpoint; or a .ckpt file.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    license_id: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="ID", help="Of the weights, for the model card; such as Apache-2.0."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder where it holds an exported model.")
    ] = False,
) -> None:
    """Write weights, configuration, tokenizers, metrics and a model card; `zoo predict FOLDER` reads them."""
    with clear_errors():
        from zoo.inference.exporting import export

        made = export(run, folder, license_id=license_id, overwrite=overwrite)
        size = sum(path.stat().st_size for path in made.iterdir())
        print(f"wrote {made} ({size / 2**20:.1f} MiB)", file=sys.stderr)
