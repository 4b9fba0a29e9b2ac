"""How noisy the gradient of hard attention is, with each baseline and without, beside that of soft attention.

    python benchmarks/gradient_variance.py RUN --plot docs/pictures/gradient_variance.png

RUN has trained a captioner with `selection=hard`. Its weights stay as they are: for the same batches the
gradient of the attention's score is taken many times, with other samples of where to look. The variance over
those samples comes from looking at random places alone; soft attention has none. Beside it stands that of
one gradient over batches and samples together, which is what a training step has. Variances are summed over
all parameters of the score.
"""

import json
import sys
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.attention import ConstantBaseline, LearnedBaseline, MovingAverageBaseline, NoBaseline, Soft
from zoo.config import resolvers
from zoo.config.frozen import thaw
from zoo.config.instantiate import instantiate
from zoo.figures import png
from zoo.runs.checkpoint import read_checkpoint
from zoo.runs.results import machine

BASELINES: dict[str, Callable[..., Any]] = {
    "none": NoBaseline,
    "constant": lambda state_size: ConstantBaseline(state_size=state_size, value=-1.0),
    "moving average": MovingAverageBaseline,
    "learned": LearnedBaseline,
}


class Noise(NamedTuple):
    """Variances of the gradient of one step.

    Attributes:
        samples: over samples of where to look, for the same batch.
        steps: over batches and samples.
    """

    samples: float
    steps: float


def build(config: dict[str, Any], data: Any, weights: dict[str, torch.Tensor], baseline: Any) -> Any:
    """The run's task with another baseline; with None soft attention takes the place of the hard one."""
    network = instantiate(config["model"], "model")
    if baseline is None:
        attention = network.keywords["decoder"].keywords["attention"]
        network.keywords["decoder"].keywords["attention"] = {**attention, "selection": Soft}
    task = instantiate(config["task"], "task")
    parts = {**task.keywords["reinforce"], "baseline": baseline or NoBaseline}
    task = task(network=network(spec=data.spec), spec=data.spec, reinforce=parts)
    own = task.state_dict()
    trained = {key: value for key, value in weights.items() if key in own and "baseline" not in key}
    task.load_state_dict({**own, **trained})
    return task.train()


def warm_up(task: Any, batches: Iterator[Any]) -> None:
    """Lets a baseline learn what to expect; nothing else moves."""
    baseline = task.reinforce.baseline
    optimizer = torch.optim.Adam(baseline.parameters(), lr=1e-2) if baseline.learned else None
    for batch in islice(batches, 200):
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
    of_samples = float(gradients.var(1).sum(-1).mean()) if samples > 1 else 0.0
    return Noise(of_samples, float(gradients.flatten(0, 1).var(0).sum()))


def bars(figures: dict[str, Noise]) -> Figure:
    """Two bars for each row."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    for number, (kind, label) in enumerate(
        (("samples", "over samples of where to look"), ("steps", "over batches and samples"))
    ):
        places = [row + 0.4 * number for row in range(len(figures))]
        axes.barh(places, [getattr(one, kind) for one in figures.values()], 0.4, label=label)
    axes.set_yticks([row + 0.2 for row in range(len(figures))], list(figures))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("variance of the gradient of the score")
    axes.legend()
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
    _, config = thaw(run / "config.yaml")
    data = instantiate(config["data"], "data")
    data.prepare_data()
    data.setup()
    weights = read_checkpoint(run).state_dict
    given = list(islice(cycle(data.train_dataloader()), batches))
    figures: dict[str, Noise] = {}
    rows = {"soft": None, **{f"hard, {name}": baseline for name, baseline in BASELINES.items()}}
    for name, baseline in rows.items():
        torch.manual_seed(1)
        task = build(config, data, weights, baseline)
        if baseline is not None:
            warm_up(task, cycle(data.train_dataloader()))
        figures[name] = noise(task, given, 1 if baseline is None else samples)
    table = Table("attention, baseline", "variance over samples", "over batches and samples")
    for name, one in figures.items():
        table.add_row(name, f"{one.samples:.3g}", f"{one.steps:.3g}")
    Console().print(table)
    if plot:
        plot.write_bytes(png(bars(figures)))
    if output:
        measured = {name: one._asdict() for name, one in figures.items()}
        output.write_text(json.dumps({"machine": machine(), "variance": measured}, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
