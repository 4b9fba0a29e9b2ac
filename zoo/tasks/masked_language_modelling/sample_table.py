"""A few texts with masks, and what the model fills in."""

from pathlib import Path

from zoo.tasks.masked_language_modelling.batch import MaskedBatch
from zoo.tasks.samples import Samples


class SampleTable(Samples):
    """Shows a few validation texts with their masks filled, see `Samples`.

    Args:
        folder: the run's folder.
        texts: how many, at most 8.
        every_n_validations: k.
    """

    batch_type = MaskedBatch
    given = "text"

    def __init__(self, *, folder: str | Path, texts: int = 4, every_n_validations: int = 1) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, texts=texts)
