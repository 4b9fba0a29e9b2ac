"""What all sides of `language_models.py` share: batches, sizes, loop, clock. Needs torch alone.

A driver is started as `python <driver>.py NETWORK SECONDS` and prints one JSON line.
"""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from common import print_median
from torch import Tensor, nn

DROPOUT = 0.2
MASKED, MASK = 0.15, 4


class Network(NamedTuple):
    """One row of the comparison.

    Attributes:
        vocabulary: words or characters.
        rows: texts of a batch.
        steps: tokens of each.
        size: features of a token and of a state.
        layers: how many.
        heads: of each layer; 0 of recurrent ones.
        remembered: states that attention to the past reads; 0: no such attention.
    """

    vocabulary: int
    rows: int
    steps: int
    size: int
    layers: int
    heads: int = 0
    remembered: int = 0


NETWORKS = {
    "gpt": Network(65, 12, 64, 128, 4, heads=4),
    "lstm": Network(33_278, 20, 35, 200, 1),
    "lstm_window": Network(33_278, 20, 35, 197, 1, remembered=35),
    "lstm_all": Network(33_278, 20, 35, 197, 1, remembered=1000),
    "lstmn": Network(33_278, 20, 35, 196, 1, remembered=35),
    "bert": Network(8_000, 32, 128, 128, 2, heads=2),
}
"""Sizes of `shakespeare_gpt_small`, of the recipes for WikiText-2, and of `imdb_bert_tiny`."""

Loss = Callable[[Tensor, Tensor], Tensor]
"""The mean loss of a batch: of tokens and the tokens behind them, or of masked tokens and what stood there
(-1 where nothing was masked), both `(B, T)`."""


def batches(sizes: Network) -> list[tuple[Tensor, Tensor]]:
    """Batches of made-up tokens, as frequent as words are (Zipf's law)."""
    often = torch.arange(1, sizes.vocabulary - 4).float().reciprocal()
    drawn = torch.multinomial(often, 4 * sizes.rows * (sizes.steps + 1), replacement=True) + 5
    made = []
    for text in drawn.view(4, sizes.rows, sizes.steps + 1):
        tokens, behind = text[:, :-1].contiguous(), text[:, 1:].contiguous()
        if sizes.heads and sizes.vocabulary > 1000:
            chosen = torch.rand(tokens.shape) < MASKED
            tokens, behind = tokens.masked_fill(chosen, MASK), tokens.masked_fill(~chosen, -1)
        made.append((tokens, behind))
    return made


def measure(
    build: Callable[[str, Network], tuple[nn.Module, Loss]], fused: bool, mixed: bool = False
) -> None:
    """Times optimiser steps over all batches, again and again, and prints the median tokens per second.

    Args:
        build: makes the network and its loss. States of recurrent networks are carried on.
        fused: whether the optimiser is torch's fused one.
        mixed: under bfloat16 autocast.
    """
    torch.set_num_threads(1)
    torch.manual_seed(1)
    name, seconds = sys.argv[1], float(sys.argv[2])
    sizes = NETWORKS[name]
    texts = batches(sizes)
    network, loss = build(name, sizes)
    network.train()
    weights = list(network.parameters())
    optimizer: torch.optim.Optimizer
    if sizes.heads:
        optimizer = torch.optim.AdamW(weights, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.1, fused=fused)
    else:
        optimizer = torch.optim.SGD(weights, lr=0.1, fused=fused)

    def once() -> float:
        start = time.perf_counter()
        for tokens, wanted in texts:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                total = loss(tokens, wanted)
            total.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
        return sum(tokens.numel() for tokens, _ in texts) / (time.perf_counter() - start)

    print_median("tokens_per_second", once, seconds, network)
