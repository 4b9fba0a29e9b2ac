"""The task captioning."""

from zoo.tasks.captioning.task import CaptioningTask

__all__ = ["CaptioningTask"]
