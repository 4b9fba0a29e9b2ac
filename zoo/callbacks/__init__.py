"""Lightning callbacks: what a run does besides learning."""

from zoo.callbacks.alignments import AlignmentFigures
from zoo.callbacks.averaging import CheckpointAveraging
from zoo.callbacks.best_checkpoint import BestCheckpoint
from zoo.callbacks.captions import CaptionFigures
from zoo.callbacks.compiling import Compiling
from zoo.callbacks.divergence import Diverged, DivergenceGuard
from zoo.callbacks.games import GameFigures
from zoo.callbacks.glimpses import GlimpseFigures
from zoo.callbacks.heartbeat import Heartbeat
from zoo.callbacks.last_checkpoint import LastCheckpoint
from zoo.callbacks.memory_advice import MemoryAdvice
from zoo.callbacks.one_batch import OneBatch
from zoo.callbacks.progress import Progress
from zoo.callbacks.random_state import RandomState
from zoo.callbacks.samples import CaptionTable, SampleTable
from zoo.callbacks.self_description import SelfDescription
from zoo.callbacks.step_axis import StepAxis
from zoo.callbacks.throughput import Throughput

__all__ = [
    "AlignmentFigures",
    "BestCheckpoint",
    "CaptionFigures",
    "CaptionTable",
    "CheckpointAveraging",
    "Compiling",
    "Diverged",
    "DivergenceGuard",
    "GameFigures",
    "GlimpseFigures",
    "Heartbeat",
    "LastCheckpoint",
    "MemoryAdvice",
    "OneBatch",
    "Progress",
    "RandomState",
    "SampleTable",
    "SelfDescription",
    "StepAxis",
    "Throughput",
]
