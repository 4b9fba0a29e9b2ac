"""train.py with an accident: `FAULT=what@where:n python faulty_train.py ...`.

What: a signal's name (SIGKILL, SIGTERM, ...), or `raise`, `nan`, `memory`. Where: `step`, `validation`,
`test` (batches, counted over the whole run from 1), `epoch` (its end), `write` (the middle of a checkpoint's
writing) or `setup`. With `FAULT_SEED=s` only the run with that seed has it, with `FAULT_RANK=r` only that
process of several. Every start of a fit is a line in the run's fits.txt.
"""

import io
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

import train  # first: it tells the allocator before torch is loaded
from zoo.runs import checkpoint_io

WHAT, _, PLACE = os.environ.get("FAULT", "").partition("@")
WHERE, _, NUMBER = PLACE.partition(":")
SEED = os.environ.get("FAULT_SEED")
RANK = os.environ.get("FAULT_RANK")
reached: Counter[str] = Counter()
seed: list[int] = []


def strikes(where: str) -> bool:
    reached[where] += 1
    mine = SEED is None or str(seed[0]) == SEED
    mine &= RANK is None or os.environ.get("LOCAL_RANK", "0") == RANK
    return bool(WHAT) and mine and where == WHERE and reached[where] == int(NUMBER)


def strike() -> None:
    if WHAT == "raise":
        raise RuntimeError("an accident")
    if WHAT == "memory":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    os.kill(os.getpid(), getattr(signal, WHAT))


class Faulty(train.FinalValidation):
    """Added to every run."""

    def on_fit_start(self, trainer: Any, task: Any) -> None:
        with (Path(trainer.default_root_dir) / "fits.txt").open("a") as file:
            file.write(f"{os.getpid()} {trainer.global_rank}\n")
        if strikes("setup"):
            strike()

    def on_train_batch_end(self, trainer: Any, task: Any, outputs: Any, *rest: Any) -> None:
        if strikes("step"):
            if WHAT == "nan":
                next(task.parameters()).data.fill_(float("nan"))  # seen in the next step's loss
            else:
                strike()
        super().on_train_batch_end(trainer, task, outputs, *rest)

    def on_validation_batch_end(self, *_: Any) -> None:
        if strikes("validation"):
            strike()

    def on_test_batch_end(self, *_: Any) -> None:
        if strikes("test"):
            strike()

    def on_train_epoch_end(self, *_: Any) -> None:
        if strikes("epoch"):
            strike()


def save(checkpoint: Any, file: Any) -> None:
    """Writes half of it, has the accident, writes the rest."""
    whole = io.BytesIO()
    torch.save(checkpoint, whole)
    content = whole.getvalue()
    file.write(content[: len(content) // 2])
    file.flush()
    if strikes("write"):
        strike()
    file.write(content[len(content) // 2 :])


class Torch:
    """torch, but for `save`."""

    save = staticmethod(save)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


original = train.fit_and_test


def fit_and_test(config: Any, *rest: Any) -> None:
    seed[:] = [config["seed"]]
    original(config, *rest)


checkpoint_io.torch = Torch()  # type: ignore[assignment]
train.FinalValidation = Faulty  # type: ignore[misc]
train.fit_and_test = fit_and_test
train.SCRIPT = Path(__file__).resolve()

if __name__ == "__main__":
    sys.exit(train.main())
