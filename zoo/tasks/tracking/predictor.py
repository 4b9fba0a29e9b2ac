"""Plays games with a trained model."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.figures import game_sheet
from zoo.tasks.glimpse_path import BallPath
from zoo.tasks.inputs import check_whole_number
from zoo.tasks.player import Player
from zoo.tasks.predictor import check_picture, draw, run_name, same_places
from zoo.tasks.tracking.batch import CatchRules
from zoo.tasks.tracking.catch import new_game

if TYPE_CHECKING:
    from zoo.tasks.tracking.task import TrackingTask


class CatchPlayer(Player):
    """A trained agent, ready to play Catch. A policy that learned looks at the most likely places."""

    task: "TrackingTask"

    def play(self, seed: int = 1) -> list[BallPath]:
        """Plays a game of Catch by the rules that it was trained with.

        Args:
            seed: says which game, from 0 to 2^32 - 1.

        Returns:
            What the agent did while each ball fell, in order.

        Raises:
            TypeError: the seed is no whole number.
            ValueError: it is below 0 or above 2^32 - 1.
        """
        check_whole_number("seed", seed, least=0, most=2**32 - 1)
        data = self.checkpoint.config["data"]
        game = new_game(CatchRules(data["size"], data["ball"]), data["balls"], seed)
        with self.autocast(), same_places(1, self.task.device, seed):
            (paths,) = self.task.paths(game)
        return paths

    def rows(self, game: list[BallPath]) -> list[list[str]]:
        """What became of every ball."""
        return [
            [f"ball {number}", "caught" if fall.caught else "missed"]
            for number, fall in enumerate(game, start=1)
        ]

    def plot(self, path: str | Path, seed: int = 1) -> None:
        """Draws where the model looks in a game.

        Args:
            path: the drawing; its ending says the format.
            seed: says which game.

        Raises:
            ValueError: the file cannot be written.
        """
        self.draw({run_name(self.checkpoint.path): self.play(seed)}, path)

    @staticmethod
    def draw(games: Mapping[str, list[BallPath]], path: str | Path) -> None:
        """Draws where several models look in their games.

        Args:
            games: what `play` gave, by the names that stand over them.
            path: the drawing; its ending says the format.

        Raises:
            ValueError: boards or glimpses have different shapes, or the file cannot be written.
        """
        check_picture(path)
        draw(path, partial(game_sheet, games))
