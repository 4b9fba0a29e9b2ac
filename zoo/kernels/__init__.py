"""Fast paths: torch only, each tested against its plain twin."""

from zoo.kernels.additive_score import additive_score
from zoo.kernels.cross_entropy import linear_cross_entropy
from zoo.kernels.dropout import Dropout
from zoo.kernels.fused_rollout import FusedRollout, RolloutWeights
from zoo.kernels.heads import split_heads
from zoo.kernels.onednn import Linear, linear
from zoo.kernels.precision import as_factor
from zoo.kernels.repeated_linear import RepeatedLinear
from zoo.kernels.short_attention import short_attention

__all__ = [
    "Dropout",
    "FusedRollout",
    "Linear",
    "RepeatedLinear",
    "RolloutWeights",
    "additive_score",
    "as_factor",
    "linear",
    "linear_cross_entropy",
    "short_attention",
    "split_heads",
]
