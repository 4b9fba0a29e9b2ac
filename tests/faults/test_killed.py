"""A hundred kills, drawn over all phases of a run: each time it ends as the run that nothing happened to.

Every process that is killed is a training of its own, and the kill is SIGKILL; it shares only its imports
with the others, by being forked. `fault_table.py` counts the kills by phase.
"""

import multiprocessing
import os
import random
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from signal import SIGKILL

import pytest
import torch
from fault_table import note
from faulty_train import run_forked
from small_runs import SMALL, assert_same_run, metrics, only_run

from zoo.runs.status import State, StatusFile

pytestmark = pytest.mark.slow

EVERY = 3
"""Steps between two saves: validations follow every 4, 8 or 10, so some saves are one step before one."""
STEPS = ("trainer.max_steps=24", "trainer.check_val_every_n_epoch=null", "trainer.val_check_interval=4")
PICTURES = [
    *(
        "trainer=cpu",
        "logger=csv",
        "trainer.log_every_n_steps=1",
        "scheduler=constant",
        "trainer.precision=32-true",
    ),
    f"callbacks.last.every_n_steps={EVERY}",
]
PLANS = {
    "a budget in epochs": SMALL,
    "a budget in steps": [*SMALL, *STEPS],
    "steps, validated by epoch": [*SMALL, "trainer.max_steps=24", "trainer.val_check_interval=null"],
    "captions, hard attention": [
        *("experiment=shapes_hard", *PICTURES, *STEPS, "~callbacks.captions"),
        *("model.hidden_size=8", "model.embedding_size=8", "model.encoder.widths=[8]", "data.batch_size=8"),
        *("data.captions.train=64", "data.captions.validation=20", "data.captions.test=8"),
    ],
    "glimpses": [
        *("experiment=ram_digits", *PICTURES, "trainer.max_steps=24", "~callbacks.glimpses"),
        *("trainer.check_val_every_n_epoch=1", "model.glimpses=2", "data.batch_size=128"),
    ],
}
LIVES = [
    *(("setup",), ("first",), ("between",), ("between",), ("between",), ("step",), ("validation",)),
    *(("validation",), ("behind",), ("write",), ("write",), ("epoch",), ("test",)),
    *(("first", "setup"), ("between", "validation", "write"), ("write", "test")),
]
"""What a run meets before it ends: 20 kills, times `PLANS` that is a hundred."""
NAMES = {
    "setup": "while it is set up, or taken up again",
    "first": "before the first save",
    "between": "between a save and a validation one step later",
    "step": "in another step",
    "validation": "in a validation",
    "behind": "behind a validation, before best.ckpt is written",
    "write": "while a checkpoint is written",
    "epoch": "at the end of an epoch",
    "test": "in the test",
}
SINCE = f"the steps since the last save: at most {EVERY}"
LOST = {
    "setup": "nothing: 0 steps",
    "first": f"the steps so far: at most {EVERY}",
    "test": "nothing: 0 steps",
}
"""What else it costs."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> ForkServerContext:
    """What has imported everything, and is forked: its environment is that of all forked processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["faulty_train"])
    with pytest.MonkeyPatch.context() as patch:
        folder = Path(__file__).parent
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{folder.parents[1]}")
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("OMP_NUM_THREADS", "1")
        forkserver.ensure_running()
    return context


@pytest.fixture(scope="module")
def start(
    server: ForkServerContext, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[int, str]]:
    """Runs a command line in a process of its own: its exit code, and what it said."""

    def run(*line: str, fault: str = "") -> tuple[int, str]:
        said = tmp_path_factory.mktemp("said") / "log"
        process = server.Process(target=run_forked, args=(list(line), fault, said))
        process.start()
        process.join(120)
        assert process.exitcode is not None, f"it did not end:\n{said.read_text()}"
        return process.exitcode, said.read_text()

    return run


@pytest.fixture(scope="module")
def wholes(
    start: Callable[..., tuple[int, str]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The run of a plan that nothing happened to."""
    made: dict[str, Path] = {}

    def whole(plan: str) -> Path:
        if plan not in made:
            runs = tmp_path_factory.mktemp("whole")
            code, said = start(*PLANS[plan], f"paths.runs_dir={runs}")
            assert code == 0, said
            made[plan] = only_run(runs)
        return made[plan]

    return whole


def places(whole: Path) -> dict[str, list[str]]:
    """Where a run can be killed, by phase."""
    found: dict[str, list[str]] = {phase: [] for phase in NAMES}
    saved, steps = False, [""]  # those since the last save
    for line in (whole / "places.txt").read_text().splitlines():
        place, _, file = line.partition(" ")
        where = place.partition(":")[0]
        if where in ("write", "named"):
            found["write"].append(place)
            if file.startswith("last"):
                saved, steps = True, []
        elif where == "end":
            found["behind"].append(place)
        elif where not in ("batch", "step", "begin"):
            found[where].append(place)
        elif not saved:
            found["first"].append(place)
        else:
            steps.append(place)
            found["step"] += [place] * (where != "begin")
            if where == "begin" and len(steps) == 3:  # a batch begins, a step is done, a validation begins
                found["between"] += steps
    found["step"] = [place for place in found["step"] if place not in found["between"]]
    return found


@pytest.mark.parametrize(
    "life", range(len(LIVES)), ids=["-".join(life) + f"-{i}" for i, life in enumerate(LIVES)]
)
@pytest.mark.parametrize("plan", PLANS)
def test_killed(
    plan: str,
    life: int,
    start: Callable[..., tuple[int, str]],
    wholes: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    whole = wholes(plan)
    drawn = random.Random(f"{plan} {life}")
    line = [*PLANS[plan], f"paths.runs_dir={tmp_path}/runs"]
    for number, phase in enumerate(LIVES[life]):
        # A process counts its own places, so one that goes on soon has its first ones.
        place = drawn.choice(places(whole)[phase]) if number == 0 else f"{phase}:1"
        code, said = start(*line, fault=f"SIGKILL@{place}")
        assert code == -SIGKILL, (place, said)
        folder = only_run(tmp_path / "runs")
        assert StatusFile(folder).read().state is State.KILLED
        lost = steps_begun(folder) - step_saved(folder)
        assert 0 <= lost <= (EVERY if phase != "test" else 0)
        line = ["--frozen", str(folder / "config.yaml"), "--resume"]
    code, said = start(*line)
    assert code == 0, said
    assert_same_run(whole, folder)
    assert StatusFile(folder).read().state is State.FINISHED
    assert not list(folder.rglob("*.tmp"))
    for phase in LIVES[life]:
        note(f"SIGKILL {NAMES[phase]}", lost=LOST.get(phase, f"{SINCE}, saved every {EVERY}"))


def steps_begun(folder: Path) -> int:
    return (
        max((int(row[0]) for row in metrics(folder)), default=0) if (folder / "metrics.csv").exists() else 0
    )


def step_saved(folder: Path) -> int:
    last = folder / "checkpoints" / "last.ckpt"
    return int(torch.load(last, weights_only=True)["global_step"]) if last.exists() else 0
