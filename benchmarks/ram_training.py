"""Training speed of the recurrent attention model: batches of 128, 6 glimpses of 8 x 8 pixels, one scale.

Ours is `train.py` itself, with data loading and Lightning; beside it a common implementation of the same
network, with a loop over the batch in its sensor and a transform of each image in its loader. Both run in
float32 on two threads, in turn, each in its own process; the ratio is taken round by round.

    python benchmarks/ram_training.py
"""

import sys
from pathlib import Path

import typer
from side_by_side import DataDir, Output, Rounds, Side, compare, save


def main(data_dir: DataDir = Path("."), rounds: Rounds = 3, output: Output = None) -> None:
    """Runs both sides in turn and prints the ratio."""
    where = str(data_dir.resolve())
    sides = {
        "attention-zoo": Side(sys.executable, "zoo_ram.py", [where, "3000"], True),
        **{
            name: Side(sys.executable, "torch_ram.py", [where, "600"], keep_memory)
            for name, keep_memory in (
                ("as mostly written", False),
                ("as mostly written, our allocator setting", True),
            )
        },
    }
    save(compare(sides, "images_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
