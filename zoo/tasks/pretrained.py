"""Networks that begin with the weights of another run."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import lightning.pytorch as pl
import torch
from torch import nn

from zoo.core.problems import Problem
from zoo.core.spec import DataSpec, TextSpec
from zoo.tasks.rules import Configured
from zoo.training.checkpoint import Checkpoint, CheckpointError, read_checkpoint

_log = logging.getLogger(__name__)

_SHAPING = (
    "model_size",
    "feed_forward_size",
    "heads",
    "layers",
    "positions",
    "attention",
    "activation",
    "pre_norm",
)
"""Settings of a model that decide what its weights mean."""


def begin_with_run(network: nn.Module, spec: DataSpec, trainer: pl.Trainer) -> None:
    """Puts the weights of `network.pretrained`, a run, into a network that is to be trained.

    Call it in a task's `setup`, in every stage. Only a training that begins reads the run: one that goes on,
    and a test, have the weights of a checkpoint. All weights of the run's network are taken whose names the
    network has, or its part `pretrained_part`; the others are new.

    Args:
        network: as it was built; without an attribute `pretrained`, or with None, it stays so.
        spec: of its data.
        trainer: with which it is trained.

    Raises:
        CheckpointError: the run cannot be read, its tokens are others, or its weights do not fit, or are some
            of a part alone.
    """
    run = getattr(network, "pretrained", None)
    if run is None or trainer.state.fn != "fit" or trainer.ckpt_path is not None:
        return
    checkpoint = read_checkpoint(run)
    _require_same_tokens(checkpoint, spec)
    own = network.state_dict()
    part = getattr(network, "pretrained_part", "")
    given = {
        part + name.removeprefix("network."): weight
        for name, weight in checkpoint.state_dict.items()
        if name.startswith("network.")
    }
    taken = {name: weight for name, weight in given.items() if name in own}
    if not taken:
        raise CheckpointError(f"model.pretrained={run} has no weight of a {type(network).__name__}")
    for name, weight in taken.items():
        if weight.shape != own[name].shape:
            raise CheckpointError(
                f"model.pretrained={run} does not fit: {name} is {tuple(weight.shape)} there and"
                f" {tuple(own[name].shape)} here"
            )
    parts = {name.split(".")[0] for name in taken}
    if lacking := sorted(name for name in own.keys() - taken if name.split(".")[0] in parts):
        raise CheckpointError(
            f"model.pretrained={run} has {len(taken)} weights of a {type(network).__name__}, and of the same"
            f" parts lacks {len(lacking)}, such as {lacking[0]}: it is a run of another model"
        )
    with torch.no_grad():
        for name, weight in taken.items():
            own[name].copy_(weight)
    _log.info(
        "%d of %d weights come from %s; new are %s",
        *(len(taken), len(own), checkpoint, ", ".join(sorted(own.keys() - taken.keys())) or "none"),
    )


def _require_same_tokens(checkpoint: Checkpoint, spec: DataSpec) -> None:
    there, here = (
        {one.tokenizer for one in part.fields.values() if isinstance(one, TextSpec)}
        for part in (checkpoint.spec, spec)
    )
    if there != here:
        raise CheckpointError(
            f"{checkpoint.path} was trained with another vocabulary than data.tokenizer makes:"
            " take data/tokenizer=of_run"
        )


def run_fits_network(configured: Configured) -> Iterator[Problem]:
    """The run of `model.pretrained` can be read, and has the sizes and the tokens; for `Task.rules`."""
    model, data = configured.config["model"], configured.config["data"]
    run = model.get("pretrained")
    if run is None:
        return
    tokens_of = (data.get("tokenizer") or {}).get("run")
    if tokens_of != run:
        got = "one of its own" if tokens_of is None else f"that of {tokens_of}"
        yield Problem(
            "data.tokenizer", f"must be that of model.pretrained={run}, got {got}; take data/tokenizer=of_run"
        )
    try:
        trained: Mapping[str, Any] = read_checkpoint(run).config["model"]
    except (CheckpointError, KeyError) as error:
        yield Problem("model.pretrained", str(error))
        return
    if lacking := [key for key in _SHAPING if key in model and key not in trained]:
        kind = str(trained.get("_target_")).rpartition(".")[2]
        message = f"must be a run of a model like this one; {run} is of {kind}, without {', '.join(lacking)}"
        yield Problem("model.pretrained", message)
        return
    for key in _SHAPING:
        if key in model and key in trained and model[key] != trained[key]:
            message = f"must be {trained[key]}, as model.pretrained={run} has it, got {model[key]}"
            yield Problem(f"model.{key}", message)
