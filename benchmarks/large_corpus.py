"""Memory and time of 1,000,000 sentence pairs: `python benchmarks/large_corpus.py`.

Writes a corpus of two text files, then measures three new processes: the preparation (reading, vocabulary,
ids), the first batch of a later start, and some steps of training. Memory is the peak of the resident set,
and of its part that is no mapped file, which is what a machine must have.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from zoo.runs.results import machine

PROJECT = Path(__file__).resolve().parents[1]
RESULT = PROJECT / "results" / "benchmarks" / "large_corpus.json"
WORDS = 50_000
CHUNK = 10_000
MEGABYTE = 2**20
START = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from data.text.parallel import ParallelData
from data.text.vocabulary import Bpe
folder = Path(sys.argv[2])
data = ParallelData(
    train=[str(folder / "train.en"), str(folder / "train.de")], tokenizer=Bpe(size=8000, joint=True),
    batch_tokens=4096, maximum_length=100, seed=1, cache_dir=folder / "cache",
)
data.prepare_data()
"""
FIRST_BATCH = "data.setup()\nnext(iter(data.train_dataloader()))\n"


def generate(folder: Path, pairs: int) -> int:
    """Writes train.en and train.de, words by Zipf's law, 5 to 35 in a sentence; returns their bytes."""
    generator = np.random.default_rng(1582)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(generator.choice(letters, generator.integers(2, 11))) for _ in range(WORDS)]
    weights = 1 / np.arange(1, WORDS + 1)
    bounds = np.cumsum(weights / weights.sum())
    with (folder / "train.en").open("w") as source, (folder / "train.de").open("w") as target:
        for start in range(0, pairs, CHUNK):
            lengths = generator.integers(5, 36, size=min(CHUNK, pairs - start))
            drawn = np.minimum(np.searchsorted(bounds, generator.random(int(lengths.sum()))), WORDS - 1)
            for numbers in np.split(drawn, np.cumsum(lengths)[:-1]):
                source.write(" ".join(words[number] for number in numbers) + ".\n")
                target.write(" ".join(words[-number] for number in numbers[::-1]) + ".\n")
    return sum((folder / name).stat().st_size for name in ("train.en", "train.de"))


def measured(command: list[str]) -> dict[str, float]:
    """Seconds and peak memory of a new process; SystemExit if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL)
    anonymous = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        anonymous = max(anonymous, _anonymous(process.pid))
        time.sleep(0.02)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "peak_rss_mb": round(usage.ru_maxrss * 1024 / MEGABYTE),
        "peak_anonymous_mb": round(anonymous / MEGABYTE),
    }


def _anonymous(pid: int) -> int:
    """Bytes of a process's memory that are no mapped file."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(found[0]) * 1024 if found else 0


def main(
    pairs: Annotated[int, typer.Option(help="sentence pairs")] = 1_000_000,
    steps: Annotated[int, typer.Option(help="training steps")] = 20,
    busy: Annotated[bool, typer.Option(help="others use the machine: seconds say little")] = False,
) -> None:
    """Measures, prints, and writes results/benchmarks/large_corpus.json."""
    python = [sys.executable]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = generate(folder, pairs)
        start = [str(PROJECT), name]
        train = f"data.train=[{folder}/train.en,{folder}/train.de]"
        folders = [f"paths.cache_dir={folder}/cache", f"paths.runs_dir={folder}/runs"]
        options = ["trainer=cpu", f"trainer.max_steps={steps}", "trainer.limit_val_batches=1", "test=false"]
        model = ["model.embedding_size=128", "model.hidden_size=128", "logger=csv"]
        answer: dict[str, Any] = {
            "benchmark": "benchmarks/large_corpus.py",
            "pairs": pairs,
            "text_mb": round(size / MEGABYTE),
            "imports_alone": measured([*python, "-c", START.partition("folder =")[0], *start]),
            "preparation": measured([*python, "-c", START, *start]),
            "first_batch_of_a_later_start": measured([*python, "-c", START + FIRST_BATCH, *start]),
            f"training_{steps}_steps": measured(
                [*python, "train.py", "data=parallel", train, *folders, *options, *model]
            ),
            "machine": machine(),
            "machine_busy": busy,
        }
    print(json.dumps(answer, indent=2))
    if pairs == 1_000_000:
        RESULT.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
