"""What every side of a decoding benchmark shares: the batches, the loop, the clock. Needs torch alone.

A driver is started as `python <driver>.py SENTENCES.json OPTIONS` and prints one JSON line. OPTIONS is a JSON
object: `batch_size`; `processes` that share the batches, with so many `threads` each; `mixed`, for bfloat16
autocast; `int8`, for linear maps in eight bits where a side has them; `every`, to take each so many-th
sentence; `seconds`, the least time of measuring; `profile`, to print where one process spends it instead.
"""

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from common import pad, peak_memory

BEAM, LENGTH = 5, 20

Batch = tuple[torch.Tensor, torch.Tensor]
"""Ids `(B, K)` and lengths `(B,)`."""
Search = Callable[[torch.Tensor, torch.Tensor], int]
"""A batch's ids and lengths to the number of tokens in each translation."""
Build = Callable[[int], tuple[torch.nn.Module, Search]]
"""From the vocabulary's size to a model and its search for the best hypothesis of exactly `LENGTH` tokens."""

_search: Search  # of this process


def measure(build: Build) -> None:
    """Times the translation of all sentences, again and again, and prints the median sentences per second."""
    content, options = json.loads(Path(sys.argv[1]).read_text()), json.loads(sys.argv[2])
    sentences = sorted(content["sentences"], key=len, reverse=True)[:: options["every"]]
    size = options["batch_size"]
    batches = [pad(sentences[start : start + size]) for start in range(0, len(sentences), size)]
    prepared = (build, content["vocabulary"], options["threads"], options["mixed"])
    if options["processes"] == 1:
        _prepare(*prepared)
        if options.get("profile"):
            _profile(batches)
            return
        measured = rates(lambda part: [*map(_translate, part)], batches, _sentences, options["seconds"])
        memory = {"peak_memory_mib": peak_memory()}
    else:
        # Not forked: OpenMP's threads do not survive that.
        with multiprocessing.get_context("spawn").Pool(options["processes"], _prepare, prepared) as pool:
            measured = rates(
                lambda part: pool.map(_translate, part, chunksize=1), batches, _sentences, options["seconds"]
            )
            pool.close()
            pool.join()  # what they used is known only once they have ended
        memory = {}
    print_median(measured, memory)


def print_median(measured: list[float], memory: dict[str, float]) -> None:
    """Prints a driver's one line.

    Args:
        measured: by `rates`.
        memory: the most that the process held, where it is known.
    """
    figures = {"sentences_per_second": statistics.median(measured), "repeats": len(measured)}
    print(json.dumps(figures | memory))


def rates(
    translate: Callable[[list[Any]], Any], parts: list[Any], count: Callable[[list[Any]], int], seconds: float
) -> list[float]:
    """Sentences per second of each repeat, after a first that is not timed over a quarter of them.

    Args:
        translate: does some of the work.
        parts: all of it, batches or sentences.
        count: how many sentences those are.
        seconds: least time of all repeats.
    """
    translate(parts[::4])
    measured: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not measured:
        start = time.perf_counter()
        translate(parts)
        measured.append(count(parts) / (time.perf_counter() - start))
    return measured


def _profile(batches: list[Batch]) -> None:
    """Prints what torch's operations take of the translation of all batches."""
    _translate(batches[0])
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for batch in batches:
            _translate(batch)
    print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=25, max_name_column_width=40))


def _sentences(batches: list[Batch]) -> int:
    return sum(len(lengths) for _, lengths in batches)


def _prepare(build: Build, vocabulary: int, threads: int, mixed: bool) -> None:
    global _search
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model, search = build(vocabulary)
    model.eval()

    def translate(source: torch.Tensor, lengths: torch.Tensor) -> int:
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            return search(source, lengths)

    _search = translate


def _translate(batch: Batch) -> None:
    length = _search(*batch)
    assert length == LENGTH, f"{length} tokens, not {LENGTH}"
