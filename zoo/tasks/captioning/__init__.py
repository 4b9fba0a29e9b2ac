"""The task captioning, with all that it alone needs."""

from zoo.tasks.captioning.task import CaptioningTask

__all__ = ["CaptioningTask"]
