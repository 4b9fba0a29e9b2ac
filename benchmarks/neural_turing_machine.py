"""Training speed of the Neural Turing Machine on copy, beside pytorch-ntm.

Both sides train the same sizes (an LSTM controller of 100, 128 locations of width 20, a head to read and one
to write) on sequences of 1 to 20 vectors of 8 bits, with the same optimiser, in float32 on one thread; the
peer is its own network with its own step of training, without its reports. The figure is sequences per
second of processor time, optimiser included, alone as in `copy_ntm` and four at a time as in
`copy_ntm_feed_forward`. Sides run in turn, each in its own process; the ratio is taken round by round.

    python benchmarks/neural_turing_machine.py --peer FOLDER

where FOLDER holds https://github.com/loudinthecloud/pytorch-ntm.
"""

import sys
from typing import Annotated

import typer
from side_by_side import Output, Rounds, Side, compare, save


def main(
    peer: Annotated[str, typer.Option(help="the folder of pytorch-ntm")],
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one run")] = 8.0,
    output: Output = None,
) -> None:
    """Runs both sides in turn and prints the ratios."""
    summary = {}
    for sequences in (1, 4):
        print(f"{sequences} at a time")
        numbers = [str(sequences), str(seconds)]
        sides = {
            "attention-zoo": Side(sys.executable, "zoo_ntm.py", numbers, True),
            "pytorch-ntm": Side(sys.executable, "pytorch_ntm.py", [peer, *numbers], True),
        }
        summary[f"{sequences}_at_a_time"] = compare(sides, "sequences_per_second", rounds)
        save(summary, output)


if __name__ == "__main__":
    typer.run(main)
