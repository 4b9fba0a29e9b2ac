"""Training on CIDEr-D itself: what a model's own captions are worth."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from torch import Tensor

from zoo.decoding import Hypothesis, Step, StepFn
from zoo.decoding.sample import draw
from zoo.decoding.unroll import unroll
from zoo.kernels.noise import of_items, uniform
from zoo.metrics.cider import NgramWeights, score

END = "eos"
"""The end of a caption as a word."""
MOST = 100
"""Samples of an image: each holds the scores of the whole vocabulary for each of its words."""


class SelfCritical:
    """Self-critical sequence training (Rennie et al. 2017, section 4), behind cross-entropy.

    For each image captions w are sampled from the model, and one, v, is written by greedy search. With r the
    CIDEr-D against the image's references, the loss has the gradient of REINFORCE

        -(r(w) - r(v)) ∇ log p(w):

    what is better than the model's own answer becomes likelier, what is worse less likely. As in the paper
    the end of a caption counts as a word of it, else captions stop at "with a". Other than there, several
    captions of an image are sampled, and nothing has dropout: else words would not come from the p that is
    differentiated. Of hard readings that is nearly true: what is sampled by one reading is scored by another.

    Args:
        samples: captions sampled of each image in a batch.
        after: the share of the training, in steps or time, that is cross-entropy; 0: nothing of it.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(self, *, samples: int = 5, after: float = 0.8) -> None:
        if not 1 <= samples <= MOST:
            raise ValueError(f"samples must be from 1 to {MOST}, got {samples}")
        if not 0 <= after < 1:
            raise ValueError(f"after must be at least 0 and below 1, got {after}")
        self.samples, self.after = samples, after

    def weigh_by(self, references: Sequence[Sequence[str]]) -> None:
        """Takes the document frequencies of n-grams from the captions to train on, all of each image."""
        weights = NgramWeights([f"{text} {END}" for text in alternatives] for alternatives in references)
        self._weigh = lru_cache(maxsize=2**15)(weights.weigh)  # references come back

    def sample(self, step: StepFn, state: Any, memory: Any, **tokens: Any) -> list[list[Hypothesis]]:
        """Independent samples of each item; see `zoo.decoding.Search`.

        Args:
            step: see there.
            state: see there.
            memory: of all items, and their rows among those of `zoo.kernels.noise.keyed`.
            tokens: see there.
        """
        drawn: Tensor

        def drawing(words: Tensor, state: Any, memory: Any) -> Step:
            nonlocal drawn
            with of_items(memory[1]):
                drawn = uniform(words.shape, words.device)
            return step(words, state, memory)

        def choose(log_probs: Tensor) -> Tensor:
            return draw(log_probs.exp(), drawn)

        return unroll(choose, drawing, state, memory, width=self.samples, **tokens)

    def rewards(
        self, captions: Sequence[str], ended: Sequence[bool], references: Sequence[str]
    ) -> list[float]:
        """CIDEr-D of captions of one image, 0 to 10.

        Args:
            captions: the texts.
            ended: which of them have an end; the length limit cut off the others.
            references: all raw captions of the image.
        """
        truths = [self._weigh(f"{text} {END}") for text in references]
        written = [f"{text} {END}" if whole else text for text, whole in zip(captions, ended, strict=True)]
        return [score(self._weigh(text), truths) for text in written]
