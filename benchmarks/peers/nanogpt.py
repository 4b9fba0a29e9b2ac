"""nanoGPT's side of `language_models.py`: its own `model.py`, with its optimiser and settings for a CPU.

python nanogpt.py FOLDER SECONDS               speed on the batches of all sides
python nanogpt.py FOLDER STEPS TEXT.gz         its recipe on tiny Shakespeare, and its loss on all of val
"""

import gzip
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from common import print_median
from languages import NETWORKS, batches
from torch import Tensor, nn

SIZES = NETWORKS["gpt"]
HIGHEST, LOWEST, WARMUP = 1e-3, 1e-4, 100


def build(folder: str) -> tuple[Any, torch.optim.Optimizer]:
    """The network and its optimiser."""
    sys.path.insert(0, folder)
    from model import GPT, GPTConfig  # type: ignore[import-not-found]  # nanoGPT's

    config = GPTConfig(
        block_size=SIZES.steps,
        vocab_size=SIZES.vocabulary,
        n_layer=SIZES.layers,
        n_head=SIZES.heads,
        n_embd=SIZES.size,
        dropout=0.0,
        bias=False,
    )
    network = GPT(config)
    return network, network.configure_optimizers(0.1, HIGHEST, (0.9, 0.99), "cpu")


def step(network: Any, optimizer: torch.optim.Optimizer, tokens: Tensor, behind: Tensor) -> None:
    """A step of training; as nanoGPT does, it asks for the loss each time."""
    _, loss = network(tokens, behind)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    loss.item()


def speed(folder: str, seconds: float) -> None:
    """Prints the median tokens per second."""
    network, optimizer = build(folder)
    texts = batches(SIZES)

    def once() -> float:
        start = time.perf_counter()
        for tokens, behind in texts:
            step(network, optimizer, tokens, behind)
        return sum(tokens.numel() for tokens, _ in texts) / (time.perf_counter() - start)

    print_median("tokens_per_second", once, seconds, network)


def rate(done: int, steps: int) -> float:
    """Of a step: a linear rise, then half a cosine to a tenth."""
    if done < WARMUP:
        return HIGHEST * (done + 1) / (WARMUP + 1)
    fallen = (done - WARMUP) / (steps - WARMUP)
    return LOWEST + 0.5 * (1 + math.cos(math.pi * fallen)) * (HIGHEST - LOWEST)


def train(folder: str, steps: int, file: str) -> None:
    """Prints seconds of training and the loss over all windows of the last tenth."""
    text = gzip.decompress(Path(file).read_bytes()).decode()
    known = {sign: number for number, sign in enumerate(sorted(set(text)))}
    ids = torch.tensor([known[sign] for sign in text])
    first = int(0.9 * len(ids))
    learned, tested = ids[:first], ids[first:]
    network, optimizer = build(folder)
    start = time.perf_counter()
    for done in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(done, steps)
        places = torch.randint(len(learned) - SIZES.steps, (SIZES.rows,)).tolist()
        windows = torch.stack([learned[place : place + SIZES.steps + 1] for place in places])
        step(network, optimizer, windows[:, :-1].contiguous(), windows[:, 1:].contiguous())
    seconds = time.perf_counter() - start
    count = (len(tested) - 1) // SIZES.steps
    windows = tested[: count * SIZES.steps + 1].unfold(0, SIZES.steps + 1, SIZES.steps)
    network.eval()
    with torch.no_grad():
        losses = [
            len(part) * float(network(part[:, :-1].contiguous(), part[:, 1:].contiguous())[1])
            for part in windows.split(64)
        ]
    print(json.dumps({"seconds": seconds, "loss": sum(losses) / count}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if len(sys.argv) > 3:
        train(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        speed(sys.argv[1], float(sys.argv[2]))
