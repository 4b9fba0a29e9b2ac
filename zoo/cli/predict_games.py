"""`zoo predict` with agents that play, which need no input."""

import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.cli.load import is_run, load_runs


def only_players(arguments: Sequence[str]) -> bool:
    """True where nothing but runs was given, and the first one plays.

    Args:
        arguments: as typed.

    Raises:
        ValueError: the first run cannot be loaded.
    """
    from zoo.inference.loading import load
    from zoo.tasks.tracking.predictor import Player

    return all(map(is_run, arguments)) and isinstance(load(arguments[0]), Player)


def play_games(runs: Sequence[str], *, plot: Path | None, device: str | None, precision: str) -> None:
    """Plays the same game with each model, prints what became of every ball, and draws the paths.

    Args:
        runs: folders or files.
        plot: the drawing.
        device: see `zoo.load`.
        precision: see `zoo.load`.

    Raises:
        ValueError: a run cannot be loaded or plays no games, or nothing can be drawn; nothing is printed
            then.
    """
    from zoo.tasks.predictor import check_picture
    from zoo.tasks.tracking.predictor import Player, plot_games

    if plot is not None:  # before the long work
        check_picture(plot)
    otherwise = "plays no games: give a sentence or pictures behind the runs"
    players = load_runs(runs, Player, otherwise, device=device, precision=precision)
    games = {name: player.play() for name, player in players.items()}
    if plot is not None:
        plot_games(games, plot)
        print(f"drew {plot}", file=sys.stderr)
    for name, falls in games.items():
        for number, fall in enumerate(falls, start=1):
            run = [name] if len(games) > 1 else []
            print("\t".join([*run, f"ball {number}", "caught" if fall.caught else "missed"]))
