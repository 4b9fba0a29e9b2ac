"""What happens to the processes of a sweep, with jobs that take no time."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from zoo.runs.resume import make_ready
from zoo.runs.status import State, StatusFile
from zoo.runtime.leases import Leases
from zoo.sweeps.record import Sweep
from zoo.sweeps.sweep import end_sweep, run_jobs, threads
from zoo.sweeps.table import SweepTable

MakeSweep = Callable[..., Sweep]
States = Callable[[Sweep], list[State]]


def seen(sweep: Sweep) -> list[dict[str, Any]]:
    """What each job noticed of its surroundings."""
    return [json.loads((job.folder / "seen.json").read_text()) for job in sweep.jobs]


def gone(pid: int) -> bool:
    """Whether a process that was killed is gone, or will be within a moment."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_failed_job_is_reported_and_the_others_go_on(
    make_sweep: MakeSweep, fake_script: Path, states: States, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = make_sweep("finish", "raise", "finish", "die", "import")
    assert run_jobs(fake_script, sweep, sweep.jobs) == 1
    assert states(sweep) == [State.FINISHED, State.FAILED, State.FINISHED, State.KILLED, State.FAILED]
    logs = [(job.folder / "train.log").read_text() for job in sweep.jobs]
    assert ["Traceback" in log for log in logs] == [False, True, False, False, True]
    assert "RuntimeError: as it was told" in logs[1]
    lines = capsys.readouterr().out.splitlines()
    assert (
        "job 1 seed=1: failed (2 of 5 ended), RuntimeError: as it was told, see 1_job_00000001/train.log"
        in lines
    )
    assert lines.index("job 2 seed=2: started") > lines.index(
        next(line for line in lines if line.startswith("job 1 seed=1: failed"))
    )
    assert end_sweep(sweep.folder) == 1
    early = StatusFile(sweep.jobs[4].folder).read()
    assert early.exit_code == 1
    assert str(early.exception).startswith("RuntimeError: the process ended with exit code 1 before the run")


def test_a_job_whose_folder_leads_elsewhere_is_not_run_and_the_others_are(
    make_sweep: MakeSweep, fake_script: Path, states: States, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sweep = make_sweep("finish", "finish", "finish")
    (tmp_path / "somebody's.log").write_text("precious")
    (sweep.jobs[0].folder / "train.log").symlink_to(tmp_path / "somebody's.log")
    sweep.jobs[1].folder.rename(tmp_path / "elsewhere")
    sweep.jobs[1].folder.symlink_to(tmp_path / "elsewhere")
    assert run_jobs(fake_script, sweep, sweep.jobs) == 1
    assert states(sweep) == [State.QUEUED, State.QUEUED, State.FINISHED]
    assert (tmp_path / "somebody's.log").read_text() == "precious"
    assert caplog.text.count("cannot be started") == 2


def test_all_finished(make_sweep: MakeSweep, fake_script: Path, states: States) -> None:
    sweep = make_sweep("finish", "finish")
    assert run_jobs(fake_script, sweep, sweep.jobs) == 0
    assert end_sweep(sweep.folder) == 0


def test_fail_fast(make_sweep: MakeSweep, fake_script: Path, states: States) -> None:
    sweep = make_sweep("raise", "wait", "finish", fail_fast=True, parallel=2)
    began = time.monotonic()
    assert run_jobs(fake_script, sweep, sweep.jobs) == 1
    assert time.monotonic() - began < 20, "the running job was stopped"
    found = states(sweep)
    assert (found[0], found[2]) == (State.FAILED, State.QUEUED)
    assert found[1] in (State.PREEMPTED, State.QUEUED), "it was stopped before or after it began"


def test_a_signal_reaches_a_job_that_is_starting(
    make_sweep: MakeSweep, fake_script: Path, states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signalled(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        make_ready(*arguments)

    monkeypatch.setattr("zoo.sweeps.sweep.make_ready", signalled)
    sweep = make_sweep("wait", "wait")
    began = time.monotonic()
    assert run_jobs(fake_script, sweep, sweep.jobs) == 143
    assert time.monotonic() - began < 20
    assert states(sweep)[1] == State.QUEUED


def test_each_job_is_alone(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = make_sweep("finish", "leave")
    assert run_jobs(fake_script, sweep, sweep.jobs) == 0
    first, second = seen(sweep)
    assert len({first["session"], second["session"], os.getsid(0)}) == 3
    assert first["stdin"] == ""
    assert gone(int((sweep.jobs[1].folder / "child").read_text())), "an orphan"


def test_at_most_so_many_at_once(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = make_sweep("nap", "nap", "nap", "nap", parallel=2)
    assert run_jobs(fake_script, sweep, sweep.jobs) == 0
    spans = [(job["start"], job["end"]) for job in seen(sweep)]
    together = [sum(start <= moment < end for start, end in spans) for moment, _ in spans]
    assert max(together) == 2


@pytest.mark.parametrize(
    ("parallel", "processes", "given", "expected"),
    [
        (1, 1, None, 8),
        (2, 1, None, 4),
        (3, 1, None, 2),
        (9, 1, None, 1),
        (2, 2, None, 2),
        (2, 1, "3", 3),
        (2, 1, "6", 4),
    ],
)
def test_threads_are_shared_out(
    monkeypatch: pytest.MonkeyPatch, parallel: int, processes: int, given: str | None, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if given:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    shares = threads({"trainer": {"devices": processes}}, parallel)
    assert shares["OMP_NUM_THREADS"] == str(expected)


def test_a_library_without_a_number_takes_that_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch computes with as many threads as the largest number says."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert set(threads({"trainer": {"devices": 1}}, 2).values()) == {"1"}


def test_jobs_get_their_share(
    make_sweep: MakeSweep, fake_script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    sweep = make_sweep("finish", "finish", parallel=4)
    run_jobs(fake_script, sweep, sweep.jobs)
    assert [job["OMP_NUM_THREADS"] for job in seen(sweep)] == ["4", "4"], "two jobs share what there is"


def test_gpus_are_leased(make_sweep: MakeSweep, fake_script: Path, tmp_path: Path) -> None:
    """Six jobs, two devices, more at once than there are devices: never two on one."""
    gpu = {"accelerator": "gpu", "devices": 1}
    sweep = make_sweep(*["nap"] * 6, trainer=gpu, parallel=6)
    assert (
        run_jobs(fake_script, sweep, sweep.jobs, leases=Leases(["GPU-a", "GPU-b"], 1, tmp_path / "locks"))
        == 0
    )
    jobs = seen(sweep)
    assert {job["CUDA_VISIBLE_DEVICES"] for job in jobs} == {"GPU-a", "GPU-b"}
    for device in ("GPU-a", "GPU-b"):
        spans = sorted((job["start"], job["end"]) for job in jobs if job["CUDA_VISIBLE_DEVICES"] == device)
        assert len(spans) >= 2
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_a_resumed_job_is_told_so(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = make_sweep("finish")
    run_jobs(fake_script, sweep, sweep.jobs, resume=True)
    assert seen(sweep)[0]["resumed"]


class TestInterruption:
    """Two of four jobs run when the sweep gets a signal."""

    @pytest.fixture
    def interrupt(self, states: States) -> Iterator[Callable[..., None]]:
        """Sends signals to this process as soon as two jobs are at work."""
        threads = []

        def send(sweep: Sweep, *signals: int) -> None:
            def wait_and_send() -> None:
                for place, number in enumerate(signals):
                    time.sleep(0.5 if place else 0)  # the first one is heard
                    deadline = time.monotonic() + 60
                    while len(list(sweep.folder.glob("*/ready"))) < 2 and time.monotonic() < deadline:
                        time.sleep(0.02)
                    os.kill(os.getpid(), number)

            threads.append(threading.Thread(target=wait_and_send))
            threads[-1].start()

        yield send
        for thread in threads:
            thread.join()

    @pytest.mark.parametrize(
        ("number", "code"),
        [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 143), (signal.SIGHUP, 143)],
        ids=["SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP"],
    )
    def test_jobs_save_and_the_rest_stays(
        self,
        make_sweep: MakeSweep,
        fake_script: Path,
        states: States,
        interrupt: Callable[..., None],
        number: int,
        code: int,
    ) -> None:
        sweep = make_sweep("wait", "wait", "wait", "wait", parallel=2)
        before = signal.getsignal(signal.SIGINT)  # ignored, when a shell started the tests in the background
        hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored, when nohup started the tests
        try:
            interrupt(sweep, number)
            assert run_jobs(fake_script, sweep, sweep.jobs) == code
        finally:
            signal.signal(signal.SIGHUP, hung_up)
        assert states(sweep) == [State.PREEMPTED] * 2 + [State.QUEUED] * 2
        assert signal.getsignal(signal.SIGINT) is before

    def test_a_second_one_kills(
        self, make_sweep: MakeSweep, fake_script: Path, states: States, interrupt: Callable[..., None]
    ) -> None:
        sweep = make_sweep("deaf", "deaf", parallel=2)
        interrupt(sweep, signal.SIGINT, signal.SIGINT)
        began = time.monotonic()
        assert run_jobs(fake_script, sweep, sweep.jobs) == 130
        assert time.monotonic() - began < 30
        assert states(sweep) == [State.KILLED] * 2

    def test_an_error_leaves_nobody_behind(
        self, make_sweep: MakeSweep, fake_script: Path, states: States, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sweep = make_sweep("wait", "wait", parallel=2)

        def broken(table: SweepTable) -> None:
            if len(list(sweep.folder.glob("*/ready"))) == 2:
                raise OSError("no space left")

        monkeypatch.setattr(SweepTable, "update", broken)
        with pytest.raises(OSError, match="no space left"):
            run_jobs(fake_script, sweep, sweep.jobs)
        assert states(sweep) == [State.PREEMPTED] * 2
