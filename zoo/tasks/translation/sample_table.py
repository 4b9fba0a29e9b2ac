"""A few translations beside their references."""

from pathlib import Path

from zoo.tasks.samples import Samples
from zoo.tasks.translation.batch import TranslationBatch


class SampleTable(Samples):
    """Shows the translations of a few validation sentences, see `Samples`.

    Args:
        folder: the run's folder.
        sentences: how many, at most 8.
        every_n_validations: k.
    """

    batch_type = TranslationBatch
    given = "source"

    def __init__(self, *, folder: str | Path, sentences: int = 4, every_n_validations: int = 1) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, sentences=sentences)
