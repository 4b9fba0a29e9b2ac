"""Processes that work together, as ranks of one training on this machine."""

import os
import socket
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def on_ranks(ranks: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What a function of a module returns in each of so many processes, which Lightning takes for its own.

    They are forked off a process that has imported what takes seconds, and nothing else.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["train"])
    port = free_port()
    with ProcessPoolExecutor(ranks, mp_context=context) as pool:
        started = [pool.submit(_as_rank, rank, ranks, port, work, *arguments) for rank in range(ranks)]
        return [one.result(timeout=300) for one in started]


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _as_rank(rank: int, ranks: int, port: int, work: Callable[..., Any], *arguments: Any) -> Any:
    if ranks > 1:
        os.environ |= {"LOCAL_RANK": str(rank), "NODE_RANK": "0", "WORLD_SIZE": str(ranks)}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return work(*arguments)
