"""A few translations, beside what they should be."""

from pathlib import Path

from zoo.tasks.samples import Samples
from zoo.tasks.translation.batch import TranslationBatch
from zoo.training.callbacks.fixed import require_few


class SampleTable(Samples):
    """Shows the same few validation sentences with their translations, see `Samples`.

    Args:
        folder: the run's folder.
        sentences: how many, at most 8.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    batch_type = TranslationBatch
    given = "source"

    def __init__(self, *, folder: str | Path, sentences: int = 4, every_n_validations: int = 1) -> None:
        require_few(sentences=sentences)
        super().__init__(folder=folder, number=sentences, every_n_validations=every_n_validations)
