"""`zoo compare`: whether runs differ on the same test sentences."""

import json
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zoo.clear_errors import clear_errors

if TYPE_CHECKING:
    from zoo.metrics.significance import Difference

METRICS = ("bleu", "bleu_tok_lc", "chrf", "exact_match")
"""What can be compared: scores that follow from sums over sentences."""


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN RUN...", help="Runs, or predictions.jsonl files; the first is the baseline."
        ),
    ],
    metric: Annotated[str, typer.Option(help=f"One of {', '.join(METRICS)}.")] = "bleu",
    split: Annotated[str, typer.Option(help="The test split.")] = "test",
    samples: Annotated[int, typer.Option(min=1, help="Test sets to draw.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 12345,
    language: Annotated[
        str | None,
        typer.Option(help="Of the target text, for bleu_tok_lc; by default as the first run was scored."),
    ] = None,
) -> None:
    """Compare what runs predicted for the same test items: paired bootstrap resampling (Koehn 2004)."""
    with clear_errors():
        if metric not in METRICS:
            matches = get_close_matches(metric, METRICS, n=1)
            meant = f" (did you mean {matches[0]}?)" if matches else ""
            raise ValueError(f"cannot compare by {metric!r}{meant}; there are {', '.join(METRICS)}")
        if language and metric != "bleu_tok_lc":
            raise ValueError("--language changes bleu_tok_lc alone: leave it out, or give --metric too")
        if len(runs) < 2:
            raise ValueError(f"a comparison needs two runs or more, got {runs[0]} alone")

        from zoo.metrics import CorpusScore, text_metrics
        from zoo.metrics.significance import paired_bootstrap
        from zoo.runs.predictions import find_predictions, read_split, require_same_items

        files = [find_predictions(run) for run in runs]
        if metric == "bleu_tok_lc":
            language = language or _language(files[0])
        items = [read_split(file, split) for file in files]
        for file, others in zip(files[1:], items[1:], strict=True):
            require_same_items((files[0], items[0]), (file, others))
        predictions = [[item["prediction"] for item in system] for system in items]
        references = [item["references"] for item in items[0]]
        scorer: Any = text_metrics(language or "")[metric]
        baseline, differences = paired_bootstrap(
            scorer, references, predictions[0], predictions[1:], samples=samples, seed=seed
        )
        notes = (
            f"{len(references):,} sentences of {split}; paired bootstrap, {samples:,} samples, seed {seed}"
        )
        if isinstance(scorer, CorpusScore):
            scorer.update(predictions[0], references)  # a signature names the number of references
            notes += f"\n{scorer.signature}"
        _print(metric, [str(run) for run in runs], baseline, differences, notes)


def _language(predictions: Path) -> str:
    """The language of the target as the run beside the predictions was scored.

    Raises:
        ValueError: no results.json there says it.
    """
    try:
        results = json.loads((predictions.parent / "results.json").read_text(encoding="utf-8"))
        signature = str(results["signatures"]["bleu_tok_lc"])
    except (OSError, ValueError, KeyError, TypeError):
        signature = ""
    said = re.search(r"moses:(\w+)", signature)
    if not said:
        raise ValueError(
            f"bleu_tok_lc needs the target's language, which no results.json beside {predictions} tells: "
            "give --language, for example --language de"
        )
    return said[1]


def _print(
    metric: str, runs: list[str], baseline: float, differences: "list[Difference]", notes: str
) -> None:
    """A table, with a frame on a terminal; elsewhere a line for each run, as long as it has to be."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=10_000)
    table = Table(box=HEAVY_HEAD if console.is_terminal else None, pad_edge=console.is_terminal)
    table.add_column("run", overflow="fold")
    for name in (metric, "difference", "95 % interval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    digits = 4 if metric == "exact_match" else 2
    table.add_row(Text(runs[0]), f"{baseline:.{digits}f}", "", "", "")
    for run, found in zip(runs[1:], differences, strict=True):
        table.add_row(
            Text(run),  # brackets in a name are no markup
            f"{found.score:.{digits}f}",
            f"{found.difference:+.{digits}f}",
            f"[{found.low:+.{digits}f}, {found.high:+.{digits}f}]",
            f"{found.p:.4f}",
        )
    console.print(table)
    console.print(notes, soft_wrap=True, highlight=False, markup=False)
