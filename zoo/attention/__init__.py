"""The attention library: pure torch, one set of parts for every model.

`Attention` joins three things that combine freely: a `Score` (how alike are query and key), a `Selection`
(which keys are read, and how hard) and a mask (which keys may be read). `zoo.attention.memory` explains the
shapes; docs/attention.md is the catalogue.
"""

from zoo.attention.attention import Attention
from zoo.attention.content_and_location import ContentAndLocation
from zoo.attention.glimpse import GlimpseSensor
from zoo.attention.location_policy import CenterPolicy, LearnedPolicy, LocationPolicy, Look, RandomPolicy
from zoo.attention.masks import causal_mask, combine, padding_mask
from zoo.attention.memory import Attended, Memory, Selected, join_readings
from zoo.attention.multi_head import MultiHeadAttention
from zoo.attention.regularizers import doubly_stochastic_penalty
from zoo.attention.reinforce import (
    Baseline,
    ConstantBaseline,
    LearnedBaseline,
    MovingAverageBaseline,
    NoBaseline,
    Reinforce,
    ReinforceTerms,
    SoftReadingBaseline,
    reward_to_go,
)
from zoo.attention.rotary import Rotary
from zoo.attention.scores import (
    Additive,
    Cosine,
    Dot,
    Euclidean,
    General,
    LinearConcat,
    Location,
    ScaledDot,
    Score,
    Uniform,
    covering,
)
from zoo.attention.selections import GumbelHard, Hard, LocalMonotonic, LocalPredictive, Selection, Soft
from zoo.attention.self_attention import SelfAttention
from zoo.attention.softmax import masked_softmax
from zoo.attention.sparse import Entmax, Sparsemax
from zoo.attention.static import Static

__all__ = [
    "Additive",
    "Attended",
    "Attention",
    "Baseline",
    "CenterPolicy",
    "ConstantBaseline",
    "ContentAndLocation",
    "Cosine",
    "Dot",
    "Entmax",
    "Euclidean",
    "General",
    "GlimpseSensor",
    "GumbelHard",
    "Hard",
    "LearnedBaseline",
    "LearnedPolicy",
    "LinearConcat",
    "LocalMonotonic",
    "LocalPredictive",
    "Location",
    "LocationPolicy",
    "Look",
    "Memory",
    "MovingAverageBaseline",
    "MultiHeadAttention",
    "NoBaseline",
    "RandomPolicy",
    "Reinforce",
    "ReinforceTerms",
    "Rotary",
    "ScaledDot",
    "Score",
    "Selected",
    "Selection",
    "SelfAttention",
    "Soft",
    "SoftReadingBaseline",
    "Sparsemax",
    "Static",
    "Uniform",
    "causal_mask",
    "combine",
    "covering",
    "doubly_stochastic_penalty",
    "join_readings",
    "masked_softmax",
    "padding_mask",
    "reward_to_go",
]
