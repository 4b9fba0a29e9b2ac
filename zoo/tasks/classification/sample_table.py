"""The classes of a few texts beside the true ones."""

from pathlib import Path

from zoo.tasks.classification.batch import ClassificationBatch
from zoo.tasks.samples import Samples


class SampleTable(Samples):
    """Shows the classes of a few validation texts, see `Samples`.

    Args:
        folder: the run's folder.
        texts: how many, at most 8.
        every_n_validations: k.
    """

    batch_type = ClassificationBatch
    given = "text"

    def __init__(self, *, folder: str | Path, texts: int = 4, every_n_validations: int = 1) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, texts=texts)
