"""The variance of hard attention's gradient for each reward and baseline, beside that of soft attention.

    python benchmarks/gradient_variance.py RUN --plot docs/pictures/gradient_variance.png

RUN has trained a captioner with `selection=hard`. Its weights are fixed: for the same batches the gradient of
the attention's score is computed many times, with other samples of the attended places and without dropout.
So this variance comes from sampling alone; soft attention has none. All estimators get the same samples.
Beside it stands the variance over batches and samples together, which is that of a training step. Variances
are summed over all parameters of the score. The weight of REINFORCE beside the cross-entropy is 1.
"""

import json
import sys
from collections.abc import Callable, Iterator
from itertools import cycle, islice, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.attention import (
    ConstantBaseline,
    LearnedBaseline,
    MovingAverageBaseline,
    NoBaseline,
    Soft,
    SoftReadingBaseline,
)
from zoo.config import resolvers
from zoo.config.instantiate import instantiate
from zoo.figures import png
from zoo.kernels import Dropout
from zoo.runs.frozen import thaw
from zoo.runs.results import machine
from zoo.training.checkpoint import read_checkpoint

REWARDS = {"its own word": 0.0, "words from there on": 1.0, "the whole caption": None}
"""What a reading is rewarded with, and the `discount` that says so."""

BASELINES: dict[str, Callable[..., Any]] = {
    "none": NoBaseline,
    "constant": lambda state_size: ConstantBaseline(state_size=state_size, value=-1.0),
    "moving average": MovingAverageBaseline,
    "learned": LearnedBaseline,
    "a soft reading": SoftReadingBaseline,
}


class Noise(NamedTuple):
    """Variances of the gradient of one step.

    Attributes:
        samples: over samples of the attended places for the same batch; mean over batches.
        typical: the same, median over batches, since rarely sampled places may dominate a mean.
        steps: over batches and samples.
    """

    samples: float
    typical: float
    steps: float


def build(
    config: dict[str, Any],
    data: Any,
    weights: dict[str, torch.Tensor],
    baseline: Any = None,
    discount: float | None = None,
) -> Any:
    """The run's task with another estimator, or without a baseline with soft attention."""
    network = instantiate(config["model"], "model")
    if baseline is None:
        attention = network.keywords["decoder"].keywords["attention"]
        network.keywords["decoder"].keywords["attention"] = {**attention, "selection": Soft}
    task = instantiate(config["task"], "task")
    estimator = {"baseline": baseline or NoBaseline, "discount": discount, "weight": 1.0}
    parts = {**task.keywords["reinforce"], **estimator}
    task = task(network=network(spec=data.spec), spec=data.spec, reinforce=parts)
    own = task.state_dict()
    trained = {key: value for key, value in weights.items() if key in own and "baseline" not in key}
    task.load_state_dict({**own, **trained})
    task.train()
    for part in task.modules():
        if isinstance(part, nn.Dropout | Dropout):
            part.eval()
    return task


def warm_up(task: Any, batches: Iterator[Any]) -> None:
    """Trains a baseline, and nothing else."""
    baseline = task.reinforce.baseline
    if not baseline.state_dict():  # it has nothing to learn
        return
    optimizer = torch.optim.Adam(baseline.parameters(), lr=1e-2) if baseline.learned else None
    for batch in islice(batches, 200):
        with torch.set_grad_enabled(baseline.learned):
            loss, terms = task.loss_of(batch)
        baseline.update(terms["reward"])
        if optimizer is not None:
            task.zero_grad()
            loss.backward()
            optimizer.step()


def noise(task: Any, batches: list[Any], samples: int) -> Noise:
    """Measures the gradient of the attention's score."""
    parameters = list(task.network.decoder.attention.score.parameters())
    rows = []
    for batch in batches:
        for _ in range(samples):
            loss, _ = task.loss_of(batch)  # not a step of training, where each item has its own samples
            gradient = torch.autograd.grad(loss, parameters)
            rows.append(torch.cat([part.flatten() for part in gradient]).double())
    gradients = torch.stack(rows).unflatten(0, (len(batches), samples))
    of_steps = float(gradients.flatten(0, 1).var(0).sum())
    if samples == 1:
        return Noise(0.0, 0.0, of_steps)
    of_samples = gradients.var(1).sum(-1)
    return Noise(float(of_samples.mean()), float(of_samples.median()), of_steps)


def bars(figures: dict[str, Noise]) -> Figure:
    """Three bars for each row."""
    figure = Figure(figsize=(8.4, 1.2 + 0.42 * len(figures)), layout="constrained")
    axes = figure.subplots()
    for number, (kind, label) in enumerate(
        (
            ("samples", "over samples of where to look, mean of batches"),
            ("typical", "the same, median of batches"),
            ("steps", "over batches and samples"),
        )
    ):
        places = [row + 0.27 * number for row in range(len(figures))]
        axes.barh(places, [getattr(one, kind) for one in figures.values()], 0.27, label=label)
    axes.set_yticks([row + 0.27 for row in range(len(figures))], list(figures))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(left=min(value for one in figures.values() for value in one if value) / 3)  # the least, too
    axes.margins(y=0.01)
    axes.set_xlabel("variance of the gradient of the score")
    figure.legend(loc="outside upper center", ncols=3, fontsize="small")
    return figure


def main(
    run: Path,
    batches: Annotated[int, typer.Option(help="on which gradients are taken")] = 16,
    samples: Annotated[int, typer.Option(help="gradients for each batch")] = 16,
    plot: Annotated[Path | None, typer.Option(help="PNG file of the bars")] = None,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures every estimator on the same batches."""
    resolvers.register()
    config = thaw(run / "config.yaml")
    data = instantiate(config["data"], "data")
    data.prepare_data()
    data.setup()
    weights = read_checkpoint(run).state_dict
    given = list(islice(cycle(data.train_dataloader()), batches))
    figures: dict[str, Noise] = {}
    figures["soft"] = noise(build(config, data, weights), given, 1)
    for (rewarded, discount), (name, baseline) in product(REWARDS.items(), BASELINES.items()):
        torch.manual_seed(1)
        task = build(config, data, weights, baseline, discount)
        warm_up(task, cycle(data.train_dataloader()))
        torch.manual_seed(2)  # every estimator sees the same samples
        figures[f"hard, {rewarded}; baseline: {name}"] = noise(task, given, samples)
    table = Table("reward and baseline", "over samples", "median of batches", "over batches and samples")
    for name, one in figures.items():
        table.add_row(name, *(f"{variance:.3g}" for variance in one))
    Console().print(table)
    if plot:
        plot.write_bytes(png(bars(figures)))
    if output:
        measured = {name: one._asdict() for name, one in figures.items()}
        output.write_text(json.dumps({"machine": machine(), "variance": measured}, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
