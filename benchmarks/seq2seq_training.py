"""Training speed of the recurrent Seq2Seq beside its peers, on identical batches in one run.

Bidirectional LSTM with 256 units per direction, LSTM decoder with 512, embeddings 256, Bahdanau's score,
input feeding, dropout 0.2, label smoothing 0.1, AdamW, clipping. Data: Multi30k English to German, joint BPE
of 10,000, length buckets of 4,096 tokens. The figure is real (not padded) target tokens per second. Sides run
in turn, each in its own process; the ratio is taken round by round.

    python benchmarks/seq2seq_training.py --peer joeynmt=PYTHON --peer opennmt=PYTHON

where PYTHON is the interpreter of an environment that has that peer. Peers run as they are shipped, or, with
`--same-allocator`, with the allocator setting that `train.py` chooses for itself.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**34),
    "MALLOC_TOP_PAD_": str(2**28),
    "MALLOC_ARENA_MAX": "1",
}


def write_batches(path: Path, data_dir: Path, count: int) -> None:
    """Batches spread evenly over the lengths of one epoch."""
    sys.path.insert(0, str(HERE.parent))
    from data.multi30k import Multi30k
    from data.translation import TranslationData
    from data.vocabulary import Bpe

    with tempfile.TemporaryDirectory() as cache:
        data = TranslationData(
            corpus=Multi30k(data_dir=data_dir, source="en", target="de"),
            tokenizer=Bpe(size=10_000, joint=True),
            batch_tokens=4096,
            maximum_length=100,
            seed=1,
            cache_dir=cache,
        )
        data.prepare_data()
        data.setup()
        batches = sorted(data.train_dataloader(), key=lambda batch: batch.source.ids.shape[1])
        chosen = [batches[int((number + 0.5) * len(batches) / count)] for number in range(count)]
        rows = [
            {
                side: [ids[:length].tolist() for ids, length in zip(*getattr(batch, side), strict=True)]
                for side in ("source", "target")
            }
            for batch in chosen
        ]
        assert data.spec.target is not None
        path.write_text(json.dumps({"vocabulary": data.spec.target.size, "batches": rows}))


def run(python: str, driver: Path, batches: Path, seconds: float, keep_memory: bool) -> dict[str, float]:
    """One side's figures, from a process of its own."""
    environment = {**os.environ, **(KEEP_MEMORY if keep_memory else {})}
    command = [python, str(driver), str(batches), str(seconds)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=driver.parent)
    if finished.returncode:
        raise SystemExit(f"{driver.name} failed:\n{finished.stderr}")
    figures: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return figures


def main(
    peer: Annotated[list[str] | None, typer.Option(help="NAME=PYTHON, e.g. joeynmt=/path/to/python")] = None,
    data_dir: Annotated[Path, typer.Option(envvar="ZOO_DATA_DIR", help="where multi30k/raw lies")] = Path(
        "."
    ),
    count: Annotated[int, typer.Option("--batches", help="batches, spread evenly over the lengths")] = 3,
    rounds: Annotated[int, typer.Option(help="times each side is run")] = 3,
    seconds: Annotated[float, typer.Option(help="least time of one run")] = 20.0,
    same_allocator: Annotated[bool, typer.Option(help="peers get our allocator setting too")] = False,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Runs every side in turn and prints the ratios."""
    peers = dict(item.split("=", 1) for item in peer or [])
    ours = HERE / "peers"
    sides = {
        "attention-zoo": (sys.executable, ours / "zoo_seq2seq.py", True),
        "attention-zoo in bf16-mixed": (sys.executable, ours / "zoo_seq2seq_bf16.py", True),
    }
    for name, python in peers.items():
        sides[name] = (python, ours / f"{name}_seq2seq.py", same_allocator)
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as folder:
        batches = Path(folder, "batches.json")
        write_batches(batches, data_dir, count)
        for number in range(rounds):
            for name, (python, driver, keep_memory) in sides.items():
                figures[name].append(run(python, driver, batches, seconds, keep_memory))
                rate = figures[name][-1]["tokens_per_second"]
                print(f"round {number + 1}: {name} {rate:,.0f} tokens/s", flush=True)
    table = Table("side", "parameters", "tokens/s (median)", "attention-zoo / side, round by round")
    summary = {}
    for name, runs in figures.items():
        rates = [run["tokens_per_second"] for run in runs]
        ratios = [
            ours["tokens_per_second"] / rate
            for ours, rate in zip(figures["attention-zoo"], rates, strict=True)
        ]
        summary[name] = {
            "tokens_per_second": rates,
            "ratio": ratios,
            "parameters": runs[0]["parameters"],
            "allocator": "kept memory" if sides[name][2] else "default",
        }
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        table.add_row(name, f"{runs[0]['parameters']:,}", f"{statistics.median(rates):,.0f}", spread)
    Console().print(table)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
