"""The task recognition, with all that it alone needs."""

from zoo.tasks.recognition.task import RecognitionTask

__all__ = ["RecognitionTask"]
