"""Sweeps of real, tiny trainings: accidents and their ends, W&B, resuming, several processes in a job."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from zoo.runs.status import State, StatusFile
from zoo.sweeps.record import Sweep, read_sweep

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
ACCIDENTS = Path(__file__).with_name("accidents.py")
TINY = [
    *("data=reverse", "trainer=debug", "logger=wandb", "decoding=greedy", "callbacks.last.every_n_steps=1"),
    *("data.corpus.train=64", "data.corpus.validation=8", "data.corpus.test=8", "data.batch_tokens=256"),
    *("model.embedding_size=8", "model.hidden_size=8", "~callbacks.alignments"),
]


def start(tmp_path: Path, *line: str, accidents: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "ACCIDENTS": accidents, "WANDB_MODE": "offline"}
    command = [sys.executable, str(ACCIDENTS), *TINY, f"paths.runs_dir={tmp_path}/runs", *line]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def resume(folder: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from pathlib import Path; from zoo.sweeps.sweep import resume_sweep\n"
        "sys.exit(resume_sweep(Path(sys.argv[1]), Path(sys.argv[2])))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "WANDB_MODE": "offline"}
    command = [sys.executable, "-c", code, str(ACCIDENTS), str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def only_sweep(tmp_path: Path) -> Sweep:
    (record,) = tmp_path.glob("runs/*/*/sweep.json")
    return read_sweep(record.parent)


def states(sweep: Sweep) -> list[State]:
    return [StatusFile(job.folder).read().state for job in sweep.jobs]


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def fits(sweep: Sweep) -> list[list[str]]:
    """The ranks that entered the fit of each job."""
    return [
        [line.split()[1] for line in (job.folder / "fits.txt").read_text().splitlines()] for job in sweep.jobs
    ]


def processes_below(folder: Path) -> list[str]:
    """Command lines of processes that have to do with a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


def wandb_runs(runs: Path) -> dict[str, tuple[str, list[int]]]:
    """Name and exit codes of each W&B run, by its id; the name is empty in a file that was cut off."""
    found: dict[str, tuple[str, list[int]]] = {}
    for file in sorted((runs / "wandb").glob("offline-run-*/*.wandb")):
        command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", "--json", str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        rows = [json.loads(row) for row in said.splitlines() if row.startswith("{")]
        names = [row["run"]["display_name"] for row in rows if row["type"] == "run"]
        codes = [int(row["exit"].get("exit_code", 0)) for row in rows if row["type"] == "exit"]
        identity = file.stem.removeprefix("run-")
        name, before = found.get(identity, ("", []))
        found[identity] = (names[0] if names else name, before + codes)
    return found


@pytest.mark.parametrize(("trainer", "processes"), [("debug", 1), ("ddp_cpu", 2)])
def test_six_jobs_two_accidents(tmp_path: Path, trainer: str, processes: int) -> None:
    line = [f"trainer={trainer}", "trainer.max_epochs=1", "trainer.max_steps=6", "-m", "seed=1,2,3,4,5,6"]
    process = start(tmp_path, *line, "sweep.parallel=2", accidents="2:raise 4:SIGKILL")
    said, _ = process.communicate(timeout=1500)
    assert process.returncode == 1, said
    sweep = only_sweep(tmp_path)
    expected = [State.FINISHED] * 6
    expected[1], expected[3] = State.FAILED, State.KILLED
    assert states(sweep) == expected, said
    assert "job 1 seed=2: failed" in said
    log = (sweep.jobs[1].folder / "train.log").read_text()
    assert "RuntimeError: an accident" in log
    assert "Traceback" in log
    assert [sorted(ranks) for ranks in fits(sweep)] == [[str(rank) for rank in range(processes)]] * 6
    assert not processes_below(tmp_path)

    ids = [job.folder.name.rpartition("_")[2] for job in sweep.jobs]
    logged = wandb_runs(tmp_path / "runs")
    assert sorted(logged) == sorted(ids)
    for number, identity in enumerate(ids):
        name, codes = logged[identity]
        if number != 3:  # a killed process ends its W&B run without a word
            assert (name, codes) == (f"{number}-seed={number + 1}", [1 if number == 1 else 0])
        else:
            assert 0 not in codes

    finished = [job.folder for job in sweep.jobs if StatusFile(job.folder).read().state is State.FINISHED]
    before = [times(folder) for folder in finished]
    # The accidents were those of that day.
    again = resume(sweep.folder)
    assert again.returncode == 0, again.stdout + again.stderr
    assert states(sweep) == [State.FINISHED] * 6
    assert [times(folder) for folder in finished] == before
    assert [len(ranks) // processes for ranks in fits(sweep)] == [1, 2, 1, 2, 1, 1]
    logged = wandb_runs(tmp_path / "runs")
    assert {logged[identity][0] for identity in ids} == {f"{n}-seed={n + 1}" for n in range(6)}
    assert all(codes[-1] == 0 for _, codes in logged.values())


def test_ctrl_c_and_on(tmp_path: Path) -> None:
    """Running jobs save and stop, the others stay queued; resumed, the sweep is completed."""
    process = start(tmp_path, "trainer=cpu", "trainer.max_steps=2000", "-m", "seed=1,2,3", "sweep.parallel=2")
    deadline = time.monotonic() + 600
    while len(list(tmp_path.glob("runs/*/*/*/checkpoints/last.ckpt"))) < 2:
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 130, said
    sweep = only_sweep(tmp_path)
    assert states(sweep) == [State.PREEMPTED, State.PREEMPTED, State.QUEUED]
    assert not processes_below(tmp_path)
    for job in sweep.jobs:  # enough is enough
        assert (job.folder / "config.yaml").exists()


def test_twenty_starts_twenty_folders(tmp_path: Path) -> None:
    """Started in the same second, with the same words."""
    with ThreadPoolExecutor(20) as pool:
        from zoo.runs.folder import create_run_folder

        folders = list(pool.map(lambda _: create_run_folder(tmp_path / "day", "same"), range(20)))
    assert len(set(folders)) == 20

    code = (
        "import sys; from pathlib import Path; from zoo.runs.folder import create_run_folder\n"
        "sys.stdin.read(); create_run_folder(Path(sys.argv[1]), 'same')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "processes")]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    started = [subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) for _ in range(20)]
    for process in started:
        process.communicate(timeout=120)
    assert [process.returncode for process in started] == [0] * 20
    assert Counter(path.is_dir() for path in (tmp_path / "processes").iterdir()) == {True: 20}
