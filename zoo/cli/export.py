"""`zoo export`: writes a trained model into a folder that needs no run, no data set and no other machine."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.core.problems import unknown


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
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="zoo; or onnx or ctranslate2, in which other programs read a Transformer that translates.",
        ),
    ] = "zoo",
    push: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Then upload the folder to the Hugging Face hub, as USER/MODEL; a new one is private.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder where it holds an exported model.")
    ] = False,
) -> None:
    """Write weights, configuration, tokenizers, metrics and a model card; `zoo predict FOLDER` reads them."""
    with clear_errors():
        from zoo.inference.exporting import export
        from zoo.inference.pushing import Hub
        from zoo.inference.translators import FORMATS, export_translator

        if form not in ("zoo", *FORMATS):
            raise ValueError(f"cannot write the format {form!r}{unknown(form, ['zoo', *FORMATS])}")
        hub = Hub(push) if push is not None else None  # before the long work
        if form == "zoo":
            made = export(run, folder, license_id=license_id, overwrite=overwrite)
        else:
            made = export_translator(run, folder, form, license_id=license_id, overwrite=overwrite)
        size = sum(path.stat().st_size for path in made.iterdir())
        print(f"wrote {made} ({size / 2**20:.1f} MiB)", file=sys.stderr)
        if hub is not None:
            print(f"uploaded it to {hub.upload(made)}", file=sys.stderr)
