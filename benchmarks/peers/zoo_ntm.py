"""The zoo's side of `neural_turing_machine.py`: the network of `copy_ntm`, trained by torch's RMSProp.

python zoo_ntm.py SEQUENCES SECONDS
"""

import sys
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from memory import BITS, CONTROLLER, LOCATIONS, WIDTH, begin, measure, rmsprop
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from zoo.attention import ContentAndLocation, Cosine
from zoo.core.spec import DataSpec, VectorSpec
from zoo.networks.ntm import LSTMController, NeuralTuringMachine


def main(sequences: int, seconds: float) -> None:
    """Prints the median sequences per second."""
    network = NeuralTuringMachine(
        spec=DataSpec("benchmark", {"inputs": VectorSpec(BITS + 1), "targets": VectorSpec(BITS)}),
        controller=partial(LSTMController, hidden_size=CONTROLLER, layers=1),
        attention={
            "score": partial(Cosine, strength_from_query=True),
            "selection": partial(ContentAndLocation, farthest_shift=1),
        },
        locations=LOCATIONS,
        width=WIDTH,
        read_heads=1,
        write_heads=1,
        first_memory=1e-6,
    )
    optimizer = rmsprop(network)

    def step(vectors: Tensor) -> None:
        count, length, _ = vectors.shape
        optimizer.zero_grad()
        inputs = torch.zeros(count, 2 * length + 1, BITS + 1)
        inputs[:, :length, :BITS] = vectors
        inputs[:, length, BITS] = 1
        answers = network(inputs).logits[:, length + 1 :]
        F.binary_cross_entropy_with_logits(answers, vectors).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()

    measure(network, step, sequences, seconds)


if __name__ == "__main__":
    begin()
    main(int(sys.argv[1]), float(sys.argv[2]))
