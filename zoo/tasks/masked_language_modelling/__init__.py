"""The task masked language modelling."""

from zoo.tasks.masked_language_modelling.task import MaskedLanguageModelling

__all__ = ["MaskedLanguageModelling"]
