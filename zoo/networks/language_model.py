"""What all language models have in common: what they return for a window of text, and the step after it.

Shapes: B texts, W continuations of each, T tokens of a window, D features, V vocabulary.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from zoo.decoding import Step


class Modelled(NamedTuple):
    """A window of text as a language model has read it.

    Attributes:
        hidden: `(B, T, D)`; `output` turns position t into scores of token t + 1.
        state: what the next window of the same texts goes on from: any nesting of tuples and lists around
            tensors `(B, ...)`, zeros before anything was read. None of a network that reads each window for
            itself.
    """

    hidden: Tensor
    state: Any = None


class LanguageModel(Protocol):
    """A network that predicts each token from those before it.

    One with attention over its own past also has `attention_maps(tokens)`: the weights `(B, h, T, T)` of each
    layer while it reads `(B, T)`, by name.

    Attributes:
        output: scores of the vocabulary; the task computes the loss from its weights and `hidden`.
        carries: whether its state goes on from a window to the next.
        context: the most tokens that a prediction can depend on; None: no limit.
    """

    output: nn.Linear
    carries: bool
    context: int | None

    def __call__(self, tokens: Tensor, state: Any = None) -> Modelled:
        """Reads a window `(B, T)` of ids, from nothing where the state is None."""

    def init_state(self, batch_size: int) -> Any:
        """The state before the first step: tensors `(B, 1, ...)` on the network's device.

        Of a network that carries its state they are zeros, nested as in `Modelled.state`.
        """

    def step(self, tokens: Tensor, state: Any, memory: Any = None) -> Step:
        """Reads one more token `(B, W)` of every continuation; equal to reading the window at once."""


def step_by_window(network: LanguageModel, tokens: Tensor, state: Any) -> Step:
    """The step of a network that carries its state: a window of one token.

    Args:
        network: the network.
        tokens: `(B, W)`.
        state: tensors `(B, W, ...)`.
    """
    beams = tuple(tokens.shape)
    read = network(tokens.reshape(-1, 1), tree_map(lambda part: part.flatten(0, 1), state))
    log_probs = network.output(read.hidden[:, 0]).float().log_softmax(-1)
    unflat = tree_map(lambda part: part.unflatten(0, beams), read.state)
    return Step(log_probs.unflatten(0, beams), unflat)


def begun_anew(state: Any, carried: Tensor) -> Any:
    """A state of windows in which the rows that do not go on, False in `carried (B,)`, are zeros."""

    def kept(part: Tensor) -> Tensor:
        rows = carried.view(-1, *[1] * (part.dim() - 1))
        return part.where(rows, torch.zeros((), dtype=part.dtype, device=part.device))

    return tree_map(kept, state)
