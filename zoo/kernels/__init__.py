"""Fast paths: torch only, each tested against its plain twin."""

from zoo.kernels.dropout import Dropout

__all__ = ["Dropout"]
