"""The task translation, with all that it alone needs."""

from zoo.tasks.translation.task import TranslationTask

__all__ = ["TranslationTask"]
