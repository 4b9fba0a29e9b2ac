"""Beam search of a captioner: images in a batch beside one image at a time; beam 5, captions of 12 words.

The network of `caption_training.py`, untrained, on stored annotations, beside a common implementation: one
image at a time, its annotations repeated for each hypothesis and projected at every step. Sides run in turn,
each in its own process with 2 threads; the ratio is taken round by round.

    python benchmarks/caption_decoding.py --side 14 --features 2048
    python benchmarks/caption_decoding.py --side 7 --features 512
"""

import sys
from typing import Annotated

import typer
from side_by_side import Output, Rounds, Side, compare, save

BATCHES = {64: 64, 1: 8}
"""Images written in one measurement, by the size of a batch."""


def main(
    side: Annotated[int, typer.Option(help="places along each side of the grid")] = 14,
    features: Annotated[int, typer.Option(help="of each place")] = 2048,
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one measurement")] = 5.0,
    output: Output = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    size = [str(side), str(features), str(seconds)]
    sides = {
        f"{batch} at a time, {precision}": Side(
            sys.executable, "zoo_caption_decoding.py", [*size, precision, str(images), str(batch)], True
        )
        for precision in ("fp32", "bf16")
        for batch, images in BATCHES.items()
    } | {
        f"as mostly written, {precision}": Side(
            sys.executable, "torch_caption_decoding.py", [*size, precision, "8"], False
        )
        for precision in ("fp32", "bf16")
    }
    save(compare(sides, "captions_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
