"""Lightning callbacks: what a run does besides learning."""

from zoo.training.callbacks.averaging import CheckpointAveraging, ExponentialAveraging
from zoo.training.callbacks.best_checkpoint import BestCheckpoint
from zoo.training.callbacks.compiling import Compiling
from zoo.training.callbacks.divergence import Diverged, DivergenceGuard
from zoo.training.callbacks.last_checkpoint import LastCheckpoint
from zoo.training.callbacks.memory_advice import MemoryAdvice
from zoo.training.callbacks.network_summary import NetworkSummary
from zoo.training.callbacks.one_batch import OneBatch
from zoo.training.callbacks.progress import Progress
from zoo.training.callbacks.random_state import RandomState
from zoo.training.callbacks.self_description import SelfDescription
from zoo.training.callbacks.step_axis import StepAxis
from zoo.training.callbacks.throughput import Throughput

__all__ = [
    "BestCheckpoint",
    "CheckpointAveraging",
    "Compiling",
    "Diverged",
    "DivergenceGuard",
    "ExponentialAveraging",
    "LastCheckpoint",
    "MemoryAdvice",
    "NetworkSummary",
    "OneBatch",
    "Progress",
    "RandomState",
    "SelfDescription",
    "StepAxis",
    "Throughput",
]
