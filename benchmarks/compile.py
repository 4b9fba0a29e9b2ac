"""Training steps of the four models with and without `compile=true`, in float32 and bf16-mixed.

Transformer (d 128, 4 + 4 layers) and recurrent Seq2Seq (Luong's decoder with input feeding, 512 units) with
batches of 4,096 tokens, of three lengths; the captioner's decoder with 32 stored grids of 7 x 7 x 512; RAM
with 128 images and six glimpses. The figure is items (sentences, captions, images) per second. Beside it
stand the seconds of the first step with each of the three batches, and the numbers of compilations and
recompilations. Each measurement has a process and a compilation cache of its own.

    python benchmarks/compile.py                              # about 7 minutes on two quiet cores
    python benchmarks/compile.py --device cuda --model transformer --size b
"""

import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from side_by_side import Output, Side, compare, save

MODELS = ("transformer", "seq2seq", "captioner", "ram")


def main(
    model: Annotated[list[str] | None, typer.Option(help=f"{', '.join(MODELS)}; all by default")] = None,
    size: Annotated[str, typer.Option(help="of the Transformer: a or b, as transformer_training.py")] = "a",
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    rounds: Annotated[int, typer.Option(help="times each side is run")] = 1,
    seconds: Annotated[float, typer.Option(help="least time of one measurement")] = 5.0,
    output: Output = None,
) -> None:
    """Runs every side in turn and prints gain and cost of compiling."""
    found: dict[str, Any] = {}
    for name in model or MODELS:
        for precision in ("fp32", "bf16"):
            sides = {
                f"{name}, {precision}, {how}": Side(
                    sys.executable,
                    "zoo_compiled.py",
                    [name, str(seconds), size, precision, how, device],
                    True,
                )
                for how in ("compiled", "plain")
            }
            found |= compare(sides, "items_per_second", rounds)
            save(found, output)
    table = Table("side", "items/s", "first steps, s", "compiled", "again", "compiled / plain")
    for name, figures in found.items():
        *_, ratio = figures["ratio"]
        table.add_row(
            name,
            *(f"{figures['items_per_second'][-1]:,.0f}", f"{figures['first_seconds'][-1]:.1f}"),
            *(f"{figures[key][-1]:.0f}" for key in ("compiled", "compiled_again")),
            f"{ratio:.2f}" if name.endswith("plain") else "",
        )
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
