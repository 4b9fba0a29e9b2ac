"""A few captions, beside what they should be."""

from pathlib import Path

from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.samples import Samples
from zoo.training.callbacks.fixed import require_few


class CaptionTable(Samples):
    """Shows the same few validation images, by name, with their captions, see `Samples`.

    Args:
        folder: the run's folder.
        images: how many, at most 8.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    batch_type = CaptionBatch
    given = "image"

    def __init__(self, *, folder: str | Path, images: int = 4, every_n_validations: int = 1) -> None:
        require_few(images=images)
        super().__init__(folder=folder, number=images, every_n_validations=every_n_validations)
