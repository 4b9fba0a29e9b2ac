"""The number of keys from which torch's fused attention is faster than plain products.

    python benchmarks/fused_attention.py

Forward and backward of one multi-head attention over 4,096 tokens, in sentences of different lengths with
padding, by products and by the fused kernel. The number of keys from which the kernel wins on a CPU is the
constant in zoo/attention/fused.py.
"""

import json
import statistics
import time
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table

from zoo.attention import MultiHeadAttention, fused, padding_mask
from zoo.runs.results import machine
from zoo.runtime.memory_allocator import keep_freed_memory

TOKENS = 4096


def seconds(length: int, *, size: int, heads: int, mixed: bool, kernel: bool, repeats: int) -> float:
    """Median time of a forward and backward pass."""
    torch.manual_seed(1)
    fused._FEWEST_KEYS_ON_A_CPU = 0 if kernel else 10**9
    attention = MultiHeadAttention(query_size=size, heads=heads, dropout=0.0)
    sentences = max(1, TOKENS // length)
    inputs = torch.randn(sentences, length, size, requires_grad=True)
    mask = padding_mask(torch.randint(length // 2, length + 1, (sentences,)), length)
    times = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            context = attention(inputs, attention.prepare(inputs, keep_mask=mask), weights=False).context
        context.sum().backward()
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def main(
    repeats: Annotated[int, typer.Option(help="times each is measured")] = 20,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Prints the kernel's speed in multiples of the products'."""
    table = Table("keys", "d 128, 4 heads", "bf16", "d 512, 8 heads", "bf16", title="products / fused kernel")
    figures: dict[str, Any] = {"machine": machine(), "tokens": TOKENS, "ratio": {}}
    for length in (16, 32, 64, 128, 256, 512, 1024):
        row = []
        for size, heads in ((128, 4), (512, 8)):
            for mixed in (False, True):
                products, kernel = (
                    seconds(length, size=size, heads=heads, mixed=mixed, kernel=kernel, repeats=repeats)
                    for kernel in (False, True)
                )
                row.append(products / kernel)
        figures["ratio"][str(length)] = row
        table.add_row(str(length), *(f"{ratio:.2f}" for ratio in row))
    Console().print(table)
    if output:
        output.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    keep_freed_memory()
    typer.run(main)
