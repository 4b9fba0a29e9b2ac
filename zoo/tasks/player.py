"""What trained models have in common that need no input: they play games of their own."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.tasks.predictor import Predictor


class Player(Predictor):
    """A trained agent, ready to play."""

    @abstractmethod
    def play(self, seed: int = 1) -> list[Any]:
        """Plays a game by the rules that it was trained with.

        Args:
            seed: says which game.
        """

    @abstractmethod
    def rows(self, game: list[Any]) -> list[list[str]]:
        """What became of a game, as lines of a table."""

    @staticmethod
    @abstractmethod
    def draw(games: Mapping[str, list[Any]], path: str | Path) -> None:
        """Draws where several models of this kind look in their games.

        Args:
            games: what `play` gave, by the names that stand over them.
            path: the drawing; its ending says the format.

        Raises:
            ValueError: the games look different, or the file cannot be written.
        """
