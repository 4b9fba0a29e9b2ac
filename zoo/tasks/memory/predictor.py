"""Answers new sequences with a trained model."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zoo.core.bit_sequences import kind_of
from zoo.figures import bit_sequence_sheet
from zoo.tasks.exploration import Exploration, MemoryReading, Strip, mechanism
from zoo.tasks.inputs import check_whole_number
from zoo.tasks.memory.answered import Answered
from zoo.tasks.memory.scores import LARGEST
from zoo.tasks.player import Player
from zoo.tasks.predictor import check_picture, draw

if TYPE_CHECKING:
    from zoo.tasks.memory.task import MemoryTask


class SequenceAnswerer(Player):
    """A trained model that answers sequences of the kind it was trained on, which it makes itself."""

    task: "MemoryTask"

    def play(self, seed: int = 1, length: int | None = None) -> list[Answered]:
        """Answers one new sequence.

        Args:
            seed: of the sequence, from 0 to 2^32 - 1.
            length: its size, such as how many vectors to copy; at least the smallest of training, and at most
                1,000 or the largest of training. None: the largest of training.

        Raises:
            TypeError: a number is no whole number.
            ValueError: a number is out of range, or the sequences are of a package of one's own.
        """
        check_whole_number("seed", seed, least=0, most=2**32 - 1)
        kind = kind_of(self.checkpoint.config["data"]["sequences"])
        if length is not None:
            most = max(LARGEST, kind.longest)  # more would take hours, or more memory than there is
            check_whole_number("length", length, least=kind.shortest, most=most)
        item = kind.item(length or kind.longest, np.random.Generator(np.random.Philox(seed)))
        with self.autocast():
            return [self.task.answer(item)]

    def rows(self, game: list[Answered]) -> list[list[str]]:
        """How many bits are wrong."""
        return [[f"{len(one.inputs)} steps", f"{one.wrong} of {one.bits} bits wrong"] for one in game]

    def explore(self, given: int = 1, length: int | None = None) -> Exploration:
        """The sequence of that seed, its answer, and the weights of all heads.

        Args:
            given: see `play`.
            length: see there.
        """
        game = self.play(given, length)
        (one,) = game
        strips = [
            Strip("input", one.inputs, "bit"),
            Strip("wanted", one.targets, "bit"),
            Strip("answer", one.probabilities, "bit"),
        ]
        unit = "step" if one.over_steps else "place"
        for name, weights in (("read", one.read_weights), ("write", one.write_weights)):
            heads = [] if weights is None else weights.unbind(1)
            strips += [Strip(f"{name} head {place}", head, unit) for place, head in enumerate(heads, 1)]
        view = MemoryReading("sequence", strips, mechanism(self.task))
        notes = ["the model attends to nothing"] if one.read_weights is None else []
        return Exploration(self._outcome(game), [view], notes)

    @staticmethod
    def draw(games: Mapping[str, list[Answered]], path: str | Path) -> None:
        """See `Player`."""
        check_picture(path)
        draw(path, partial(bit_sequence_sheet, {name: game[0] for name, game in games.items()}))
