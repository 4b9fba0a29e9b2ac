"""Beam search of the recurrent Seq2Seq beside JoeyNMT, on identical sentences in one run.

The network of `seq2seq_training.py`, untrained: bidirectional LSTM with 256 units per direction, LSTM decoder
with 512, embeddings 256, Bahdanau's score, input feeding. Sentences: the 1,000 of Multi30k test_2016_flickr,
English, joint BPE of 10,000, sorted by length, 64 at a time unless a row says otherwise; beam 5, every output
forced to 20 tokens, since untrained networks do not end sentences. The figure is sentences per second, from
ids to ids. Sides run in turn, each in its own process with 2 threads; the ratio is taken round by round.

    python benchmarks/seq2seq_decoding.py --peer joeynmt=PYTHON

where PYTHON is the interpreter of an environment that has the peer. The peer runs as it is shipped, with the
allocator setting that `train.py` chooses for itself, and under bfloat16 autocast with that setting.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from side_by_side import DataDir, Output, Rounds, Side, compare, multi30k, save

OPTIONS = {"batch_size": 64, "processes": 1, "threads": 2, "mixed": False, "int8": False, "every": 1}
ONE_AT_A_TIME = {"batch_size": 1, "every": 5}
OURS = {
    "attention-zoo": {},
    "attention-zoo, one sentence at a time": ONE_AT_A_TIME,
    "attention-zoo, 2 processes of 1 thread": {"processes": 2, "threads": 1},
    "attention-zoo in bf16-mixed": {"mixed": True},
    "attention-zoo in bf16-mixed, 2 processes of 1 thread": {"mixed": True, "processes": 2, "threads": 1},
    "attention-zoo in int8": {"int8": True},
    "attention-zoo in int8, 2 processes of 1 thread": {"int8": True, "processes": 2, "threads": 1},
}


def main(
    peer: Annotated[list[str] | None, typer.Option(help="NAME=PYTHON, e.g. joeynmt=/path/to/python")] = None,
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
        sides = our_sides("zoo_decoding.py", sentences, seconds)
        for name, python in (item.split("=", 1) for item in peer or []):
            sides |= peer_sides(name, python, f"{name}_decoding.py", sentences, seconds)
        sides = {name: side for name, side in sides.items() if only in name}
        save(compare(sides, "sentences_per_second", rounds), output)


def our_sides(driver: str, sentences: Path, seconds: float, size: str = "") -> dict[str, Side]:
    """The zoo in its precisions, in batches and not, in one process and two."""
    return {
        name: side(sys.executable, driver, sentences, {**changes, "seconds": seconds}, size, True)
        for name, changes in OURS.items()
    }


def peer_sides(
    name: str, python: str, driver: str, sentences: Path, seconds: float, size: str = ""
) -> dict[str, Side]:
    """A peer as it is shipped, with our allocator setting, and in our precision too."""
    mixed = {"seconds": seconds, "mixed": True}
    return {
        name: side(python, driver, sentences, {"seconds": seconds}, size, False),
        f"{name}, kept memory": side(python, driver, sentences, {"seconds": seconds}, size, True),
        f"{name} in bf16-mixed, kept memory": side(python, driver, sentences, mixed, size, True),
    }


def side(
    python: str, driver: str, sentences: Path, changes: dict[str, object], size: str, keep_memory: bool
) -> Side:
    """One row: a driver with `OPTIONS`, changed, of the network in that size."""
    arguments = [str(sentences), json.dumps({**OPTIONS, **changes})]
    return Side(python, driver, [*arguments, size] if size else arguments, keep_memory)


def write_sentences(path: Path, data_dir: Path) -> None:
    """The test sources as ids, EOS last."""
    with multi30k(data_dir) as data:
        (batches, *_) = data.test_dataloader()
        rows = [ids[:length].tolist() for batch in batches for ids, length in zip(*batch.source, strict=True)]
        path.write_text(json.dumps({"vocabulary": data.spec.text("target").size, "sentences": rows}))


if __name__ == "__main__":
    typer.run(main)
