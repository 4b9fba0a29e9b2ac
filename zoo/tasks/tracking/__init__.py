"""The task tracking."""

from zoo.tasks.tracking.task import TrackingTask

__all__ = ["TrackingTask"]
