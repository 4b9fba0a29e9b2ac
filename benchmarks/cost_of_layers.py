"""Table 1 of Vaswani et al. 2017, measured: what four kinds of layers cost.

    python benchmarks/cost_of_layers.py                  # some minutes on one thread
    python benchmarks/cost_of_layers.py --device cuda    # the same on a GPU

Self-attention (by plain products, and by torch's fused kernel), restricted self-attention, a recurrent layer
and a convolution, each as in `model=transformer_layers`, in float32, one sequence at a time, one head:

- time, memory and operations of a forward and backward pass against the number of positions n and of features
  d. Memory is what the forward pass keeps for the backward pass, without parameters; on a GPU the peak is
  kept as well. Operations are those of products, as torch counts them.
- operations in sequence: the longest chain of the graph of derivatives.
- the path between positions: how many layers the last position needs to depend on the first.

`python -m zoo.reports.publish` writes exponents, crossing points and the picture into docs/cost.md from the
file in results/.
"""

# ruff: noqa: E402 - the project is found first, and torch imported after the allocator was told
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.runtime.memory_allocator import keep_freed_memory

keep_freed_memory()

import torch
import typer
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn
from torch.autograd.graph import Node, saved_tensors_hooks

from zoo.attention import ScaledDot, Soft
from zoo.networks.recurrent import GRU
from zoo.networks.sequence_layers import AttentionLayer, BidirectionalLayer, ConvolutionalLayer, SequenceLayer
from zoo.networks.transformer import Settings
from zoo.reports.layer_costs import NAMES, cost_tables
from zoo.runs.results import machine
from zoo.runtime.flops import flop_counter

WIDTH, WINDOW = 3, 16
"""Positions that a filter sees, and that restricted attention reads to either side."""
LAYERS: dict[str, Callable[..., SequenceLayer]] = {
    "self_attention": AttentionLayer,
    "self_attention_fused": AttentionLayer,
    "restricted": partial(AttentionLayer, window=WINDOW),
    "recurrent": partial(BidirectionalLayer, recurrent=GRU),
    "convolutional": partial(ConvolutionalLayer, width=WIDTH),
}
DILATED = partial(ConvolutionalLayer, width=WIDTH, growth=WIDTH)
FEATURES, LENGTHS = 64, tuple(2**power for power in range(6, 15))
"""d, and each n, of the first measurement."""
LENGTH, SIZES = 1024, (32, 64, 128, 256, 512)
"""n, and each d, of the second."""
WIDE_LENGTH, WIDE_SIZES = 256, (512, 768, 1024, 1536, 2048)
"""The same for layers whose operations grow with d²: below, a step's overhead outweighs its product."""
WIDE = ("recurrent", "convolutional")
APART = (14, 41, 122)
"""Positions between whose ends paths are sought: a dilated stack of 3, 4 and 5 layers spans them exactly."""
SHORT = (16, 64, 256, 1024, 4096)
"""Each n in which crossing points are sought, for each of `SIZES`."""


MOST = 8e9
"""Bytes; what needs more is left out."""


def fits(name: str, length: int) -> bool:
    """Whether there is memory for a pass."""
    return name != "self_attention" or 6 * 4 * length**2 <= MOST  # six tensors of weights at the peak


def layer(name: str, features: int, number: int = 0) -> SequenceLayer:
    """An untrained layer."""
    torch.manual_seed(1)
    settings = Settings(
        model_size=features,
        feed_forward_size=features,
        heads=1,
        score=ScaledDot,
        selection=Soft,
        head_key_size=None,
        head_value_size=None,
        rotary=None,
        window=None,
        activation=nn.ReLU,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        pre_norm=False,
    )
    made = DILATED if name == "dilated" else LAYERS[name]
    return made(settings=settings, number=number)


class Pass:
    """One forward and backward pass over a sequence.

    Args:
        name: of the layer.
        length: n.
        features: d.
        device: where.
    """

    def __init__(self, name: str, length: int, features: int, device: torch.device) -> None:
        self.layer, self.device = layer(name, features).to(device), device
        self.inputs = torch.randn(1, length, features, device=device, requires_grad=True)
        # Asking for the weights avoids fused kernels.
        self.forward = partial(self.layer, self.inputs, weights=name == "self_attention")

    def __call__(self) -> None:
        """Computes the gradients of the inputs and of all parameters."""
        self.layer.zero_grad()
        self.inputs.grad = None
        self.forward().context.sum().backward()

    def seconds(self, at_least: float) -> float:
        """The least of three passes, or of more that take `at_least` seconds together.

        On a CPU it is processor time, of the one thread, which other work on the machine disturbs less.
        """
        clock = time.perf_counter if self.device.type == "cuda" else time.process_time
        self()
        times: list[float] = []
        while sum(times) < at_least or len(times) < 3:
            self._wait()
            start = clock()
            self()
            self._wait()
            times.append(clock() - start)
        return min(times)

    def kept(self) -> int:
        """Bytes that the forward pass keeps for the backward pass, without parameters and inputs."""
        known = {part.untyped_storage().data_ptr() for part in (*self.layer.parameters(), self.inputs)}
        found: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in known:
                found[storage.data_ptr()] = storage.nbytes()
            return tensor

        with saved_tensors_hooks(keep, lambda tensor: tensor):
            held = self.forward().context
        del held
        return sum(found.values())

    def peak(self) -> int | None:
        """Most bytes of a pass beside parameters and inputs; None where nothing counts them."""
        if self.device.type != "cuda":
            return None
        self()
        self._wait()
        before = torch.cuda.memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        self()
        return torch.cuda.max_memory_allocated(self.device) - before

    def depth(self) -> int:
        """Nodes in the longest chain of the graph of derivatives."""
        depths: dict[Node, int] = {}
        root = self.forward().context.grad_fn
        waiting = [root]
        while waiting:
            node = waiting[-1]
            before = [each for each, _ in node.next_functions if each is not None]
            unknown = [each for each in before if each not in depths]
            if unknown:
                waiting += unknown
            else:
                depths[node] = 1 + max((depths[each] for each in before), default=0)
                waiting.pop()
        return depths[root]

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def operations(name: str, length: int, features: int, device: torch.device) -> int:
    """Multiplications and additions of all products in a pass."""
    # Each step of a recurrent layer has the same. The fused kernel counts as plain products: it does the
    # same ones, and some of them again in the backward pass.
    counted = 32 if name == "recurrent" else length
    one = Pass("self_attention" if name == "self_attention_fused" else name, counted, features, device)
    with flop_counter() as counter:
        one()
    return int(counter.get_total_flops()) * length // counted


def layers_needed(name: str, length: int) -> int:
    """How many layers the last position needs to depend on the first."""
    inputs = torch.rand(1, length, 8, dtype=torch.float64, requires_grad=True)
    hidden, number = inputs, 0
    while True:
        each = layer(name, 8, number).double()
        for parameter in each.parameters():
            parameter.data.abs_()  # nothing cancels, and no unit is dead
        hidden, number = each(hidden, weights=False).context, number + 1
        (gradient,) = torch.autograd.grad(hidden[0, -1].sum(), inputs, retain_graph=True)
        if gradient[0, 0].any():
            return number


def measured(name: str, length: int, features: int, device: torch.device, seconds: float) -> dict[str, Any]:
    """What a pass over `length` positions of `features` costs."""
    one = Pass(name, length, features, device)
    return {
        "length": length,
        "features": features,
        "seconds": one.seconds(seconds),
        "kept_bytes": one.kept(),
        "peak_bytes": one.peak(),
        "operations": operations(name, length, features, device) if fits("self_attention", length) else None,
    }


def timed(name: str, length: int, features: int, device: torch.device, seconds: float) -> dict[str, Any]:
    """The time of such a pass."""
    one = Pass(name, length, features, device)
    return {"length": length, "features": features, "seconds": one.seconds(seconds)}


def refuse(device: str, seconds: float, rounds: int, longest: int, output: Path | None) -> None:
    """What would stop the measurement, or lose it at its end, stops it before it begins."""
    if not 0 <= seconds <= 60:
        raise typer.BadParameter(f"must be from 0 to 60, got {seconds:g}", param_hint="--seconds")
    for name, given, least in (("rounds", rounds, 1), ("longest", longest, LENGTHS[0])):
        if given < least:
            raise typer.BadParameter(f"must be at least {least}, got {given}", param_hint=f"--{name}")
    if device not in ("cpu", "cuda"):
        raise typer.BadParameter(f"must be cpu or cuda, got {device}", param_hint="--device")
    if device == "cuda" and not torch.cuda.is_available():
        raise typer.BadParameter("torch finds no GPU on this machine; take cpu", param_hint="--device")
    if output and (output.is_dir() or not os.access(output.parent, os.W_OK)):
        raise typer.BadParameter(f"no file can be written at {output}", param_hint="--output")


def main(
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    seconds: Annotated[float, typer.Option(help="to measure each point at least")] = 0.5,
    rounds: Annotated[int, typer.Option(help="times that a series is timed; the least time counts")] = 3,
    longest: Annotated[int, typer.Option(help="points of more positions are left out")] = LENGTHS[-1],
    output: Annotated[
        Path | None, typer.Option(help="JSON file; results/benchmarks/cost_of_layers.json is published")
    ] = None,
) -> None:
    """Measures, and prints exponents and crossing points."""
    refuse(device, seconds, rounds, longest, output)
    torch.set_num_threads(1)
    where, began, load = torch.device(device), time.time(), os.getloadavg()[0]

    def series(
        measure: Callable[..., dict[str, Any]],
        lengths: Sequence[int],
        sizes: Sequence[int],
        least: float,
        names: Iterable[str] = LAYERS,
    ) -> dict[str, list[dict[str, Any]]]:
        points = [(length, size) for size in sizes for length in lengths]
        costs = {
            name: [
                measure(name, length, size, where, least)
                for length, size in track(points, NAMES[name], console=Console(stderr=True))
                if length <= longest and fits(name, length)
            ]
            for name in names
        }
        for _ in range(rounds - 1):
            for name, of_layer in costs.items():
                for cost in track(of_layer, f"{NAMES[name]}, again", console=Console(stderr=True)):
                    again = timed(name, cost["length"], cost["features"], where, least)
                    cost["seconds"] = min(cost["seconds"], again["seconds"])
        return costs

    figures: dict[str, Any] = {
        "benchmark": "benchmarks/cost_of_layers.py",
        "device": device,
        "width": WIDTH,
        "window": WINDOW,
        "over_length": series(measured, LENGTHS, (FEATURES,), seconds),
        "over_features": {
            **series(
                measured,
                (min(LENGTH, longest),),
                SIZES,
                seconds,
                [name for name in LAYERS if name not in WIDE],
            ),
            **series(measured, (min(WIDE_LENGTH, longest),), WIDE_SIZES, seconds, WIDE),
        },
        "crossing": series(timed, SHORT, SIZES, seconds / 10),
        "depth": {
            name: {str(length): Pass(name, length, 8, where).depth() for length in (64, 128)}
            for name in LAYERS
        },
        "layers_needed": {
            name: {str(length): layers_needed(name, length) for length in APART}
            for name in (*LAYERS, "dilated")
        },
        "machine": machine(),
        "load_average": load,
        "minutes": (time.time() - began) / 60,
    }
    if output:
        output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    Console().print(cost_tables(figures))


if __name__ == "__main__":
    typer.run(main)
