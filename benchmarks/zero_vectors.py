"""Why a trained Neural Turing Machine copies a few sequences wrongly: vectors of zeros.

    python benchmarks/zero_vectors.py RUN...

While the machine answers, its inputs are zeros, and a vector of zeros that it is to copy looks the same. For
0 to 4 such vectors in sequences of 19 the command prints the share of sequences with a wrong bit. RUN is a
run of a copy recipe.
"""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import zoo
from zoo.core.bit_sequences import BitSequence, Copy, kind_of

VECTORS, MOST = 19, 4


def copies(zeros: int, count: int, bits: int) -> list[BitSequence]:
    """Random sequences to copy that hold so many vectors of zeros, none of them the first one."""
    kind, random = Copy(bits=bits, longest=VECTORS), np.random.Generator(np.random.Philox(zeros))
    made = []
    for _ in range(count):
        item = kind.item(VECTORS, random)
        read, answered = item.inputs[:VECTORS, :bits], item.targets[-VECTORS:]
        read[~read.any(1), 0] = 1.0
        read[1 + random.choice(VECTORS - 1, zeros, replace=False)] = 0.0
        answered[:] = read
        made.append(item)
    return made


def main(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    count: Annotated[int, typer.Option(min=1, help="sequences for each number")] = 1000,
) -> None:
    """Prints a line for each run."""
    typer.echo("\t".join(["run", *(f"{zeros} vectors of zeros" for zeros in range(MOST + 1))]))
    for run in runs:
        answerer = zoo.load(run)
        sequences = answerer.checkpoint.config["data"].get("sequences")
        if sequences is None or not isinstance(kind_of(sequences), Copy):
            raise typer.BadParameter(f"{run} was not trained to copy", param_hint="RUN")
        task, shares = answerer.task, []
        for zeros in range(MOST + 1):
            made = copies(zeros, count, task.spec.fields["targets"].size)
            inputs, targets, scored = (torch.from_numpy(np.stack(part)) for part in zip(*made, strict=True))
            with torch.no_grad():
                wrong = (task.network(inputs).logits > 0) != (targets > 0.5)
            shares.append((wrong & scored.unsqueeze(-1)).any(-1).any(-1).float().mean().item())
        typer.echo("\t".join([run.name, *(f"{share:.3f}" for share in shares)]))


if __name__ == "__main__":
    typer.run(main)
