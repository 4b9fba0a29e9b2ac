"""Greedy decoding, sampling and beam search over any step function; they know no model."""

from zoo.decoding.beam import Beam, length_penalty
from zoo.decoding.greedy import Greedy
from zoo.decoding.sample import Sample
from zoo.decoding.step import Hypothesis, Step, StepFn

__all__ = ["Beam", "Greedy", "Hypothesis", "Sample", "Step", "StepFn", "length_penalty"]
