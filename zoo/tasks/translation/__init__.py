"""The task translation."""

from zoo.tasks.translation.task import TranslationTask

__all__ = ["TranslationTask"]
