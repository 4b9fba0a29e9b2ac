"""W&B: one W&B run for each run folder, offline unless the user is logged in."""

import logging
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import Logger
from lightning.pytorch.loggers import WandbLogger as LightningWandbLogger
from lightning.pytorch.utilities import rank_zero_only

from zoo.core.metrics_csv import read_metrics
from zoo.loggers.harmless import Dashboard, first_line, harmless
from zoo.loggers.logged_settings import logged_settings
from zoo.loggers.wandb_id import keep_wandb_id, wandb_id
from zoo.loggers.wandb_settings import Mode, library, mode, refused_project
from zoo.training.checkpoint import read_checkpoint

log = logging.getLogger(__name__)

_STEP = "trainer/global_step"
_LONGEST_TAG = 64
_LONGEST_NAME = 128
"""The most characters that W&B's server takes in a name or a group; those of sweeps can be longer."""


class WandbLogger(Dashboard, LightningWandbLogger):
    """Logs to W&B against one step axis, `trainer/global_step`; its errors do not end the training.

    All runs write below one folder, so that `zoo watch` shows them together. Where the server does not
    answer, the run goes on offline, and `wandb sync` uploads it later. The summary of a validation metric
    that has a direction is its best value, also over the parts of a resumed run; of others the last.

    Args:
        folder: the run's folder; its short id is the W&B id, unless a W&B agent drew another.
        wandb_dir: the common folder of all runs.
        project: the W&B project.
        name: the run's name.
        group: the sweep's name; None for a single run.
        tags: tags; the group is added, for the filter of `wandb leet`.
        log_model: whether a finished run's best checkpoint becomes an artifact.
        timeout: the most seconds to wait for the server at the start, and for the upload at the end.

    Raises:
        ValueError: W&B takes no such project or tag, or the timeout is not positive.
    """

    shown_by = "W&B"

    def __init__(
        self,
        *,
        folder: str | Path,
        wandb_dir: str | Path,
        project: str,
        name: str,
        group: str | None = None,
        tags: Sequence[str] = (),
        log_model: bool = False,
        timeout: float = 20.0,
    ) -> None:
        if refused := refused_project(project):
            raise ValueError(f"project {refused}")
        if not timeout > 0:
            raise ValueError(f"timeout must be above 0 seconds, got {timeout}")
        for tag in tags:
            if not 1 <= len(tag) <= _LONGEST_TAG:
                raise ValueError(f"tags must have 1 to {_LONGEST_TAG} characters, got {tag!r} ({len(tag)})")
        super().__init__(
            name=name[:_LONGEST_NAME],
            save_dir=str(wandb_dir),
            project=project,
            group=group and group[:_LONGEST_NAME],
            tags=list(dict.fromkeys([*([group[:_LONGEST_TAG]] if group else []), *tags])),
            id=wandb_id(Path(folder)),
        )
        self._folder = Path(folder)
        self._logs_best = log_model
        self._timeout = timeout
        self._summarised: set[str] = set()
        self._wandb_init.pop("anonymous")  # Lightning passes it on, and W&B warns of it

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The W&B run, started at its first use by the first process; elsewhere its methods do nothing."""
        return self.started(self._begin) if self._experiment is None else self._experiment

    @harmless
    @rank_zero_only
    def log_hyperparams(self, params: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Logs the configuration, see `logged_settings`."""
        if (run := self._run()) is not None:
            run.config.update(logged_settings(params), allow_val_change=True)

    @harmless
    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Logs values at a step."""
        if metrics and (run := self._run()) is not None:
            for name in metrics.keys() - self._summarised:
                if name in self.better:
                    run.define_metric(name, step_metric=_STEP, step_sync=True, summary=self.better[name])
            self._summarised |= metrics.keys()
            super().log_metrics(metrics, step)

    @harmless
    @rank_zero_only
    def log_image(self, key: str, images: list[Any], step: int | None = None, **kwargs: Any) -> None:
        """Logs images under a key."""
        super().log_image(key, images, step, **kwargs)

    @harmless
    @rank_zero_only
    def log_table(self, key: str, *args: Any, **kwargs: Any) -> None:
        """Logs a table under a key."""
        super().log_table(key, *args, **kwargs)

    def finish(self, exit_code: int) -> None:
        """Ends the W&B run; the exit code 0 means `finished`, any other `failed`."""
        if self._experiment is None:
            return
        try:
            try:
                # W&B summarises a resumed run only since it was resumed.
                self._experiment.summary.update(_best_values(self._folder / "metrics.csv", self.better))
                if self._logs_best and exit_code == 0:
                    self._log_best(self._experiment)
            finally:
                self._experiment.finish(exit_code=exit_code)
        except Exception as error:  # the results are in the run's folder
            self.warn(error)
            _let_go()
        self._experiment = None

    def _run(self) -> Any:
        """The W&B run; None where it could not be started."""
        run = self.experiment
        return None if self.failed else run

    def _begin(self) -> Any:
        try:
            run = self._start(mode())
            if run.id != self._id:
                keep_wandb_id(self._folder, run.id)
            run.define_metric(_STEP)
            run.define_metric("*", step_metric=_STEP, step_sync=True)
        except Exception:
            _let_go()
            raise
        self._experiment = run
        return run

    def _log_best(self, run: Any) -> None:
        wandb = library()
        best = read_checkpoint(self._folder)
        artifact = wandb.Artifact(f"model-{run.id}", "model", metadata={"step": best.step, **best.metrics})
        # Not copied: the file does not change any more.
        artifact.add_file(str(best.path), policy="immutable")
        run.log_artifact(artifact, aliases=["best"])

    def _start(self, wanted: Mode) -> Any:
        wandb = library()
        folder = Path(self._wandb_init["dir"])
        folder.mkdir(parents=True, exist_ok=True)
        settings = wandb.Settings(
            init_timeout=self._timeout, finish_timeout=self._timeout, console="off", silent=True
        )
        start = {**self._wandb_init, "settings": settings, "reinit": "create_new"}
        if wanted == "online":
            pattern = f"wandb/run-*-{self._id}"
            earlier = set(folder.glob(pattern))  # of the same run, which is being resumed
            try:
                return wandb.init(**start, mode="online")
            except Exception as error:  # no server, no network, a key it does not know
                log.warning("W&B cannot be reached, the run is logged offline: %s", first_line(error))
                _let_go()  # its background process would still hold the run's id
                for attempt in set(folder.glob(pattern)) - earlier:
                    shutil.rmtree(attempt, ignore_errors=True)  # an empty run beside the offline one
        # `resume` offline, too: `wandb sync` then asks the server where the run stands, and counts on.
        return wandb.init(**start, mode="offline" if wanted == "online" else wanted)


def finish(loggers: Iterable[Logger], exit_code: int) -> None:
    """Ends the W&B runs among the loggers."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger.finish(exit_code)


def _let_go() -> None:
    """Ends W&B's background process, which may be gone."""
    with suppress(Exception):
        library().teardown()


def _best_values(path: Path, better: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The best value of each validation metric in metrics.csv, such as `{"val/error": {"min": 0.1}}`."""
    best: dict[str, dict[str, float]] = {}
    for row in read_metrics(path) if path.exists() else ():
        if row.name in better and not math.isnan(row.value):
            way = better[row.name]
            values = [row.value, *best.get(row.name, {}).values()]
            best[row.name] = {way: max(values) if way == "max" else min(values)}
    return best
