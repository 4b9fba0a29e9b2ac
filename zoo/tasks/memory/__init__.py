"""The task memory."""

from zoo.tasks.memory.task import MemoryTask

__all__ = ["MemoryTask"]
