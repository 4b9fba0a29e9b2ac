"""Sequences of bit vectors to remember: the five tasks of Graves et al. 2014, section 4.

A kind of sequence makes one item of a given size from random numbers. It is read and answered in T steps:

- `inputs (T, C)`: the bit vectors, and channels of their own for delimiters and numbers
- `targets (T, O)`: the bits to answer with
- `scored (T,)`: the steps whose answer counts; the inputs are zero where an answer follows a question

The size is what lengths beyond those of training vary: see each kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Numbers = NDArray[np.float32]

LARGEST_ORDER = 20
"""Of an n-gram model: it has 2^19 contexts, whose probabilities take 4 MB for each item."""


class BitSequence(NamedTuple):
    """One item: `inputs (T, C)`, `targets (T, O)` and `scored (T,)`, of numbers, numbers and flags."""

    inputs: Numbers
    targets: Numbers
    scored: NDArray[np.bool_]


class BitSequences(ABC):
    """A kind of sequence.

    Attributes:
        name: of the kind.
        channels: C, of inputs.
        outputs: O, of targets.
        shortest, longest: the sizes of training.
    """

    name: str
    channels: int
    outputs: int

    def __init__(self, *, shortest: int, longest: int) -> None:
        """Takes the range of sizes.

        Raises:
            ValueError: it is empty.
        """
        require_range("shortest", shortest, "longest", longest)
        self.shortest, self.longest = shortest, longest

    @abstractmethod
    def item(self, size: int, random: Generator) -> BitSequence:
        """One item of that size."""

    def best_guess(self, item: BitSequence) -> Numbers | None:
        """Probabilities `(T, O)` that no predictor beats; None where the answer is certain."""
        return None


class Copy(BitSequences):
    """Copy (section 4.1): random vectors, a delimiter, then the vectors again. Size: how many vectors.

    Args:
        bits: in a vector.
        shortest: vectors, at least.
        longest: at most.
    """

    name = "copy"

    def __init__(self, *, bits: int = 8, shortest: int = 1, longest: int = 20) -> None:
        super().__init__(shortest=shortest, longest=longest)
        self.bits = require("bits", bits, 1)
        self.channels, self.outputs = bits + 1, bits

    def item(self, size: int, random: Generator) -> BitSequence:
        """See `BitSequences`; T = 2 size + 1."""
        vectors, item = random_bits(random, size, self.bits), empty(2 * size + 1, self.channels, self.outputs)
        item.inputs[:size, : self.bits] = vectors
        item.inputs[size, self.bits] = 1
        return answered(item, vectors)


class RepeatCopy(BitSequences):
    """Repeat copy (section 4.2): vectors, then how often to write them; an end marker follows the copies.

    The number of copies stands on a channel of its own, in the delimiter's step, with mean 0 and variance 1
    over training. The answer has a channel for the end marker. Size: how many vectors.

    Args:
        bits: in a vector.
        shortest: vectors, at least.
        longest: at most.
        most_copies: R; training has 1 to R copies.
        copies: every item has as many; 0: as in training.
    """

    name = "repeat_copy"

    def __init__(
        self, *, bits: int = 8, shortest: int = 1, longest: int = 10, most_copies: int = 10, copies: int = 0
    ) -> None:
        super().__init__(shortest=shortest, longest=longest)
        self.bits, self.most_copies = require("bits", bits, 1), require("most_copies", most_copies, 1)
        self.copies = require("copies", copies, 0)
        self.channels, self.outputs = bits + 2, bits + 1

    def item(self, size: int, random: Generator) -> BitSequence:
        """See `BitSequences`; T = size + 1 + size copies + 1."""
        copies = self.copies or int(random.integers(1, self.most_copies + 1))
        vectors = random_bits(random, size, self.bits)
        item = empty(size + 1 + size * copies + 1, self.channels, self.outputs)
        item.inputs[:size, : self.bits] = vectors
        spread = max((self.most_copies**2 - 1) / 12, 1e-9) ** 0.5
        item.inputs[size, self.bits :] = 1, (copies - (self.most_copies + 1) / 2) / spread
        answer = np.zeros((size * copies + 1, self.outputs), np.float32)
        answer[:-1, : self.bits] = np.tile(vectors, (copies, 1))
        answer[-1, self.bits] = 1
        return answered(item, answer)


class AssociativeRecall(BitSequences):
    """Associative recall (section 4.3): items, then one of them; the answer is the item that came after it.

    A delimiter stands before each item, another one before and behind the question. Size: how many items.

    Args:
        bits: in a vector.
        vectors: in an item.
        shortest: items, at least 2.
        longest: at most.
    """

    name = "associative_recall"

    def __init__(self, *, bits: int = 6, vectors: int = 3, shortest: int = 2, longest: int = 6) -> None:
        super().__init__(shortest=require("shortest", shortest, 2), longest=longest)
        self.bits, self.vectors = require("bits", bits, 1), require("vectors", vectors, 1)
        self.channels, self.outputs = bits + 2, bits

    def item(self, size: int, random: Generator) -> BitSequence:
        """See `BitSequences`; T = (1 + n) size + (2 + n) + n, of n vectors in an item."""
        n, bits = self.vectors, self.bits
        items = random_bits(random, size * n, bits).reshape(size, n, bits)
        asked = int(random.integers(size - 1))
        item = empty((1 + n) * size + 2 + 2 * n, self.channels, self.outputs)
        listed = item.inputs[: (1 + n) * size].reshape(size, 1 + n, self.channels)
        listed[:, 0, bits] = 1
        listed[:, 1:, :bits] = items
        question = item.inputs[(1 + n) * size :]
        question[[0, 1 + n], bits + 1] = 1
        question[1 : 1 + n, :bits] = items[asked]
        return answered(item, items[asked + 1])


class DynamicNGrams(BitSequences):
    """Dynamic n-grams (section 4.4): bits of a random n-gram model, each to be predicted from those before.

    Each of the 2^(n-1) contexts has a probability of a 1 of its own, from Beta(1/2, 1/2), anew for each item.
    The first n - 1 bits are fair coins and not predicted. Size: how many bits.

    Args:
        order: n, at most 20; the paper has 6.
        shortest: bits, at least; n or more, and 2 or more.
        longest: at most.
    """

    name = "dynamic_ngrams"
    channels = outputs = 1

    def __init__(self, *, order: int = 6, shortest: int = 200, longest: int = 200) -> None:
        require_range("order", order, "shortest", shortest)
        if order > LARGEST_ORDER:
            raise ValueError(
                f"order must be at most {LARGEST_ORDER}, got {order}: there are 2^(order - 1) contexts"
            )
        self.order = order
        super().__init__(shortest=require("shortest", shortest, 2), longest=longest)

    def item(self, size: int, random: Generator) -> BitSequence:
        """See `BitSequences`; T = size - 1."""
        known = self.order - 1
        chances = np.sin(np.pi / 2 * random.random(2**known)) ** 2  # the inverse of that Beta's distribution
        drawn, bits, context = random.random(size), np.zeros(size, np.float32), 0
        for place in range(size):
            chance = 0.5 if place < known else chances[context]
            bits[place] = drawn[place] < chance
            context = (2 * context + int(bits[place])) % 2**known
        scored = np.arange(1, size) >= known
        return BitSequence(bits[:-1, None], bits[1:, None], scored)

    def best_guess(self, item: BitSequence) -> Numbers:
        """Equation 10: `(N_1 + 1/2) / (N_1 + N_0 + 1)`, of the bits that followed the same context so far."""
        bits, known = [*item.inputs[:, 0].astype(int), int(item.targets[-1, 0])], self.order - 1
        counts, found, context = np.full((2**known, 2), 0.5), np.full((len(bits) - 1, 1), 0.5), 0
        for place, bit in enumerate(bits):
            if place >= known:
                if place:
                    found[place - 1] = counts[context, 1] / counts[context].sum()
                counts[context, bit] += 1
            context = (2 * context + bit) % 2**known
        return found.astype(np.float32)


class PrioritySort(BitSequences):
    """Priority sort (section 4.5): vectors with priorities; the answer are those of the highest, in order.

    A priority is uniform in [-1, 1], on a channel of its own; a delimiter comes before the answer. Size: how
    many vectors are shown.

    Args:
        bits: in a vector.
        shortest: vectors, at least.
        longest: at most.
        written: vectors of the answer; the paper has 16 of 20.
    """

    name = "priority_sort"

    def __init__(self, *, bits: int = 8, shortest: int = 20, longest: int = 20, written: int = 16) -> None:
        require_range("written", written, "shortest", shortest)
        self.written = written
        super().__init__(shortest=shortest, longest=longest)
        self.bits = require("bits", bits, 1)
        self.channels, self.outputs = bits + 2, bits

    def item(self, size: int, random: Generator) -> BitSequence:
        """See `BitSequences`; T = size + 1 + written."""
        vectors, priorities = random_bits(random, size, self.bits), 2 * random.random(size) - 1
        item = empty(size + 1 + self.written, self.channels, self.outputs)
        item.inputs[:size, : self.bits], item.inputs[:size, self.bits] = vectors, priorities
        item.inputs[size, self.bits + 1] = 1
        return answered(item, vectors[np.argsort(-priorities, kind="stable")[: self.written]])


KINDS = {kind.name: kind for kind in (Copy, RepeatCopy, AssociativeRecall, DynamicNGrams, PrioritySort)}
"""Every kind by its name."""


def kind_of(settings: Mapping[str, Any]) -> BitSequences:
    """The kind that a part of a configuration describes, without reading any package.

    Args:
        settings: `_target_` and the arguments.

    Raises:
        ValueError: this module has no such class.
    """
    target = str(settings["_target_"])
    for kind in KINDS.values():
        if target == f"{kind.__module__}.{kind.__qualname__}":
            return kind(**{name: value for name, value in settings.items() if name != "_target_"})
    raise ValueError(f"{target} makes the sequences, which is none of {', '.join(KINDS)}")


def empty(steps: int, channels: int, outputs: int) -> BitSequence:
    """An item of zeros in which no step counts."""
    return BitSequence(
        np.zeros((steps, channels), np.float32), np.zeros((steps, outputs), np.float32), np.zeros(steps, bool)
    )


def answered(item: BitSequence, answer: Numbers) -> BitSequence:
    """The item with an answer in its last steps."""
    item.targets[-len(answer) :] = answer
    item.scored[-len(answer) :] = True
    return item


def random_bits(random: Generator, count: int, bits: int) -> Numbers:
    """Fair bits `(count, bits)`."""
    return random.integers(0, 2, (count, bits)).astype(np.float32)


def require(name: str, value: int, least: int) -> int:
    """The value; ValueError where it is too small."""
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return value


def require_range(lower: str, low: int, upper: str, high: int) -> None:
    """Refuses an empty range of numbers from 1 on with a ValueError."""
    require(lower, low, 1)
    if high < low:
        raise ValueError(f"{upper} must be at least {lower}={low}, got {high}")
