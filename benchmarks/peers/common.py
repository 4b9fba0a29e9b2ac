"""What every side of a training benchmark shares: the batches, the loop, the clock. Needs torch alone.

A driver is started as `python <driver>.py BATCHES.json SECONDS` and prints one JSON line.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

PAD, BOS, EOS = 0, 2, 3


class TransformerSizes(NamedTuple):
    """The sizes of a Transformer with 4 heads."""

    model_size: int
    feed_forward_size: int
    layers: int


SIZES = {"a": TransformerSizes(128, 256, 4), "b": TransformerSizes(256, 1024, 3)}


def transformer_sizes() -> TransformerSizes:
    """What a driver of a Transformer is told as its third argument: `a` or `b`."""
    return SIZES[sys.argv[3]]


def pad(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids `(B, T)` padded on the right, and lengths `(B,)`."""
    size = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (size - len(row)) for row in rows])
    return ids, torch.tensor([len(row) for row in rows])


def measure(
    build: Callable[[int], tuple[torch.nn.Module, Callable[..., torch.Tensor]]], mixed: bool = False
) -> None:
    """Times optimiser steps over all batches, again and again, and prints the median tokens per second.

    Args:
        build: from the vocabulary's size to a model and its loss
            `(source, source_lengths, target with BOS and EOS, target_lengths) -> scalar`.
        mixed: under bfloat16 autocast.
    """
    torch.set_num_threads(2)
    torch.manual_seed(1)
    content = json.loads(Path(sys.argv[1]).read_text())
    batches = [(*pad(batch["source"]), *pad(batch["target"])) for batch in content["batches"]]
    tokens = sum(int((lengths - 1).sum()) for *_, lengths in batches)
    model, loss = build(content["vocabulary"])
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )

    def once() -> float:
        start = time.perf_counter()
        for batch in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                total = loss(*batch)
            total.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return tokens / (time.perf_counter() - start)

    print_median("tokens_per_second", once, float(sys.argv[2]), model)


def print_median(figure: str, once: Callable[[], float], seconds: float, model: torch.nn.Module) -> None:
    """Repeats a measurement, after a first that does not count, and prints the driver's one line.

    Args:
        figure: what it measures.
        once: does the work and says how fast it was.
        seconds: least time of all repeats, which are three or more.
        model: whose parameters are counted.
    """
    once()
    rates: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(rates) < 3:
        rates.append(once())
    figures = {
        figure: statistics.median(rates),
        "repeats": len(rates),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_memory_mib": peak_memory(),
    }
    print(json.dumps(figures))


def peak_memory() -> float:
    """Most memory that this process held so far, in MiB; its libraries are part of it.

    Not `getrusage`: that begins with what the process held that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
