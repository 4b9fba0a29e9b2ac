"""Fast paths: torch only, each tested against its plain twin."""

from zoo.kernels.cross_entropy import linear_cross_entropy
from zoo.kernels.dropout import Dropout

__all__ = ["Dropout", "linear_cross_entropy"]
