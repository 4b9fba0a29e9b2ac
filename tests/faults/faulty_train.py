"""train.py with an accident: `FAULT=what@where:n python faulty_train.py ...`.

What: a signal's name (SIGKILL, SIGTERM, ...), or `raise`, `nan`, `memory`. Where, counted over the whole
run from 1: `setup`, `batch` (the beginning of a step), `step`, `validation` or `test` (the ends of their
batches), `begin` and `end` (of a validation), `epoch` (its end), `write` (the middle of a checkpoint's
writing) or `named` (all of it is written, but not yet under its name). With `FAULT_SEED=s` only the run with
that seed has it, with `FAULT_RANK=r` only that process of several; what torchrun has started again has none.
Every start of a fit is a line in fits.txt; a run that ends by itself lists all its places in places.txt.
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
from zoo.training import checkpoint_io

AGAIN = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
SEED = os.environ.get("FAULT_SEED")
RANK = os.environ.get("FAULT_RANK")
fault = "" if AGAIN else os.environ.get("FAULT", "")
reached: Counter[str] = Counter()
places: list[str] = []
seed: list[int] = []


def strikes(where: str, of: str = "") -> bool:
    reached[where] += 1
    place = f"{where}:{reached[where]}"
    places.append(f"{place} {of}".rstrip())
    mine = SEED is None or str(seed[0]) == SEED
    mine &= RANK is None or os.environ.get("LOCAL_RANK", "0") == RANK
    return mine and fault.partition("@")[2] == place


def strike() -> None:
    what = fault.partition("@")[0]
    if what == "raise":
        raise RuntimeError("an accident")
    if what == "memory":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    os.kill(os.getpid(), getattr(signal, what))


class Faulty(train.FinalValidation):
    """Added to every run."""

    def on_fit_start(self, trainer: Any, task: Any) -> None:
        with (Path(trainer.default_root_dir) / "fits.txt").open("a") as file:
            file.write(f"{os.getpid()} {trainer.global_rank}\n")
        if strikes("setup"):
            strike()

    def on_train_batch_start(self, *_: Any) -> None:
        if strikes("batch"):
            strike()

    def on_train_batch_end(self, trainer: Any, task: Any, outputs: Any, *rest: Any) -> None:
        if strikes("step"):
            if fault.startswith("nan"):
                next(task.parameters()).data.fill_(float("nan"))  # seen in the next step's loss
            else:
                strike()
        super().on_train_batch_end(trainer, task, outputs, *rest)

    def on_validation_start(self, *_: Any) -> None:
        if strikes("begin"):
            strike()

    def on_validation_batch_end(self, *_: Any) -> None:
        if strikes("validation"):
            strike()

    def on_validation_end(self, *_: Any) -> None:  # best.ckpt is not yet written
        if strikes("end"):
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
    if strikes("write", Path(file.name).name):
        strike()
    file.write(content[len(content) // 2 :])
    file.flush()
    if strikes("named", Path(file.name).name):
        strike()


class Torch:
    """torch, but for `save`."""

    save = staticmethod(save)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


original = train.fit_and_test


def fit_and_test(config: Any, *rest: Any) -> None:
    seed[:] = [config["seed"]]
    original(config, *rest)
    Path(config["paths"]["run_dir"], "places.txt").write_text("\n".join(places), encoding="utf-8")


def prepare() -> None:
    """Puts the accident into this process."""
    checkpoint_io.torch = Torch()  # type: ignore[assignment]
    train.FinalValidation = Faulty  # type: ignore[misc]
    train.fit_and_test = fit_and_test
    train.SCRIPT = Path(__file__).resolve()


def run_forked(line: list[str], accident: str, said: Path) -> None:
    """The same in a process that was forked from one that had imported everything."""
    global fault
    fault = accident
    prepare()
    torch.set_num_threads(1)
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.argv[:] = [__file__, *line]
    sys.exit(train.main())


if __name__ == "__main__":
    prepare()
    sys.exit(train.main())
