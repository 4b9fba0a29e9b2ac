"""Studies: what Optuna is told of every job, and how a study is taken up again; the jobs are stand-ins."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from lightning.pytorch import Callback
from optuna.trial import FrozenTrial, TrialState

from zoo.runs.status import StatusFile
from zoo.sweeps.journal import FILE, journal
from zoo.sweeps.record import Sweep, read_sweep
from zoo.sweeps.sweep import resume_sweep, with_trials
from zoo.sweeps.trial import pruning

TINY = ["data=reverse", "trainer=debug", "logger=csv", "model.embedding_size=8", "model.hidden_size=8"]
STUDY = ["-m", "hydra/sweeper=optuna", "hydra/sweeper/sampler=random"]
ENDS = {1: "finished", 2: "failed", 3: "finished", 4: "killed", 6: "pruned"}
"""What becomes of a seed in the stand-in; what finishes reaches 1.5 times its seed."""

Start = Callable[..., int]


def loaded(sweep: Sweep) -> optuna.Study:
    (name,) = optuna.get_all_study_names(journal(sweep.folder))
    return optuna.load_study(study_name=name, storage=journal(sweep.folder))


def by_run(sweep: Sweep) -> dict[str, list[FrozenTrial]]:
    found: dict[str, list[FrozenTrial]] = {}
    for trial in loaded(sweep).trials:
        found.setdefault(str(trial.user_attrs.get("run")), []).append(trial)
    return found


@pytest.mark.slow
def test_every_state_is_true_also_after_it_was_taken_up_again(
    start_faked: Start, runs: Path, fake_script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [*TINY, *STUDY, "seed=choice(1,2,3,4,6)", "hydra.sweeper.n_trials=9", "sweep.parallel=2"]
    line += ["hydra.sweeper.sampler.seed=4"]  # with which each of them is drawn
    assert start_faked(*line, "task.monitor=val/chrf") == 1
    said = capsys.readouterr().out
    assert "(9 of 9 ended)" in said
    (folder,) = runs.glob("*/*")
    sweep = read_sweep(folder)
    assert len(sweep.jobs) == 9
    seeds = [job.config["seed"] for job in sweep.jobs]
    assert set(seeds) == set(ENDS)
    trials = by_run(sweep)
    states = {
        1: TrialState.COMPLETE,
        2: TrialState.FAIL,
        3: TrialState.COMPLETE,
        4: TrialState.RUNNING,
        6: TrialState.PRUNED,
    }
    for job, seed in zip(sweep.jobs, seeds, strict=True):
        (trial,) = trials[job.folder.name]
        assert StatusFile(job.folder).read().state == ENDS[seed]
        assert (trial.state, trial.params) == (states[seed], {"seed": seed})
        assert trial.value == (1.5 * seed if seed in (1, 3) else None)
        assert trial.user_attrs.get("state") == (None if seed == 4 else ENDS[seed])
    assert loaded(sweep).direction.name == "MAXIMIZE"

    loaded(sweep).ask()  # the process was killed before it had made a job of it
    with (folder / FILE).open("ab") as file:
        file.write(b'{"op_code":')
    (folder / f"{FILE}.lock").symlink_to(folder / FILE)
    assert resume_sweep(fake_script, folder, trials=10) in (0, 1)  # the tenth may have a seed that fails
    sweep = read_sweep(folder)
    assert len(sweep.jobs) == 10
    trials = by_run(sweep)
    assert [trial.state for trial in trials["None"]] == [TrialState.FAIL]
    for job, seed in zip(sweep.jobs[:9], seeds, strict=True):
        before = [TrialState.FAIL] if seed == 2 else []
        last = TrialState.PRUNED if seed == 6 else TrialState.COMPLETE
        assert [trial.state for trial in trials[job.folder.name]] == [*before, last]
        if seed != 6:
            assert trials[job.folder.name][-1].value == 1.5 * seed
    with pytest.raises(ValueError, match="has 10 trials already"):
        resume_sweep(fake_script, folder, trials=9)


@pytest.mark.slow
def test_quality_and_seconds(start_faked: Start, runs: Path) -> None:
    line = [*TINY, *STUDY, "seed=choice(1,3)", "hydra.sweeper.n_trials=2"]
    assert start_faked(*line, "hydra.sweeper.objectives=[monitor,seconds]", "task.monitor=val/tf_loss") == 0
    (folder,) = runs.glob("*/*")
    study = loaded(read_sweep(folder))
    assert [direction.name for direction in study.directions] == ["MINIMIZE", "MINIMIZE"]
    assert study.metric_names == ["val/tf_loss", "seconds"]
    assert {tuple(trial.values) for trial in study.trials} <= {(1.5, 7.0), (4.5, 7.0)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["optimizer.lr=interval(0.1,0.01)"], "must begin below its end"),
        (["optimizer.lr=-1,0.1"], "optimizer.lr: must be"),
        (["seed=1,2", "hydra.sweeper.n_trials=0"], "hydra.sweeper.n_trials: must be a whole number"),
        (["seed=1,2", "hydra/sweeper/pruner=medain"], "did you mean median?"),
    ],
    ids=" ".join,
)
def test_a_bad_line_begins_nothing(
    start_faked: Start, runs: Path, capsys: pytest.CaptureFixture[str], line: list[str], said: str
) -> None:
    assert start_faked(*TINY, *STUDY, *line) == 2
    assert said in capsys.readouterr().err
    assert not runs.exists()


class Reports:
    """A job's study, as far as its own process sees it."""

    def __init__(self, folder: Path, pruner: dict[str, Any] | None) -> None:
        self.study = optuna.create_study(study_name="s", storage=journal(folder))
        if pruner:
            self.study.set_user_attr("pruner", pruner)
        self.folder = folder

    def job(self, run: str) -> tuple[int, list[Callback]]:
        trial = self.study.ask()
        trial.set_user_attr("run", run)
        return trial.number, pruning(self.folder / run, {"task": {"monitor": "val/loss"}})


def test_a_job_reports_to_its_study_and_hears_its_verdict(tmp_path: Path) -> None:
    reports = Reports(tmp_path, {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": 1})
    number, (first,) = reports.job("a")
    assert not first._hopeless(1.0, 10)  # type: ignore[attr-defined]
    reports.study.tell(number, 1.0)
    number, (second,) = reports.job("b")
    assert second._hopeless(2.0, 10)  # type: ignore[attr-defined]
    assert second._hopeless(0.5, 10), "what a resumed run says again does not count"  # type: ignore[attr-defined]
    assert not second._hopeless(0.5, 20)  # type: ignore[attr-defined]
    assert reports.study.trials[number].intermediate_values == {10: 2.0, 20: 0.5}
    reports.study.tell(number, state=TrialState.PRUNED)
    assert pruning(tmp_path / "b", {}) == [], "of a trial that has ended"


def test_nothing_is_pruned_outside_a_study_that_prunes(tmp_path: Path) -> None:
    assert pruning(tmp_path / "run", {}) == []
    assert Reports(tmp_path, None).job("a")[1] == []


def test_more_trials_are_for_a_study(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path, ["seed=1,2", "hydra.sweeper.n_trials=3"], "local", "basic", None)
    with pytest.raises(ValueError, match="--trials is for a study"):
        with_trials(sweep, 5)
    study = Sweep(tmp_path, sweep.overrides, "local", "optuna", None)
    assert with_trials(study, 5).overrides == ["seed=1,2", "hydra.sweeper.n_trials=5"]
    assert json.loads((tmp_path / "sweep.json").read_text())["overrides"][-1] == "hydra.sweeper.n_trials=5"
