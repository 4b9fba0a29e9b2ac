"""Whether translations depend on the batch: the test sources in batches of several sizes.

    python benchmarks/batch_invariance.py RUN

translates the 1,000 sources of Multi30k test_2016_flickr, English, with the search of the run's test, in
batches of 1, 7 and 64 sentences of similar length and in batches of 64 in any order, and counts the sentences
whose output differs from the one found alone. It exits with 1 when there are any.
"""

import json
import random
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.text.text_files import read_lines
from zoo.inference.loading import load
from zoo.tasks.translation.predictor import Translator
from zoo.tasks.translation.task import Translation


def main(
    run: Annotated[Path, typer.Argument(help="a run's folder or a checkpoint")],
    data_dir: Annotated[Path, typer.Option(envvar="ZOO_DATA_DIR", help="where multi30k/raw lies")] = Path(
        "."
    ),
    sentences: Annotated[int, typer.Option(help="so many of them")] = 1000,
    output: Annotated[Path | None, typer.Option(help="JSON file for the counts")] = None,
) -> None:
    """Compares every way of batching with one sentence at a time."""
    lines = read_lines(data_dir / "multi30k" / "raw" / "test_2016_flickr.en.gz")
    texts = list(islice(lines, sentences))
    predictor = load(run)
    if not isinstance(predictor, Translator):
        raise SystemExit(f"{run} does not translate")
    by_length = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    shuffled = random.Random(1).sample(by_length, len(texts))
    alone = translate(predictor, texts, by_length, 1)
    table = Table("batches", "other text", "other tokens", "largest difference of a score")
    counts = {}
    for name, order, size in (
        ("of 7", by_length, 7),
        ("of 64", by_length, 64),
        ("of 64, shuffled", shuffled, 64),
    ):
        found = translate(predictor, texts, order, size)
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
    raise typer.Exit(int(any(count["other_tokens"] for count in counts.values())))


def translate(predictor: Translator, texts: list[str], order: list[int], size: int) -> list[Translation]:
    """The best translations in the order of the texts, found in batches of `size` consecutive numbers."""
    found: dict[int, Translation] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        batch = predictor.task.translate([texts[number] for number in numbers], batch_size=size)
        found |= {number: best for number, (best, *_) in zip(numbers, batch, strict=True)}
    return [found[number] for number in range(len(texts))]


if __name__ == "__main__":
    torch.set_num_threads(1)
    typer.run(main)
