"""The task language modelling."""

from zoo.tasks.language_modelling.task import LanguageModelling

__all__ = ["LanguageModelling"]
