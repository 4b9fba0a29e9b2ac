"""The task matching."""

from zoo.tasks.matching.task import MatchingTask

__all__ = ["MatchingTask"]
