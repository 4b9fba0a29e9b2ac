"""Captions that two processes score together: also where one of them has nothing that counts."""

from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from torch import distributed

from zoo.core.batch import TrueCaptions
from zoo.tasks.captioning.task import CaptionScores

N = 13
SPLITS = {
    "uneven": ([*range(0, N, 2)], [*range(1, N, 2)]),
    "one true caption": ([3], [number for number in range(N) if number != 3]),
    "no true caption": ([number for number in range(N) if number % 3], [*range(0, N, 3)]),
    "no image": ([*range(N)], []),
}
"""Which images each process has."""


def scores(images: list[int]) -> dict[str, float]:
    """Of images of which every third was described wrongly, by this process and maybe another."""
    metrics = CaptionScores().to("cpu")  # as a trainer does: it takes their types from metrics
    for number in images:
        colour = ("red", "green", "blue")[number % 5 % 3]
        truth = TrueCaptions({f"a {colour} ball": [None, None, (0.0, 0.0, 0.5, 1.0)]})
        said = f"a {colour} ball" if number % 3 else "a black box"
        maps = torch.rand(4, 2, 4, generator=torch.Generator().manual_seed(number))
        metrics.update([said], [[*truth.boxes, f"the ball is {colour}"]], [truth], [maps])
        metrics.teacher_forced.update(torch.tensor(2.0), 4)
    return {name: float(value) for name, value in metrics.finish().items()}


def together(rank: int, store: str) -> list[dict[str, float]]:
    """What one of two processes finds, for each of `SPLITS`."""
    distributed.init_process_group(
        "gloo", init_method=store, rank=rank, world_size=2, timeout=timedelta(seconds=30)
    )
    try:
        return [scores(shares[rank]) for shares in SPLITS.values()]
    finally:
        distributed.destroy_process_group()


@pytest.mark.slow
def test_all_processes_find_what_one_would(tmp_path: Path) -> None:
    alone = scores([*range(N)])
    assert {"cider_d", "bleu_4", "pointing_accuracy", "pointing_random"} <= alone.keys()
    store = (tmp_path / "store").as_uri()
    # Two others: states of other types or axes than the other process's abort a process.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(together, (0, 1), (store, store)):
            assert dict(zip(SPLITS, found, strict=True)) == dict.fromkeys(SPLITS, pytest.approx(alone))
