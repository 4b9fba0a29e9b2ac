"""Training speed of the Transformer beside its peers, on identical batches in one run.

Two sizes: (a) d 128, feed-forward 256, 4 + 4 layers; (b) d 256, feed-forward 1,024, 3 + 3 layers; 4 heads,
dropout 0.1, label smoothing 0.1, one matrix for embeddings and output, fused AdamW, clipping. Data: Multi30k
English to German, joint BPE of 10,000, length buckets of 4,096 tokens. The figure is real (not padded) target
tokens per second. Sides run in turn, each in its own process; the ratio is taken round by round.

    python benchmarks/transformer_training.py --size a --marian PYTHON

where PYTHON is the interpreter of an environment with Hugging Face transformers. Peers run as they are
shipped, in float32, and under bfloat16 autocast with the allocator setting that `train.py` chooses.
"""

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from seq2seq_training import write_batches
from side_by_side import DataDir, Output, Rounds, Side, compare, save


def main(
    size: Annotated[str, typer.Option(help="a or b")] = "a",
    marian: Annotated[str, typer.Option(help="the Python of an environment with transformers")] = "",
    data_dir: DataDir = Path("."),
    count: Annotated[int, typer.Option("--batches", help="batches, spread evenly over the lengths")] = 3,
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one run")] = 12.0,
    output: Output = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        batches = Path(folder, "batches.json")
        write_batches(batches, data_dir, count)
        peers = {"torch.nn.Transformer": (sys.executable, "torch_transformer.py")}
        if marian:
            peers["Marian"] = (marian, "marian_transformer.py")
        sides = {
            f"attention-zoo, {precision}": Side(
                sys.executable, "zoo_transformer.py", [str(batches), str(seconds), size, precision], True
            )
            for precision in ("bf16", "fp32")
        }
        for name, (python, driver) in peers.items():
            for precision in ("fp32", "bf16"):
                tuned = precision == "bf16"
                label = f"{name}, bf16, our allocator setting" if tuned else f"{name} as shipped, fp32"
                sides[label] = Side(python, driver, [str(batches), str(seconds), size, precision], tuned)
        save(compare(sides, "tokens_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
