"""A few pairs beside what they were taken for."""

from pathlib import Path

from zoo.tasks.matching.batch import MatchingBatch
from zoo.tasks.samples import Samples


class SampleTable(Samples):
    """Shows what a few validation pairs are taken for, see `Samples`.

    Args:
        folder: the run's folder.
        pairs: how many, at most 8.
        every_n_validations: k.
    """

    batch_type = MatchingBatch
    given = "pair"

    def __init__(self, *, folder: str | Path, pairs: int = 4, every_n_validations: int = 1) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, pairs=pairs)
