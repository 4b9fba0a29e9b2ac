"""Does a translation depend on what it shared a batch with? The test sources in batches of several sizes.

    python benchmarks/batch_invariance.py RUN

translates the 1,000 sources of Multi30k test_2016_flickr, English, with the search that the run was tested
with, in batches of 1, 7 and 64 sentences of like length and in batches of 64 of any order, and counts the
sentences whose output differs from the one found alone. It exits with 1 when there are any.
"""

import json
import random
import sys
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.text_files import read_lines
from zoo.predictor import Predictor, load
from zoo.tasks.translation import Translation


def main(
    run: Annotated[Path, typer.Argument(help="a run's folder or a checkpoint")],
    data_dir: Annotated[Path, typer.Option(envvar="ZOO_DATA_DIR", help="where multi30k/raw lies")] = Path(
        "."
    ),
    sentences: Annotated[int, typer.Option(help="so many of them")] = 1000,
    output: Annotated[Path | None, typer.Option(help="JSON file for the counts")] = None,
) -> None:
    """Compares every way of batching with one sentence at a time."""
    texts = read_lines(data_dir / "multi30k" / "raw" / "test_2016_flickr.en.gz")[:sentences]
    predictor = load(run)
    alone = translate(predictor, texts, 1)
    order = random.Random(1).sample(range(len(texts)), len(texts))
    table = Table("batches", "other text", "other tokens", "largest difference of a score")
    counts = {}
    for name, size, numbers in (
        ("of 7", 7, None),
        ("of 64", 64, None),
        ("of 64, shuffled", 64, order),
    ):
        found = translate(predictor, texts, size, numbers)
        pairs = list(zip(alone, found, strict=True))
        counts[name] = {
            "other_text": sum(one.text != other.text for one, other in pairs),
            "other_tokens": sum(one.tokens != other.tokens for one, other in pairs),
            "score_difference": max(abs(one.score - other.score) for one, other in pairs),
        }
        table.add_row(name, *(f"{value:.2g}" for value in counts[name].values()))
    Console().print(table)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps({"sentences": len(texts), **counts}, indent=2) + "\n")
    raise typer.Exit(any(count["other_tokens"] for count in counts.values()))
