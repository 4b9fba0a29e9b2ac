"""The task captioning."""

from zoo.tasks.captioning.self_critical import SelfCritical
from zoo.tasks.captioning.task import CaptioningTask

__all__ = ["CaptioningTask", "SelfCritical"]
