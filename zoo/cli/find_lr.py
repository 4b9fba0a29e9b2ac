"""`zoo find-lr`: which learning rates a model learns at."""

import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors


def find_lr(
    overrides: Annotated[
        list[str], typer.Argument(metavar="OVERRIDE...", help="What you would type behind python train.py.")
    ],
    lowest: Annotated[float, typer.Option(help="The first step's rate.")] = 1e-6,
    highest: Annotated[float, typer.Option(help="The last step's rate.")] = 1.0,
    steps: Annotated[
        int, typer.Option(min=10, help="Steps between them; their rate rises exponentially.")
    ] = 200,
    plot: Annotated[Path | None, typer.Option(help="Draw the losses over the rates to this picture.")] = None,
) -> None:
    """Train for some steps while the learning rate rises, and propose one (Smith 2017). Nothing is kept.

    Proposed is the rate at which the loss falls fastest. Compare it on validation with others around it.
    """
    with clear_errors():
        if not 0.0 < lowest < highest < math.inf:  # before the long work
            raise ValueError(
                "--lowest must be above 0 and below --highest, and both finite;"
                f" got --lowest {lowest:g} --highest {highest:g}"
            )
        import lightning.pytorch as pl

        from zoo.config.building import build, compose
        from zoo.config.instantiate import instantiate
        from zoo.figures import rate_curve
        from zoo.runs.report import quieten_lightning
        from zoo.runtime.precision import prepare_precision
        from zoo.tasks.predictor import check_picture, draw
        from zoo.training.rate_test import rate_test

        if plot is not None:  # before the long work
            check_picture(plot)
        quieten_lightning()
        config = compose(*overrides)
        pl.seed_everything(config["seed"], workers=True, verbose=False)
        data, task = build(config)
        trainer = partial(instantiate(config["trainer"], "trainer"), precision=prepare_precision(config))
        test = rate_test(task, data, trainer, lowest=lowest, highest=highest, steps=steps)
        print(*_table(test.rates, test.losses), sep="\n")
        if test.setting is None:
            print("the loss does not fall in this range: try another, or more steps")
        else:
            print(f"the loss falls fastest at {test.steepest:.2g}: try optimizer.lr={test.setting:.2g}")
        if plot is not None:
            title = " ".join(overrides)
            draw(plot, lambda: rate_curve(test.rates, test.losses, chosen=test.steepest, title=title))
            print(f"drew {plot}", file=sys.stderr)


def _table(rates: Sequence[float], losses: Sequence[float]) -> list[str]:
    """About a dozen rates, evenly spread, and the losses there."""
    every = max(1, len(rates) // 12)
    rows = list(zip(rates, losses, strict=True))[every - 1 :: every]
    return ["rate\tloss", *(f"{rate:.2g}\t{loss:.4g}" for rate, loss in rows)]
