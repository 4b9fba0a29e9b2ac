"""A job of a study, seen from within: it reports its validations, and hears whether it shall go on."""

from importlib.util import find_spec
from pathlib import Path

from lightning.pytorch import Callback

from zoo.config.study import pruner_of
from zoo.runs.frozen import Config
from zoo.sweeps.journal import FILE, journal, trial_of
from zoo.training.callbacks.pruning import Pruning


def pruning(folder: Path, config: Config) -> list[Callback]:
    """What ends a run early when its study's pruner says so; nothing where no study with a pruner holds it.

    Args:
        folder: the run's; the study lies in the one above.
        config: the run's.
    """
    if not (folder.parent / FILE).is_file() or find_spec("optuna") is None:
        return []
    import optuna

    (name,) = optuna.get_all_study_names(storage := journal(folder.parent))
    # The sampler has drawn already: one that learns from nothing costs nothing here.
    sampler = optuna.samplers.RandomSampler()
    study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
    options = study.user_attrs.get("pruner")
    frozen = trial_of(study.get_trials(deepcopy=False), folder.name)
    if options is None or frozen is None or frozen.state.is_finished():
        return []
    study.pruner = pruner_of(options)
    trial = optuna.trial.Trial(study, frozen._trial_id)

    def hopeless(value: float, step: int) -> bool:
        # A resumed run repeats validations: of those the first report counts.
        if step not in study._storage.get_trial(trial._trial_id).intermediate_values:
            trial.report(value, step)
        return trial.should_prune()

    return [Pruning(monitor=config["task"]["monitor"], hopeless=hopeless)]
