"""Trains a model, or many: `python train.py [group=option] [key=value] [-m]`; `--help` shows the choices.

Compose, check, build, fit, test, record. A single run happens in this process. Every job of a sweep gets one
of its own, `python train.py --frozen FOLDER/config.yaml`: a resolved configuration, run in its folder. With
`--weights RUN` a test of that run's checkpoint takes the place of the training: that is `zoo test`.
"""

# ruff: noqa: E402 - torch is imported after the allocator was told
from zoo.runtime.first_words import say_that_it_starts
from zoo.runtime.interrupts import end_at_once, interruptible
from zoo.runtime.memory_allocator import prepare_memory

prepare_memory()
end_at_once(script=__name__ == "__main__")
say_that_it_starts(script=__name__ == "__main__")

import sys
from pathlib import Path

import hydra
import lightning.pytorch as pl
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig

from zoo.config import resolvers
from zoo.config.building import build
from zoo.config.check import check
from zoo.config.compose import command_line, compose_jobs
from zoo.config.instantiate import instantiate
from zoo.config.jobs import check_jobs
from zoo.core.lock import Occupied
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config, folder_of, thaw
from zoo.runs.recording import Recording
from zoo.runs.resume import CannotResume, discard_progress, starting_point
from zoo.runs.status import status_of
from zoo.runs.testing import evaluate
from zoo.runtime.absent_gpu import remember_absence
from zoo.runtime.launch import environments
from zoo.runtime.precision import prepare_precision
from zoo.sweeps.begin import begin_sweep
from zoo.sweeps.launch import complain, queue_run
from zoo.sweeps.plan import print_plan
from zoo.sweeps.retesting import CannotTest, costs_of, queue_test
from zoo.sweeps.sweep import end_sweep, start_sweep
from zoo.sweeps.trial import pruning
from zoo.training.callbacks import Compiling, SelfDescription, Throughput
from zoo.training.callbacks.final_validation import FinalValidation
from zoo.training.checkpoint import read_checkpoint, require_vocabulary, strip_optimizer
from zoo.training.checkpoint_io import AtomicIO

SCRIPT = Path(__file__).resolve()
CONF = SCRIPT.with_name("conf")


def main() -> int:
    """Composes and checks every job before the first one runs; returns the exit code."""
    resolvers.register()
    try:
        asked = command_line()
        if asked.shows:
            return run_sweeper() or 0
        if asked.frozen:
            return run(asked.frozen, resume=asked.resume, weights=asked.weights)
        if asked.weights:
            path, config = queue_test(asked.weights, asked.overrides, CONF)
            sys.argv[1:] = ["--frozen", str(path), "--weights", str(asked.weights)]
            return run(path, config, weights=asked.weights)
        jobs = compose_jobs(CONF, asked.overrides, asked.multirun)
        parameters = check_jobs(jobs, asked.multirun)
        if jobs[0].config["check"]:
            print_plan(jobs, parameters, asked.overrides)
            return 0
        if not asked.multirun:
            path, new = queue_run(jobs[0])
            sys.argv[1:] = ["--frozen", str(path)]  # with which Lightning starts further processes
            return run(path, new, resume=new is None)
        sweep, options = begin_sweep(jobs, asked.overrides)
    except (ConfigError, CannotResume, CannotTest, Occupied, OSError) as error:
        complain(error)
        return 2
    if sweep.jobs:
        return start_sweep(SCRIPT, sweep)
    sys.argv[:] = [str(SCRIPT), "--multirun", *asked.overrides, *options]
    try:
        run_sweeper()
    except SystemExit as end:  # a signal, or `sweep.fail_fast`
        return end_sweep(sweep.folder, end.code)
    return end_sweep(sweep.folder)


@hydra.main(config_path=str(CONF), config_name="train", version_base="1.3")
def run_sweeper(composed: DictConfig) -> None:
    """Lets Hydra show what was asked for, or draw jobs, which hydra_plugins/zoo_launcher.py runs."""
    raise AssertionError("the launcher runs the jobs, in processes of their own")


def run(path: Path, config: Config | None = None, resume: bool = False, weights: Path | None = None) -> int:
    """Runs a config.yaml in its folder, or goes on with it, records how it went, returns the exit code.

    A given `config` is checked already. With `weights` of another run nothing is trained: they are tested.
    """
    if config is None:
        config = thaw(path)
        check(config)
    folder = folder_of(path)
    last = starting_point(path, config, resume)
    with Recording(folder, status_of(folder).overrides, tests=weights) as recording:
        if last is None:
            discard_progress(folder)
        recording.loggers += [] if weights else instantiate(config["logger"], "logger").values()
        fit_and_test(config, folder, recording.loggers, last, weights)
    return recording.exit_code


def fit_and_test(
    config: Config, folder: Path, loggers: list[Logger], last: Path | None, weights: Path | None
) -> None:
    """Trains (on from `last` if there is one), unless there are `weights`; tests the best checkpoint."""
    remember_absence()
    pl.seed_everything(config["seed"], workers=True)
    data, task = build(config)
    callbacks = list(instantiate(config["callbacks"], "callbacks").values())
    throughput = next(callback for callback in callbacks if isinstance(callback, Throughput))
    own = [FinalValidation(), SelfDescription(config=config, spec=data.spec), *pruning(folder, config)]
    callbacks += [*own, Compiling()] if config.get("compile") else own
    # In inference mode autocast would cast all weights again at every step of a search.
    trainer = instantiate(config["trainer"], "trainer")(
        precision=prepare_precision(config),
        logger=loggers,
        callbacks=callbacks,
        plugins=[AtomicIO(), *environments()],
        default_root_dir=folder,
        inference_mode=False,
    )
    if weights is None:
        for logger in loggers:
            logger.log_hyperparams(config)
        trainer.fit(task, datamodule=data, ckpt_path=last, weights_only=True)
        best, costs = read_checkpoint(folder), throughput.totals
        if trainer.is_global_zero:
            strip_optimizer(best.path)
    else:
        best, costs = read_checkpoint(weights), costs_of(weights)
        require_vocabulary(data.spec, best.spec)
    evaluate(trainer, task, data, config=config, checkpoint=best, folder=folder, costs=costs)


if __name__ == "__main__":
    sys.exit(interruptible(main))
