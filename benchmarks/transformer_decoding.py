"""Beam search of the Transformer beside CTranslate2 and Hugging Face's `generate`, in one run.

The networks of `transformer_training.py`, untrained, in its two sizes. Sentences, batches and beam are those
of `seq2seq_decoding.py`: the 1,000 of Multi30k test_2016_flickr, sorted by length, 64 at a time unless a row
says otherwise, beam 5, every output forced to 20 tokens. The figure is sentences per second, from ids to ids.
Sides run in turn, each in its own process with 2 threads; the ratio is taken round by round.

    python benchmarks/transformer_decoding.py --size a --marian PYTHON --ctranslate2 PYTHON

where PYTHON is the interpreter of an environment with Hugging Face transformers, and with ctranslate2. Marian
runs as it is shipped, with the allocator setting that `train.py` chooses for itself, and under bfloat16
autocast with it; CTranslate2 as it is shipped, in float32 and int8, with one worker of 2 threads and 2
of one.
"""

import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from seq2seq_decoding import our_sides, peer_sides, side, write_sentences
from side_by_side import DRIVERS, KEEP_MEMORY, DataDir, Output, Rounds, compare, save


def main(
    size: Annotated[str, typer.Option(help="a or b")] = "a",
    marian: Annotated[str, typer.Option(help="the Python of an environment with transformers")] = "",
    ctranslate2: Annotated[str, typer.Option(help="the Python of an environment with both packages")] = "",
    data_dir: DataDir = Path("."),
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one measurement")] = 5.0,
    only: Annotated[str, typer.Option(help="rows whose name contains this")] = "",
    profile: Annotated[bool, typer.Option(help="print where the zoo's time goes instead")] = False,
    output: Output = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder, "sentences.json")
        write_sentences(sentences, data_dir)
        if profile:
            changes = {"mixed": True, "threads": 1, "seconds": seconds, "profile": True}
            of_zoo = side(sys.executable, "zoo_transformer_decoding.py", sentences, changes, size, True)
            command = [of_zoo.python, of_zoo.driver, *of_zoo.arguments]
            subprocess.run(command, env=os.environ | KEEP_MEMORY, cwd=DRIVERS, check=True)
            return
        sides = our_sides("zoo_transformer_decoding.py", sentences, seconds, size)
        if marian:
            sides |= peer_sides("Marian", marian, "marian_decoding.py", sentences, seconds, size)
        if ctranslate2:
            for precision, workers in product(("float32", "int8"), (1, 2)):
                threads = 2 // workers
                changes = {"compute_type": precision, "processes": workers, "threads": threads}
                changes["seconds"] = seconds
                name = f"CTranslate2 in {precision}, {workers} x {threads} threads"
                sides[name] = side(
                    ctranslate2, "ctranslate2_decoding.py", sentences, changes, size, keep_memory=False
                )
        sides = {name: one for name, one in sides.items() if only in name}
        save(compare(sides, "sentences_per_second", rounds), output)


if __name__ == "__main__":
    typer.run(main)
