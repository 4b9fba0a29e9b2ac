"""`zoo predict` with agents that play, which need no input."""

import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.cli.load import is_run, load_runs, require_alike


def only_players(arguments: Sequence[str]) -> bool:
    """True where nothing but runs was given, and the first one plays.

    Raises:
        ValueError: the first run cannot be loaded.
    """
    from zoo.inference.loading import load
    from zoo.tasks.player import Player

    return all(map(is_run, arguments)) and isinstance(load(arguments[0]), Player)


def play_games(runs: Sequence[str], *, plot: Path | None, device: str | None, precision: str) -> None:
    """Plays the same game with each model, prints what became of every ball, and draws the paths.

    Raises:
        ValueError: a run cannot be loaded or plays no games, or nothing can be drawn; nothing is printed
            then.
    """
    from zoo.tasks.player import Player
    from zoo.tasks.predictor import check_picture

    if plot is not None:  # before the long work
        check_picture(plot)
    players: dict[str, Player] = load_runs(
        runs,
        Player,  # type: ignore[type-abstract]
        lambda _: "plays no games: give a sentence or pictures behind the runs",
        device=device,
        precision=precision,
    )
    if plot is not None:
        require_alike(players, plot)
    games = {name: player.play() for name, player in players.items()}
    if plot is not None:
        next(iter(players.values())).draw(games, plot)
        print(f"drew {plot}", file=sys.stderr)
    for name, game in games.items():
        for row in players[name].rows(game):
            print("\t".join([*([name] if len(games) > 1 else []), *row]))
