"""Training speed of the networks that classify and match texts, beside the same networks as mostly written.

Both sides train on the same batches of made-up words, whose texts have lengths as in MR (sentences), WikiQA
(pairs) and IMDB (documents), in the order of chance, with the same sizes and the same optimiser, in float32
on one thread. The peers are plain torch: `nn.LSTM`, `nn.GRU` and convolutions over padded batches, and a loop
over the sentences of documents. The figure is real (not padded) words per second, embeddings and optimiser
included. Sides run in turn, each in its own process; the ratio is taken round by round.

    python benchmarks/text_training.py
"""

import sys
from typing import Annotated

import typer
from side_by_side import DRIVERS, Output, Rounds, Side, compare, save

sys.path.insert(0, str(DRIVERS))

from texts import NETWORKS


def main(
    network: Annotated[list[str] | None, typer.Option(help="only this one; all by default")] = None,
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one run")] = 4.0,
    same_allocator: Annotated[bool, typer.Option(help="peers get our allocator setting too")] = False,
    output: Output = None,
) -> None:
    """Runs every network on both sides in turn and prints the ratios."""
    summary = {}
    for name in network or NETWORKS:
        print(name)
        arguments = [name, str(seconds)]
        sides = {
            "attention-zoo": Side(sys.executable, "zoo_texts.py", arguments, True),
            "as mostly written": Side(sys.executable, "torch_texts.py", arguments, same_allocator),
        }
        summary[name] = compare(sides, "words_per_second", rounds)
        save(summary, output)


if __name__ == "__main__":
    typer.run(main)
