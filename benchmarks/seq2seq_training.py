"""Training speed of the recurrent Seq2Seq beside its peers, on identical batches in one run.

Bidirectional LSTM with 256 units per direction, LSTM decoder with 512, embeddings 256, Bahdanau's score,
input feeding, dropout 0.2, label smoothing 0.1, AdamW, clipping. Data: Multi30k English to German, joint BPE
of 10,000, length buckets of 4,096 tokens. The figure is real (not padded) target tokens per second. Sides run
in turn, each in its own process; the ratio is taken round by round.

    python benchmarks/seq2seq_training.py --peer joeynmt=PYTHON --peer opennmt=PYTHON

where PYTHON is the interpreter of an environment that has that peer. Peers run as they are shipped, or, with
`--same-allocator`, with the allocator setting that `train.py` chooses for itself.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from side_by_side import DataDir, Output, Rounds, Side, compare, multi30k, save


def write_batches(path: Path, data_dir: Path, count: int) -> None:
    """Batches spread evenly over the lengths of one epoch."""
    with multi30k(data_dir) as data:
        batches = sorted(data.train_dataloader(), key=lambda batch: batch.source.ids.shape[1])
        chosen = [batches[int((number + 0.5) * len(batches) / count)] for number in range(count)]
        rows = [
            {
                side: [ids[:length].tolist() for ids, length in zip(*getattr(batch, side), strict=True)]
                for side in ("source", "target")
            }
            for batch in chosen
        ]
        path.write_text(json.dumps({"vocabulary": data.spec.text("target").size, "batches": rows}))


def main(
    peer: Annotated[list[str] | None, typer.Option(help="NAME=PYTHON, e.g. joeynmt=/path/to/python")] = None,
    data_dir: DataDir = Path("."),
    count: Annotated[int, typer.Option("--batches", help="batches, spread evenly over the lengths")] = 3,
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one run")] = 20.0,
    same_allocator: Annotated[bool, typer.Option(help="peers get our allocator setting too")] = False,
    output: Output = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        batches = Path(folder, "batches.json")
        write_batches(batches, data_dir, count)
        arguments = [str(batches), str(seconds)]
        sides = {
            "attention-zoo": Side(sys.executable, "zoo_seq2seq.py", arguments, True),
            "attention-zoo in bf16-mixed": Side(sys.executable, "zoo_seq2seq_bf16.py", arguments, True),
        }
        for name, python in (item.split("=", 1) for item in peer or []):
            sides[name] = Side(python, f"{name}_seq2seq.py", arguments, same_allocator)
        save(compare(sides, "tokens_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
