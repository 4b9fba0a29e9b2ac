"""Beam search of the Transformer beside Hugging Face's `generate`, on identical sentences in one run.

The networks of `transformer_training.py`, untrained, in its two sizes. Sentences, batches and beam are those
of `seq2seq_decoding.py`: the 1,000 of Multi30k test_2016_flickr, sorted by length, 64 at a time unless a row
says otherwise, beam 5, every output forced to 20 tokens. The figure is sentences per second, from ids to ids.
Sides run in turn, each in its own process with 2 threads; the ratio is taken round by round.

    python benchmarks/transformer_decoding.py --size a --marian PYTHON

where PYTHON is the interpreter of an environment with Hugging Face transformers. The peer runs as it is
shipped, with the allocator setting that `train.py` chooses for itself, and under bfloat16 autocast with it.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from seq2seq_decoding import our_sides, peer_sides, write_sentences
from side_by_side import DataDir, Output, Rounds, compare, save


def main(
    size: Annotated[str, typer.Option(help="a or b")] = "a",
    marian: Annotated[str, typer.Option(help="the Python of an environment with transformers")] = "",
    data_dir: DataDir = Path("."),
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one measurement")] = 5.0,
    only: Annotated[str, typer.Option(help="rows whose name contains this")] = "",
    output: Output = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder, "sentences.json")
        write_sentences(sentences, data_dir)
        sides = our_sides("zoo_transformer_decoding.py", sentences, seconds, size)
        if marian:
            sides |= peer_sides("Marian", marian, "marian_decoding.py", sentences, seconds, size)
        sides = {name: side for name, side in sides.items() if only in name}
        save(compare(sides, "sentences_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
