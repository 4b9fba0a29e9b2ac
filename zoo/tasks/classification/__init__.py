"""The task classification."""

from zoo.tasks.classification.task import ClassificationTask

__all__ = ["ClassificationTask"]
