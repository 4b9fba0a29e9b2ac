"""`zoo predict` with agents that play, which need no input."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from zoo.cli.load import Load, require_alike, require_inputs


def play_games(
    runs: Sequence[str],
    *,
    plot: Path | None,
    load: Load,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Plays the same game with each model, prints what became of it, and draws it.

    Args:
        runs: folders or files.
        plot: the drawing; None: no drawing.
        load: see `loader`.
        options: further arguments, which the `play` of each model has.

    Raises:
        ValueError: a run cannot be loaded or plays no games, or nothing can be drawn; nothing is printed
            then.
    """
    players = require_inputs(
        runs, None, lambda _: "plays no games: give a sentence or pictures behind the runs", load
    )
    if plot is not None:
        require_alike(players, plot)
    games = {name: player.play(**options) for name, player in players.items()}
    if plot is not None:
        next(iter(players.values())).draw(games, plot)
        print(f"drew {plot}", file=sys.stderr)
    for name, game in games.items():
        for row in players[name].rows(game):
            print("\t".join([*([name] if len(games) > 1 else []), *row]))
