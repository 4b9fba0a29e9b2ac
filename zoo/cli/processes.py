"""Shares the inputs of `zoo predict` among processes that have a copy of each model."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any

from zoo.cli.ask import ask
from zoo.cli.load import Load, loader

Share = Callable[[Any, Sequence[Any], int, Callable[[int], object], Mapping[str, Any]], list[list[Any]]]
"""Asks a predictor, as `ask` does."""

_load: Load  # of this process


@contextmanager
def sharing(count: int, *, device: str | None, precision: str) -> Iterator[Share]:
    """A context in which so many processes answer; each has its part of this one's threads.

    Args:
        count: of processes.
        device: as of `zoo.load`.
        precision: likewise.
    """
    import torch

    threads = max(1, torch.get_num_threads() // count)
    # Not forked: threads do not survive that.
    pool = ProcessPoolExecutor(count, get_context("spawn"), _prepare, (device, precision, threads))

    def answers(
        predictor: Any,
        inputs: Sequence[Any],
        nbest: int,
        progress: Callable[[int], object],
        options: Mapping[str, Any],
    ) -> list[list[Any]]:
        if predictor.task.device.type != "cpu":
            raise ValueError(
                f"--processes share the cores of a CPU, and the model is on {predictor.task.device}"
            )
        run = str(predictor.checkpoint.path)
        # Long and short ones are dealt out evenly.
        order = sorted(range(len(inputs)), key=lambda place: len(str(inputs[place])))
        shares = [order[first::count] for first in range(min(count, len(order)))]
        asked: dict[Future[list[list[Any]]], list[int]] = {
            pool.submit(_answer, run, [inputs[place] for place in share], nbest, options): share
            for share in shares
        }
        found: list[list[Any]] = [[] for _ in inputs]
        try:
            for done in as_completed(asked):
                for place, answer in zip(asked[done], done.result(), strict=True):
                    found[place] = answer
                progress(len(asked[done]))
        except BrokenProcessPool as error:
            raise ValueError(
                f"one of {count} processes ended before it had answered, perhaps for want of memory: each has"
                " its own copy of the model, so try fewer --processes"
            ) from error
        return found

    others = active_children()
    try:
        yield answers
    except BaseException:  # what is half done is not needed any more
        for process in set(active_children()).difference(others):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _prepare(device: str | None, precision: str, threads: int) -> None:
    global _load
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    torch.set_num_threads(threads)
    _load = loader(device=device, precision=precision)


def _answer(run: str, inputs: Sequence[Any], nbest: int, options: Mapping[str, Any]) -> list[list[Any]]:
    return ask(_load(run), inputs, nbest, options=options)
