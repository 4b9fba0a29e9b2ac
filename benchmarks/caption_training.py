"""Training speed of a captioner's decoder on stored annotations: 12 words, 32 captions in a batch, 512 units.

Beside it a common implementation, which projects the annotations at every step and stores the scores of the
whole vocabulary; with our allocator setting as well. It has a gate of D outputs where ours has one, no deep
output and the plain Adam. Sides run in turn, each in its own process with 2 threads; the ratio is taken round
by round.

    python benchmarks/caption_training.py --side 14 --features 2048
    python benchmarks/caption_training.py --side 7 --features 512
"""

import sys
from typing import Annotated

import typer
from side_by_side import Output, Rounds, Side, compare, save


def main(
    side: Annotated[int, typer.Option(help="places along each side of the grid")] = 14,
    features: Annotated[int, typer.Option(help="of each place")] = 2048,
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one measurement")] = 8.0,
    output: Output = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    size = [str(side), str(features), str(seconds)]
    sides = {
        f"{who}, {precision}": Side(sys.executable, driver, [*size, precision], keep_memory)
        for precision in ("fp32", "bf16")
        for who, driver, keep_memory in (
            ("attention-zoo", "zoo_captions.py", True),
            ("as mostly written", "torch_captions.py", False),
            ("as mostly written, our allocator setting", "torch_captions.py", True),
        )
    }
    save(compare(sides, "captions_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
