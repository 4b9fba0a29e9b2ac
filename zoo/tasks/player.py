"""Trained models that need no input: they play games."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.tasks.exploration import Answer, Exploration
from zoo.tasks.predictor import Predictor


class Player(Predictor):
    """A trained agent."""

    without_input = True

    @abstractmethod
    def play(self, seed: int = 1) -> list[Any]:
        """Plays the game of that seed by the rules of the training; the parts of the game, in order."""

    @abstractmethod
    def rows(self, game: list[Any]) -> list[list[str]]:
        """The outcome of a game as rows of a table."""

    def explore(self, given: int = 1) -> Exploration:
        """What there is to see of the game of that seed: here the outcome alone."""
        return Exploration(self._outcome(self.play(given)), notes=["nothing to see of what this model read"])

    def _outcome(self, game: list[Any]) -> list[Answer]:
        return [Answer(": ".join(row)) for row in self.rows(game)]

    def plot(self, path: str | Path, seed: int = 1) -> None:
        """Draws where the model looks in the game of that seed, see `draw`."""
        self.draw({self.name: self.play(seed)}, path)

    @staticmethod
    @abstractmethod
    def draw(games: Mapping[str, list[Any]], path: str | Path) -> None:
        """Draws where several models of this kind look in their games.

        Args:
            games: by the name that stands over it, what `play` returned.
            path: the drawing; its ending is the format.

        Raises:
            ValueError: the games cannot be drawn side by side, or the file cannot be written.
        """
