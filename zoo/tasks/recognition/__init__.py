"""The task recognition."""

from zoo.tasks.recognition.task import RecognitionTask

__all__ = ["RecognitionTask"]
