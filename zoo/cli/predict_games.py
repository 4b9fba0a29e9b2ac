"""`zoo predict` with agents that play, which need no input."""

import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.cli.load import Load, require_alike, require_inputs


def play_games(runs: Sequence[str], *, plot: Path | None, load: Load, length: int | None = None) -> None:
    """Plays the same game with each model, prints what became of it, and draws it.

    Args:
        runs: folders or files.
        plot: the drawing; None: no drawing.
        load: see `loader`.
        length: of a sequence, for models that make and answer one.

    Raises:
        ValueError: a run cannot be loaded or plays no games, or nothing can be drawn; nothing is printed
            then.
    """
    players = require_inputs(
        runs, None, lambda _: "plays no games: give a sentence or pictures behind the runs", load
    )
    if plot is not None:
        require_alike(players, plot)
    chosen = {} if length is None else {"length": length}
    for name, player in players.items():
        if chosen and not player.takes_length:
            raise ValueError(f"--length: the model of {name} plays games, which have no length")
    games = {name: player.play(**chosen) for name, player in players.items()}
    if plot is not None:
        next(iter(players.values())).draw(games, plot)
        print(f"drew {plot}", file=sys.stderr)
    for name, game in games.items():
        for row in players[name].rows(game):
            print("\t".join([*([name] if len(games) > 1 else []), *row]))
