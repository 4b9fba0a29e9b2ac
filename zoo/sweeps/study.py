"""A study: Optuna draws the jobs of a sweep, one when there is room for it, and learns how each ended."""

import logging
import math
import warnings
from collections.abc import Sequence
from typing import Any

from hydra import initialize_config_dir
from omegaconf import OmegaConf

from zoo.config import resolvers
from zoo.config.compose import Job, compose_jobs, typed_plugins
from zoo.config.search import read_search
from zoo.config.study import MONITOR, pruner_of, study_settings
from zoo.config.sweep_settings import sweep_settings
from zoo.core.plugins import name_plugins
from zoo.core.problems import ConfigError
from zoo.core.reading import read_json
from zoo.runs.status import State, status_of
from zoo.sweeps.begin import job_name, maximises, queue_jobs
from zoo.sweeps.journal import FILE, RUN, STATE, journal, mend, trial_of
from zoo.sweeps.objective import chosen
from zoo.sweeps.record import Sweep, SweepJob
from zoo.sweeps.table import shortened

log = logging.getLogger(__name__)

CONF = resolvers.PROJECT / "conf"
_OPEN = (State.QUEUED, State.RUNNING, State.PREEMPTED, State.KILLED, State.DAMAGED)
"""States of jobs that may go on, so that their trials stay open."""


class Study:
    """The study of a sweep, which lies in the sweep's folder; it is begun, or taken up as it was left.

    Args:
        sweep: with the jobs that were drawn before.

    Attributes:
        sweep: with all jobs that have been drawn.

    Raises:
        ConfigError: the sweep's command line, or a setting of the study, is wrong.
    """

    def __init__(self, sweep: Sweep) -> None:
        import optuna  # here, because it is an extra

        self.sweep = sweep
        resolvers.register()
        name_plugins(typed_plugins(sweep.overrides))
        with initialize_config_dir(str(CONF), version_base="1.3"):
            self._search = read_search(sweep.overrides)
        job = _composed(next(self._search.samples()))
        self._config = job.config
        begun = (sweep.folder / FILE).exists()
        if begun:
            mend(sweep.folder)
        sweeper = OmegaConf.to_container(job.composed.hydra.sweeper, resolve=True)
        assert isinstance(sweeper, dict)
        self._settings = study_settings(sweeper, job.config["seed"], len(sweep.jobs))  # type: ignore[arg-type]
        self._parallel = sweep_settings(job.config).parallel
        better: dict[str, Any] = {MONITOR: "maximize" if maximises(job.config) else "minimize"}
        self._study = optuna.create_study(
            study_name=job.config["sweep"]["name"] or sweep.folder.name,
            storage=journal(sweep.folder),
            sampler=self._settings.sampler,
            pruner=pruner_of(self._settings.pruner),
            directions=[better.get(name, "minimize") for name in self._settings.objectives],
            load_if_exists=True,
        )
        self._in_vain = 0
        if begun:
            self._catch_up()
        else:
            self._describe(job)

    @property
    def trials(self) -> int:
        """How many the study gets in all."""
        return self._settings.trials

    @property
    def is_complete(self) -> bool:
        """Whether all trials have been drawn."""
        return len(self.sweep.jobs) + self._in_vain >= self.trials

    def draw(self) -> SweepJob | None:
        """Draws and queues the next job; None when the study has all its trials."""
        while not self.is_complete:
            trial = self._study.ask()
            drawn = self._search.draw(trial)
            try:
                job = _composed([*self._search.fixed, *drawn])
            except ConfigError as error:  # its settings are each fine, but not together
                self._study.tell(trial, state=_states().FAIL)
                log.error("trial %d: %s", trial.number, error)
                self._in_vain += 1
                continue
            name = job_name(job.name, ",".join(sorted(map(shortened, drawn))))
            self.sweep = queue_jobs(self.sweep, [job.composed], [name])
            trial.set_user_attr(RUN, self.sweep.jobs[-1].folder.name)
            return self.sweep.jobs[-1]
        return None

    def several(self) -> list[SweepJob]:
        """Draws as many jobs as may run at once."""
        return [job for _ in range(self._parallel) if (job := self.draw())]

    def tell(self, job: SweepJob) -> None:
        """Tells the study what became of a job; one that may still go on stays open."""
        state = status_of(job.folder).state
        trial = trial_of(self._study.get_trials(deepcopy=False), job.folder.name)
        if trial is None or state in _OPEN:
            return
        values = self._values(job, state)
        if trial.state.is_finished():
            if state is State.FINISHED and trial.user_attrs.get(STATE) != State.FINISHED and values:
                self._add_again(trial, values)
            return
        self._study._storage.set_trial_user_attr(trial._trial_id, STATE, str(state))
        if values:
            self._study.tell(trial.number, values)
        elif state in (State.PRUNED, State.DIVERGED):  # which both say: not here
            self._study.tell(trial.number, state=_states().PRUNED)
        else:
            self._study.tell(trial.number, state=_states().FAIL)

    def _values(self, job: SweepJob, state: State) -> list[float]:
        """What a job reached in each objective; empty where it reached nothing."""
        if state is not State.FINISHED:
            worst = sweep_settings(self._config).worst
            counts = state is not State.PRUNED and self._settings.objectives == (MONITOR,)
            return [worst] if worst is not None and counts else []
        best = chosen(job.folder)
        try:
            results = read_json(job.folder / "results.json")
            values = [
                (best[1] if best else math.nan) if name == MONITOR else float(results[name])
                for name in self._settings.objectives
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return values if all(map(math.isfinite, values)) else []

    def _add_again(self, trial: object, values: Sequence[float]) -> None:
        """Adds a trial for a job that ran again: what a study has been told of a trial cannot be changed."""
        import optuna

        again = optuna.trial.create_trial(
            state=_states().COMPLETE,
            values=list(values),
            params=trial.params,  # type: ignore[attr-defined]
            distributions=trial.distributions,  # type: ignore[attr-defined]
            user_attrs={**trial.user_attrs, STATE: str(State.FINISHED)},  # type: ignore[attr-defined]
        )
        self._study.add_trial(again)

    def _describe(self, job: Job) -> None:
        """What the dashboard shows, and the jobs read, of the study as a whole."""
        names = [
            job.config["task"]["monitor"] if name == MONITOR else name for name in self._settings.objectives
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that this part of Optuna may change
            self._study.set_metric_names(names)
        if self._settings.prunes:
            self._study.set_user_attr("pruner", dict(self._settings.pruner))

    def _catch_up(self) -> None:
        """Makes the study agree with the jobs, whenever the process that ran it ended."""
        trials = self._study.get_trials(deepcopy=False)
        lost = [trial for trial in trials if not trial.state.is_finished() and RUN not in trial.user_attrs]
        for job in self.sweep.jobs:
            if lost and trial_of(trials, job.folder.name) is None:
                self._study._storage.set_trial_user_attr(lost.pop(0)._trial_id, RUN, job.folder.name)
        for trial in lost:  # it was drawn, and no job was made of it
            self._study.tell(trial.number, state=_states().FAIL)
        for job in self.sweep.jobs:
            self.tell(job)


def _composed(overrides: Sequence[str]) -> Job:
    (job,) = compose_jobs(CONF, overrides, multirun=False)
    return job


def _states() -> Any:
    from optuna.trial import TrialState

    return TrialState
