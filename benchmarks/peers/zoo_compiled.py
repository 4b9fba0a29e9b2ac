"""A training step of one of the zoo's models, compiled or not: items per second, and what compiling took.

python zoo_compiled.py MODEL SECONDS SIZE PRECISION HOW DEVICE

MODEL is transformer (of SIZE a or b), seq2seq, captioner or ram; PRECISION fp32 or bf16; HOW compiled
or plain.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # what another process compiled does not count

import torch
import zoo_captions
import zoo_seq2seq
import zoo_transformer
from captions import VOCABULARY
from common import BOS, EOS, peak_memory
from torch import Tensor, nn
from torch.nn import functional

from zoo.attention import LearnedPolicy
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.networks.ram import RecurrentAttentionModel
from zoo.networks.recurrent import Rectified
from zoo.runtime.compiling import compilations, compile_in_place

Loss = Callable[..., Tensor]
LENGTHS = (12, 20, 32)
"""Of the sentences in a batch, which has 4,096 tokens of each side."""


def sentences(length: int) -> tuple[Tensor, ...]:
    """A batch of sentences and of their translations, a little longer."""
    rows = 4096 // length
    source, target = torch.randint(4, 10_000, (rows, length)), torch.randint(4, 10_000, (rows, length + 2))
    source[:, -1] = target[:, -1] = EOS
    target[:, 0] = BOS
    return source, torch.full((rows,), length), target, torch.full((rows,), length + 2)


def captions(words: int) -> tuple[Tensor, ...]:
    """32 stored grids of 7 x 7 x 512, and a caption of each."""
    text = torch.randint(4, VOCABULARY, (32, words + 2))
    text[:, 0], text[:, -1] = BOS, EOS
    return torch.randn(32, 512, 7, 7), text


def agent() -> tuple[nn.Module, Loss]:
    """The network of `experiment=ram_mnist_6`, and a loss that needs all that the task's needs."""
    classes = tuple("0123456789")
    network = RecurrentAttentionModel(
        spec=DataSpec("benchmark", {"image": ImageSpec(1, 28, 28), "label": LabelSpec(classes)}),
        policy=partial(LearnedPolicy, std=0.2),
        recurrent=Rectified,
        glimpses=6,
        glimpse_size=8,
        scales=1,
        glimpse_hidden_size=128,
        hidden_size=256,
    )

    def loss(images: Tensor, labels: Tensor) -> Tensor:
        recognised = network.recognise(images, sample=True)
        logits = recognised.logits[:, 0].float()
        right = (logits.argmax(-1) == labels).float() - 0.5
        log_prob = torch.stack([glimpsed.look.log_prob[:, 0] for glimpsed in recognised.glimpses]).sum(0)
        return functional.cross_entropy(logits, labels) - (log_prob * right).mean()

    return network, loss


def made(model: str) -> tuple[nn.Module, Loss, list[tuple[Tensor, ...]]]:
    """Network, loss and batches."""
    if model == "captioner":
        return *zoo_captions.build((7, 512)), [captions(words) for words in (10, 12, 14)]
    if model == "ram":
        batches = [(torch.rand(128, 1, 28, 28), torch.randint(10, (128,))) for _ in LENGTHS]
        return *agent(), batches
    build = {"transformer": zoo_transformer.build, "seq2seq": zoo_seq2seq.build}[model]
    return *build(10_000), [sentences(length) for length in LENGTHS]


def main(model: str, seconds: str, _: str, precision: str, how: str, device: str) -> None:
    """Prints the driver's one line."""
    torch.set_num_threads(2)
    torch.set_default_device(None if device == "cpu" else device)
    torch.manual_seed(1)
    network, loss, batches = made(model)
    network.train()
    if how == "compiled":
        compile_in_place(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def once() -> float:
        """The seconds of a step with each batch."""
        start = time.perf_counter()
        for batch in batches:
            with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
                total = loss(*batch)
            total.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    first = once()
    times: list[float] = []
    end = time.perf_counter() + float(seconds)
    while time.perf_counter() < end or len(times) < 3:
        times.append(once())
    done = compilations() if how == "compiled" else []
    figures = {
        "items_per_second": sum(len(batch[0]) for batch in batches) / statistics.median(times),
        "first_seconds": first,
        "compiled": len(done),
        "compiled_again": sum(one.changed is not None for one in done),
        "refused": sum(one.refused for one in done),
        "peak_memory_mib": torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else peak_memory(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
