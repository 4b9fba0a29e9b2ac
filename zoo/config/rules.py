"""What parts of a configuration ask of each other. A rule yields the problems it sees; RULES lists all."""

import math
import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from zoo.config.allowed import is_own, locate
from zoo.config.choices import data_for, models_for
from zoo.config.dashboards import loggers_write_where_they_are_read, wandb_can_begin
from zoo.config.instantiate import instantiate
from zoo.config.values import TARGET, annotations, shown, takes_path
from zoo.core.problems import ConfigError, Problem, joined
from zoo.loggers.metrics_file import MetricsFile
from zoo.networks.encoders import PublishedEncoder
from zoo.networks.positions import Learned
from zoo.runs.frozen import Config
from zoo.runtime.compiling import missing_tools
from zoo.runtime.launch import find_launch
from zoo.runtime.leases import gpus_wanted
from zoo.tasks.rules import Configured, uses_attention
from zoo.tasks.task import Task
from zoo.training.callbacks import DivergenceGuard, LastCheckpoint, RandomState, StepAxis, Throughput
from zoo.training.callbacks.final_validation import longer_than_epoch
from zoo.training.schedules import Vaswani

Rule = Callable[[Config, Collection[str]], Iterator[Problem]]


_MOST_WORDS = 3
"""How many choices a message proposes."""
_SMALLEST_RATE = 1e-5
"""With a lower one from the first step to the last a new model learns nothing."""


def _target(node: Any) -> type | None:
    return locate(node["_target_"]) if isinstance(node, dict) and "_target_" in node else None


NEEDED: dict[str, dict[str, type]] = {
    "callbacks": {
        "best": ModelCheckpoint,
        "last": LastCheckpoint,
        "random_state": RandomState,
        "divergence": DivergenceGuard,
        "step_axis": StepAxis,
        "throughput": Throughput,
    },
    "logger": {"metrics": MetricsFile},
}
"""What no run can do without: its checkpoints, its numbers, and the guard over both."""

DDP = ("ddp", "ddp_find_unused_parameters_true")
"""Lightning's names of training in several processes where all weights learn at every step, and where not."""

_NAME = re.compile(r"(?!\.*$)[^/\\]{1,100}")


def configured(config: Config, given: Collection[str]) -> Configured:
    """A configuration, as tasks see it."""
    return Configured(config, given, _target, instantiate)


def learned_positions_cover_the_data(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Learned positions have a vector for each, so there is a last one."""
    longest, key = config["data"].get("maximum_length"), "model.positions"
    part = config["model"].get("positions")
    covered = (part or {}).get("maximum_length")
    if _target(part) is Learned and longest and covered and covered < longest:
        yield Problem(
            f"{key}.maximum_length",
            f"{covered} positions have a vector, but data.maximum_length={longest}: "
            f"leave {key}.maximum_length alone, or shorten the data",
        )


def sampling_needs_reinforce(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """No gradient flows through a sample."""
    selection, task = _target(config.get("selection")), config["task"]
    if getattr(selection, "samples", False) and not task.get("reinforce"):
        trained = "only task.reinforce can train; give task.reinforce, or"
        remedy = trained if "reinforce" in task else "nothing trains in this task;"
        yield Problem(
            "selection",
            f"{selection.__name__} samples what it reads, which {remedy} "  # type: ignore[union-attr]
            "take selection=soft or selection=gumbel_hard",
        )


def soft_baseline_has_soft_attention(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A baseline of the expected reward needs a network that can attend softly, too."""
    baseline = _target((config["task"].get("reinforce") or {}).get("baseline"))
    decoder, task = _target(config["model"].get("decoder")), _task(config)
    if not task.reinforced(configured(config, given)):
        return
    if getattr(baseline, "reads_softly", False) and not getattr(decoder, "reads_softly", False):
        yield Problem(
            "task.reinforce.baseline",
            f"{baseline.__name__} needs the expected reward under soft attention, which "  # type: ignore[union-attr]
            f"{getattr(decoder, '__name__', 'the model')} cannot tell; "
            "take zoo.attention.MovingAverageBaseline or zoo.attention.LearnedBaseline",
        )


def chosen_parts_are_used(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A choice that no part takes would give one model two names in a comparison."""
    takers = {
        "attention": (uses_attention(config["model"]), "the model has no attention"),
        "selection": (
            uses_attention(config["model"], "selection"),
            "the model uses scores as they are, and selects nothing"
            if uses_attention(config["model"])
            else "the model has no attention",
        ),
        "policy": ("policy" in config["model"], "the model does not choose where to look"),
        "decoding": ("decoding" in config["task"], "the task writes no text"),
    }
    unused = _task(config).unused_settings(configured(config, given))
    takers |= {key: (False, reason) for key, reason in unused.items()}
    for key, (taken, reason) in takers.items():
        asked = [text for text in given if f"{text.partition('=')[0]}.".startswith(f"{key}.")]
        if asked and not taken:
            yield Problem(key, f"{asked[0]} changes nothing: {reason}; leave it out")


def rules_of_the_task(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """What the task itself asks."""
    for rule in _task(config).rules:
        yield from rule(configured(config, given))


def monitor_is_measured(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """What no validation measures can pick no checkpoint; that would be noticed after the first one."""
    task = _task(config)
    try:
        absent = task.absent_metrics(configured(config, given))
    except ConfigError:  # which is said where the whole is put together
        return
    try:
        task.mode_of(config["task"]["monitor"], absent)
    except ValueError as error:
        yield Problem("task.monitor", str(error))


def data_is_what_the_task_takes(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Data and task have the same type of batch. No other rule makes sense where this fails."""
    made, task = _batch_type(config["data"]), _target(config["task"])
    if task is None or not issubclass(task, Task):
        yield Problem("task", f"must be a task, got {task and task.__name__}")
        return
    if made is None:
        kind = _target(config["data"])
        yield Problem("data", f"must be a data module that says its batch_type, got {kind and kind.__name__}")
        return
    taken = task.batch_type
    if made is not taken:
        said = f"has {made.contents()}, but {task.__name__} takes {taken.contents()}"  # type: ignore[attr-defined]
        words = [*models_for(made), *data_for(taken)]
        chosen = {text.partition("=")[0] for text in given}
        if "model" in chosen and "data" not in chosen:
            words.sort(key=lambda word: not word.startswith("data="))
        allowed = f", such as {_either(words)}" if words else ""
        yield Problem("data", f"{said}; take another data=, or another model= and task={allowed}")


def _either(words: list[str]) -> str:
    """`model=a or model=b`: the first few, those of the first one's kind."""
    kind = words[0].partition("=")[0]
    shown = [word for word in words if word.startswith(f"{kind}=")][:_MOST_WORDS]
    return " or ".join(shown)


def callbacks_fit_the_data(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A callback that draws images would stop a run on sentences at its first validation."""
    taken = _task(config).batch_type
    for name, callback in config["callbacks"].items():
        drawn = _batch_type(callback)
        if drawn is not None and drawn is not taken:
            said = f"shows {drawn.contents()}, but the data has {taken.contents()}"  # type: ignore[attr-defined]
            yield Problem(f"callbacks.{name}", f"{said}; leave it out")


def _task(config: Config) -> type[Task]:
    kind = _target(config["task"])
    assert kind is not None
    assert issubclass(kind, Task)
    return kind


def _batch_type(node: Any) -> type | None:
    """What data makes, a task takes, or a callback shows."""
    return getattr(_target(node), "batch_type", None)


def stored_features_are_the_encoders(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Features that are stored once must be those that the model's own encoder would see, for ever."""
    stored, encoder = config["data"].get("features"), config["model"].get("encoder")
    if stored is None or encoder is None:
        return
    if stored != encoder:
        message = "must be the model's own encoder, ${model.encoder}, which is what predictions will use"
        yield Problem("data.features", message)
    elif not issubclass(_target(encoder) or object, PublishedEncoder):
        message = "must be null: the encoder learns with the rest, so nothing it sees can be stored"
        yield Problem("data.features", message)
    elif encoder.get("fine_tune_from_epoch") is not None:
        message = "must be null where data.features are stored: they would not follow an encoder that learns"
        yield Problem("model.encoder.fine_tune_from_epoch", message)


def budget_ends(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A training must end by itself."""
    trainer = config["trainer"]
    limits = {name: trainer.get(name) for name in ("max_epochs", "max_steps", "max_time")}
    if all(limit in (None, -1) for limit in limits.values()):
        yield Problem("trainer", f"training would never end: give one of {', '.join(limits)}")


def learning_rate_is_not_tiny(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """The schedule of Vaswani et al. scales a rate of 1; others have the highest one as `optimizer.lr`."""
    scheduler, rate = config.get("scheduler"), config["optimizer"].get("lr")
    if scheduler and _target(scheduler) is Vaswani and rate and scheduler["model_size"]:
        highest = rate / math.sqrt(scheduler["model_size"] * scheduler["warmup_steps"])
        if 0 < highest < _SMALLEST_RATE:
            yield Problem(
                "optimizer.lr",
                f"{rate} makes {highest:.1e} the highest rate of scheduler=vaswani, which multiplies it with"
                " (model_size * warmup_steps)^-0.5: the paper has optimizer.lr=1",
            )


def limits_count_whole_steps(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Lightning's limits count micro-batches, of which several may make a step."""
    trainer = config["trainer"]
    parts = trainer.get("accumulate_grad_batches", 1)
    for name in ("limit_train_batches", "limit_val_batches", "limit_test_batches", "val_check_interval"):
        value = trainer.get(name)
        if parts > 1 and (isinstance(value, int) or (value is not None and name == "limit_train_batches")):
            yield Problem(
                f"trainer.{name}",
                f"{value} counts parts of batches, and trainer.accumulate_grad_batches={parts} makes a step"
                f" of {parts}: leave it out, or take trainer.accumulate_grad_batches=1",
            )


def validation_lies_within_an_epoch(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """As far as it is known without the data; `FinalValidation` checks the rest before the first step."""
    trainer, key = config["trainer"], "trainer.val_check_interval"
    interval, batches = trainer.get("val_check_interval"), trainer.get("limit_train_batches")
    if trainer.get("check_val_every_n_epoch", 1) is None:
        if not isinstance(interval, int):
            message = (
                f"must be a whole number where trainer.check_val_every_n_epoch=null, got {shown(interval)}: "
                "batches are counted across epochs, of which there is no share"
            )
            yield Problem(key, message)
    elif isinstance(interval, int) and isinstance(batches, int) and interval > batches:
        yield Problem(key, longer_than_epoch(interval, batches))


def compiler_is_installed(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """The first step of a training calls the compiler, after all the data was prepared."""
    if not config.get("compile") or "hydra/launcher=slurm" in given:  # of whose nodes nothing is known here
        return
    if missing := missing_tools(config["trainer"].get("accelerator", "auto")):
        yield Problem("compile", f"true needs {' and '.join(missing)}; or leave it out: results are the same")


def device_exists(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Says what to type instead of a device that this machine has not."""
    trainer = config["trainer"]
    accelerator, elsewhere = trainer.get("accelerator"), "hydra/launcher=slurm" in given
    if elsewhere and not any(text.partition("=")[0] == "trainer" for text in given):
        yield Problem("trainer", "what a SLURM node has is not known here: say trainer=gpu or trainer=cpu")
    if accelerator in ("gpu", "cuda") and not elsewhere:
        found, wanted = torch.cuda.device_count(), gpus_wanted(config, torch.cuda.device_count())
        if not torch.cuda.is_available():
            yield Problem("trainer.accelerator", "torch finds no GPU on this machine; take trainer=cpu")
        elif found < wanted:
            yield Problem("trainer.devices", f"{wanted} GPUs are asked for, and this machine has {found}")
        elif found == 1 and trainer.get("devices") == -1:
            yield Problem("trainer.devices", "this machine has one GPU; take trainer=gpu")
    if accelerator == "mps" and not elsewhere and not torch.backends.mps.is_available():
        other = "gpu" if torch.cuda.is_available() else "cpu"
        yield Problem(
            "trainer.accelerator", f"torch finds no Apple GPU on this machine; take trainer={other}"
        )
    if accelerator == "cpu" and trainer.get("precision") == "16-mixed":
        yield Problem("trainer.precision", "'16-mixed' needs a GPU; take bf16-mixed or 32-true")


def processes_are_started(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Several processes need a strategy, and a launcher that starts them."""
    trainer, launch = config["trainer"], find_launch()
    together = trainer.get("strategy") in DDP
    if together and trainer.get("use_distributed_sampler", True):
        message = "must be false with a strategy: token batches are shared out by their own sampler"
        yield Problem("trainer.use_distributed_sampler", message)
    devices, nodes = trainer.get("devices", 1), trainer.get("num_nodes", 1)
    if (devices != 1 or nodes != 1) and not together:
        message = (
            "a run trains on one device, but with trainer.strategy=ddp, as trainer=ddp, ddp_cpu and multinode"
            " have it; start a sweep to use several at once"
        )
        yield Problem("trainer.devices" if devices != 1 else "trainer.num_nodes", message)
    elif launch is None and nodes != 1:
        message = (
            "processes on several machines are started by torchrun, or by srun in a SLURM job: "
            "torchrun --nnodes 2 --nproc_per_node 1 ... train.py trainer=multinode (docs/multinode.md)"
        )
        yield Problem("trainer.num_nodes", message)
    elif launch is not None:
        each = gpus_wanted(config, torch.cuda.device_count()) or devices
        if each != "auto" and each * nodes != launch.processes:
            message = (
                f"{launch.by} started {launch.processes} processes, but num_nodes x devices is {nodes} x"
                f" {each}: trainer=multinode takes both from it"
            )
            yield Problem("trainer.devices", message)


def frozen_weights_suit_the_strategy(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """DDP waits for the gradient of every weight, unless it looks for unused weights at each step."""
    first = (config["model"].get("encoder") or {}).get("fine_tune_from_epoch")
    if config["trainer"].get("strategy") == DDP[0] and first:
        yield Problem(
            "trainer.strategy",
            f"ddp waits for gradients of the encoder, which has none before epoch {first}"
            f" (model.encoder.fine_tune_from_epoch): take trainer.strategy={DDP[1]}",
        )


def needed_parts_are_present(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Some callbacks may be left out; no run works without these."""
    for group, parts in NEEDED.items():
        for name, kind in parts.items():
            found = _target(config[group].get(name))
            if found is None or not issubclass(found, kind):
                got = "is missing" if found is None else f"is a {found.__name__}"
                yield Problem(f"{group}.{name}", f"{got}: every run needs this {kind.__name__}")


def files_have_their_names(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Tests, results and predictions look for best.ckpt, resuming for last.ckpt, compare for metrics.csv."""
    run = config["paths"]["run_dir"]
    fixed: dict[str, dict[str, tuple[Any, str]]] = {
        "callbacks.best": {
            "dirpath": (str(Path(run) / "checkpoints"), "the folder checkpoints in paths.run_dir"),
            "filename": ("best", "'best'"),
            "monitor": (config["task"].get("monitor"), "task.monitor"),
            "save_on_train_epoch_end": (False, "false: a validation comes before it"),
            "enable_version_counter": (False, "false"),
        },
        "callbacks.last": {"folder": (run, "paths.run_dir")},
        "logger.metrics": {"path": (str(Path(run) / "metrics.csv"), "metrics.csv in paths.run_dir")},
    }
    for full, values in fixed.items():
        group, _, name = full.partition(".")
        part = config[group].get(name)
        found = _target(part)
        if found is None or not issubclass(found, NEEDED[group][name]):  # which another rule says
            continue
        for key, (value, meant) in values.items():
            if part.get(key) != value:
                yield Problem(f"{full}.{key}", f"must be {meant}, got {shown(part.get(key))}")


def paths_stay_in_their_folders(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A config.yaml may come from anywhere: only `paths` says where files are written."""
    paths = {name: os.path.normpath(text) for name, text in config["paths"].items() if text}
    for key, value in _written_paths({name: config[name] for name in ("callbacks", "logger")}):
        wanted = "wandb_dir" if key.endswith((".wandb_dir", ".trackio_dir")) else "run_dir"
        exact = key.endswith((".folder", ".wandb_dir"))
        path = os.path.normpath(value)
        if path != paths.get(wanted) if exact else not _is_below(path, paths[wanted]):
            yield Problem(key, f"must {'be' if exact else 'lie in'} paths.{wanted}, got {shown(value)}")
    for key, value in _shared_folders({name: config[name] for name in ("data", "model", "task")}):
        if not any(_is_below(os.path.normpath(value), path) for path in paths.values()):
            yield Problem(key, f"must lie in one of the folders of paths, got {shown(value)}")


def _written_paths(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every path in what callbacks and loggers are built of, by its key.

    What is annotated as a path is one. Of classes that are not ours, which may join texts to paths, so is
    what would lead out of a folder.
    """
    if isinstance(node, list):
        node = dict(enumerate(node))
    if not isinstance(node, dict):
        return
    kind = _target(node)
    known = annotations(kind) if kind else {}
    own = kind is not None and is_own(kind)
    for name, value in node.items():
        if isinstance(value, str) and name != TARGET:
            leads_out = os.path.isabs(value) or ".." in Path(value).parts
            if takes_path(known.get(name)) or (leads_out and not own):
                yield joined(key, name), value
        else:
            yield from _written_paths(value, joined(key, name))


def _shared_folders(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every folder of data, weights and prepared files, by its key."""
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, dict | list):
            yield from _shared_folders(value, joined(key, name))
        elif isinstance(value, str) and str(name).endswith("_dir"):
            yield joined(key, name), value


def _is_below(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


def names_are_readable(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A name stands in the name of a folder, in tables and in W&B."""
    for key, value in (("name", config["name"]), ("sweep.name", config["sweep"]["name"])):
        if not isinstance(value, str):
            continue
        if not value or not value.isprintable():
            yield Problem(key, f"must be readable text on one line, got {shown(value)}")
        elif any(text.startswith(f"{key}=") for text in given) and not _NAME.fullmatch(value):
            rule = "must be a name of 1 to 100 characters without slashes"
            yield Problem(key, f"{rule}, got {shown(value)} ({len(value)} characters)")


def folders_can_be_made(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """No file stands where a folder of `paths` is needed."""
    for name, text in config["paths"].items():
        if not text:
            yield Problem(f"paths.{name}", "must name a folder, got nothing")
            continue
        path = Path(text)
        if name != "run_dir" and (
            file := next((one for one in (path, *path.parents) if one.is_file()), None)
        ):
            yield Problem(f"paths.{name}", f"must be a folder, but {file} is a file")


def batches_hold_the_longest_sentence(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A batch that cannot hold the longest sentence would hold one sentence each."""
    tokens, longest = config["data"].get("batch_tokens"), config["data"].get("maximum_length")
    if tokens and longest and 0 < tokens < longest:
        yield Problem(
            "data.batch_tokens",
            f"must hold the longest sentence, got {tokens} and data.maximum_length={longest}",
        )


RULES: tuple[Rule, ...] = (
    learned_positions_cover_the_data,
    sampling_needs_reinforce,
    chosen_parts_are_used,
    soft_baseline_has_soft_attention,
    rules_of_the_task,
    monitor_is_measured,
    callbacks_fit_the_data,
    stored_features_are_the_encoders,
    budget_ends,
    learning_rate_is_not_tiny,
    limits_count_whole_steps,
    validation_lies_within_an_epoch,
    compiler_is_installed,
    device_exists,
    processes_are_started,
    frozen_weights_suit_the_strategy,
    needed_parts_are_present,
    files_have_their_names,
    paths_stay_in_their_folders,
    names_are_readable,
    folders_can_be_made,
    loggers_write_where_they_are_read,
    wandb_can_begin,
    batches_hold_the_longest_sentence,
)
