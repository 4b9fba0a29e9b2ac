"""pytorch-ntm's side of `neural_turing_machine.py`: its network and its step of training.

python pytorch_ntm.py FOLDER SEQUENCES SECONDS
"""

import sys
from typing import Any

import torch
from memory import BITS, CONTROLLER, LOCATIONS, WIDTH, begin, measure, rmsprop
from torch import Tensor, nn


def main(folder: str, sequences: int, seconds: float) -> None:
    """Prints the median sequences per second."""
    sys.path.insert(0, folder)
    from ntm.aio import EncapsulatedNTM  # type: ignore[import-not-found]  # pytorch-ntm's

    network: Any = EncapsulatedNTM(BITS + 1, BITS, CONTROLLER, 1, 1, LOCATIONS, WIDTH)
    optimizer, criterion = rmsprop(network), nn.BCELoss()

    def step(vectors: Tensor) -> None:
        count, length, _ = vectors.shape
        optimizer.zero_grad()
        network.init_sequence(count)
        asked = torch.zeros(length + 1, count, BITS + 1)
        asked[:length, :, :BITS] = vectors.transpose(0, 1)
        asked[length, :, BITS] = 1
        for inputs in asked:
            network(inputs)
        answers = torch.stack([network()[0] for _ in range(length)])
        loss = criterion(answers, vectors.transpose(0, 1))
        loss.backward()
        for weight in network.parameters():
            if weight.grad is not None:
                weight.grad.clamp_(-10, 10)
        optimizer.step()
        loss.item()

    measure(network, step, sequences, seconds)


if __name__ == "__main__":
    begin()
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
