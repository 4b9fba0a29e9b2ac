"""The task tracking, with all that it alone needs."""

from zoo.tasks.tracking.task import TrackingTask

__all__ = ["TrackingTask"]
