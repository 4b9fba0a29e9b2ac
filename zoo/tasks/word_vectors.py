"""Networks that begin with word vectors which somebody else has learned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

import lightning.pytorch as pl
import torch
from torch import Tensor, nn

from zoo.core.problems import Problem
from zoo.core.word_vectors import vector_size
from zoo.tasks.rules import Configured


class HasVectors(Protocol):
    """Data that may know vectors of its tokens.

    Attributes:
        tune_vectors: whether they learn with the rest.
    """

    tune_vectors: bool

    @property
    def vectors(self) -> Tensor | None:
        """`(V, D)`, one for each token; None without any. It may read a file."""


class Embeds(Protocol):
    """A network that embeds tokens.

    Attributes:
        embed: vectors of its tokens.
    """

    embed: nn.Embedding


def begin_with_vectors(network: Embeds, trainer: pl.Trainer) -> None:
    """Puts the data's vectors, if it has any, into a network that is to be trained; freezes them if asked to.

    Call it in a task's `setup`, in every stage: what is frozen counts as such in a test, too. Only a training
    that begins reads the file; one that goes on, and a test, have the vectors of a checkpoint.

    Args:
        network: as it was built.
        trainer: with the data module.

    Raises:
        FileNotFoundError: the data's file is missing.
        ValueError: the vectors cannot be used, or are of another size than the network's.
    """
    if not hasattr(found := getattr(trainer, "datamodule", None), "tune_vectors"):
        return
    data = cast(HasVectors, found)
    weight = network.embed.weight
    weight.requires_grad_(data.tune_vectors)
    begins = trainer.state.fn == "fit" and trainer.ckpt_path is None
    if not begins or (vectors := data.vectors) is None:
        return
    if vectors.shape != weight.shape:
        raise ValueError(
            f"data.vectors have {vectors.shape[1]} numbers, but model.embedding_size={weight.shape[1]}"
            if len(vectors) == len(weight)
            else f"data.vectors are {len(vectors)}, but the network embeds {len(weight)} tokens"
        )
    with torch.no_grad():
        weight.copy_(vectors)


def vectors_fit_network(configured: Configured) -> Iterator[Problem]:
    """A file of vectors has as many numbers for each word as the model's embedding; for `Task.rules`."""
    file, size = (
        configured.config[part].get(key) for part, key in (("data", "vectors"), ("model", "embedding_size"))
    )
    if not file or not isinstance(size, int):
        return
    try:
        found = vector_size(Path(file).expanduser())
    except (OSError, ValueError):  # said of the data's files, and a resumed training needs none
        return
    if found != size:
        yield Problem("model.embedding_size", f"must be {found}, as data.vectors={file} has them, got {size}")
