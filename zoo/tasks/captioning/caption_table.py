"""A few captions beside their references."""

from pathlib import Path

from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.samples import Samples


class CaptionTable(Samples):
    """Shows the captions of a few validation images, named by their files, see `Samples`.

    Args:
        folder: the run's folder.
        images: how many, at most 8.
        every_n_validations: k.
    """

    batch_type = CaptionBatch
    given = "image"

    def __init__(self, *, folder: str | Path, images: int = 4, every_n_validations: int = 1) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, images=images)
