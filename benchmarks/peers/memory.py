"""What both sides of `neural_turing_machine.py` share: sequences, sizes, loop, clock. Needs torch alone.

A driver is started as `python <driver>.py ... SEQUENCES SECONDS`, where SEQUENCES are those of a batch, and
prints one JSON line.
"""

import time
from collections.abc import Callable

import torch
from common import print_median
from torch import Tensor, nn

BITS, LONGEST = 8, 20
CONTROLLER, LOCATIONS, WIDTH = 100, 128, 20

Step = Callable[[Tensor], None]
"""A step of training on vectors to copy `(B, L, BITS)`."""


def rmsprop(network: nn.Module) -> torch.optim.Optimizer:
    """The optimiser of both sides, as pytorch-ntm has it."""
    return torch.optim.RMSprop(network.parameters(), lr=1e-4, alpha=0.95, momentum=0.9)


def measure(network: nn.Module, step: Step, sequences: int, seconds: float) -> None:
    """Prints the median sequences per second of processor time over batches of every length."""
    batches = [torch.randint(2, (sequences, length, BITS)).float() for length in range(1, LONGEST + 1)]
    network.train()

    def once() -> float:
        start = time.process_time()
        for vectors in batches:
            step(vectors)
        return len(batches) * sequences / (time.process_time() - start)

    print_median("sequences_per_second", once, seconds, network)


def begin() -> None:
    """One thread, one seed."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
