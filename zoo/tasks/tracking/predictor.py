"""Plays games with a trained model."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.figures import game_sheet
from zoo.tasks.exploration import Exploration, Glimpses, words_of
from zoo.tasks.inputs import check_whole_number
from zoo.tasks.player import Player
from zoo.tasks.policy_gradient import location_policy
from zoo.tasks.predictor import check_picture, draw, same_places
from zoo.tasks.tracking.ball_path import BallPath
from zoo.tasks.tracking.batch import CatchRules
from zoo.tasks.tracking.catch import new_game

if TYPE_CHECKING:
    from zoo.tasks.tracking.task import TrackingTask


class CatchPlayer(Player):
    """A trained agent that plays Catch. A learned policy looks at the most likely places."""

    task: "TrackingTask"

    def play(self, seed: int = 1) -> list[BallPath]:
        """Plays a game by the rules of the training; one path for each ball, in order.

        Args:
            seed: of the game, from 0 to 2^32 - 1.

        Raises:
            TypeError: the seed is no whole number.
            ValueError: the seed is out of range.
        """
        check_whole_number("seed", seed, least=0, most=2**32 - 1)
        data = self.checkpoint.config["data"]
        game = new_game(CatchRules(data["size"], data["ball"]), data["balls"], seed)
        with self.autocast(), same_places(1, self.task.device, seed):
            (paths,) = self.task.paths(game)
        return paths

    def rows(self, game: list[BallPath]) -> list[list[str]]:
        """Whether each ball was caught."""
        return [
            [f"ball {number}", "caught" if path.caught else "missed"]
            for number, path in enumerate(game, start=1)
        ]

    def explore(self, given: int = 1) -> Exploration:
        """Whether each ball of the game of that seed was caught, and the path of glimpses while it fell."""
        game = self.play(given)
        policy = location_policy(self.task)
        said = "" if policy is None else words_of(policy)
        views = [
            Glimpses(f"ball {number}", path.image, path.locations, path.glimpses, said)
            for number, path in enumerate(game, start=1)
        ]
        return Exploration(self._outcome(game), views)

    @staticmethod
    def draw(games: Mapping[str, list[BallPath]], path: str | Path) -> None:
        """See `Player`; boards and glimpses of all games must have the same shapes."""
        check_picture(path)
        draw(path, partial(game_sheet, games))
