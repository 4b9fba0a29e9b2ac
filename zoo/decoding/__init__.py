"""Greedy decoding, sampling and beam search over any step function."""

from zoo.decoding.beam import Beam, length_penalty
from zoo.decoding.greedy import Greedy
from zoo.decoding.sample import Sample
from zoo.decoding.step import Hypothesis, Search, Step, StepFn

__all__ = ["Beam", "Greedy", "Hypothesis", "Sample", "Search", "Step", "StepFn", "length_penalty"]
