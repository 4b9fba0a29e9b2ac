"""What both sides of `caption_training.py` share: the annotations, the captions, the loop, the clock.

python <driver>.py PLACES FEATURES SECONDS PRECISION
"""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from common import PAD, print_median
from torch import Tensor, nn

BATCH, WORDS, VOCABULARY, SIZE = 32, 12, 2633, 512
"""Captions in a batch, words of each, words known, units of every layer."""

Loss = Callable[[Tensor, Tensor], Tensor]
"""From a grid `(B, D, h, w)` and captions `(B, T)` to a scalar."""


class Grid(NamedTuple):
    """The annotations: places along each side, features of each."""

    side: int
    features: int


def grid() -> Grid:
    """What the command line asks for."""
    return Grid(int(sys.argv[1]), int(sys.argv[2]))


def measure(build: Callable[[Grid], tuple[nn.Module, Loss]], *, fused: bool) -> None:
    """Times optimiser steps and prints the median captions per second.

    Args:
        build: gives a model and its loss.
        fused: whether the optimiser is.
    """
    torch.set_num_threads(2)
    torch.manual_seed(1)
    size = grid()
    annotations = torch.rand(BATCH, size.features, size.side, size.side)
    captions = torch.randint(PAD + 4, VOCABULARY, (BATCH, WORDS + 2))  # and both ends
    model, loss = build(size)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=fused)

    def once() -> float:
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=sys.argv[4] == "bf16"):
            total = loss(annotations, captions)
        total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        return BATCH / (time.perf_counter() - start)

    print_median("captions_per_second", once, float(sys.argv[3]), model)
