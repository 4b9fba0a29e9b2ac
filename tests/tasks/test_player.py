"""Playing from the checkpoint alone, and `zoo predict` with a run that plays."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import draw_picture, make_player, make_recogniser, make_run
from typer.testing import CliRunner, Result

import zoo
from zoo.cli.app import main
from zoo.tasks.tracking.batch import CatchRules
from zoo.tasks.tracking.catch import Catch, new_game
from zoo.tasks.tracking.predictor import CatchPlayer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, a picture beside them."""
    folder = tmp_path_factory.mktemp("runs")
    make_player(folder / "plays")
    make_player(folder / "looks_anywhere", policy="random")
    make_player(folder / "other", scales=1)
    make_recogniser(folder / "recognises")
    make_run(folder / "text")
    draw_picture(folder / "dog.png")
    return folder


def predict(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)])


def fails(*arguments: object) -> str:
    result = predict(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("error: ")


def test_new_games_obey_the_rules_and_the_seed_says_which() -> None:
    rules = CatchRules(12, 2)
    games = [new_game(rules, 3, seed) for seed in range(200)]
    paddles = torch.cat([game.paddle for game in games])
    columns, drifts = (torch.cat([getattr(game, name) for game in games]) for name in ("columns", "drifts"))
    for found, least, most in ((paddles, 0, 8), (columns, 0, 10), (drifts, -2, 2)):
        assert (int(found.min()), int(found.max())) == (least, most)
    again = new_game(rules, 3, 7)
    assert again.columns.tolist() == games[7].columns.tolist() != games[8].columns.tolist()


def test_paths_are_what_the_agent_did(folder: Path) -> None:
    player: Any = zoo.load(folder / "plays")
    assert isinstance(player, CatchPlayer)
    falls = player.play(seed=4)
    begin = new_game(CatchRules(12, 2), 3, 4)
    played, game = player.task.play(begin), Catch(begin)
    boards = []
    for chosen in played.chosen:
        boards.append(game.observe()[0])
        game.act(chosen)
    assert len(falls) == 3
    for number, fall in enumerate(falls):
        steps = range(5 * number, 5 * number + 5)
        assert torch.equal(
            fall.locations, torch.stack([played.glimpses[step].look.location[0, 0] for step in steps])
        )
        assert torch.equal(
            fall.glimpses, torch.stack([played.glimpses[step].glimpse[0, 0] for step in steps])
        )
        assert fall.caught == any(played.rewards[step][0] == 1 for step in steps)
        assert torch.equal(fall.image > 0, torch.stack([boards[step] for step in steps]).amax(0) > 0)
        assert (fall.image[boards[steps[-1]] > 0] == 1).all(), "the last moment is the brightest"
        assert 0.2 < fall.image[0, :2].max() < 0.4, "where each ball begins"
    assert {fall.caught for fall in falls} == {True, False}, "the test's game is one-sided"


@pytest.mark.parametrize("run", ["plays", "looks_anywhere"])
def test_a_seed_always_gives_the_same_game(folder: Path, run: str) -> None:
    player: Any = zoo.load(folder / run)
    before = torch.random.get_rng_state()
    first = player.play()
    assert torch.equal(torch.random.get_rng_state(), before), "what others draw stays as it was"
    torch.rand(3)
    again, other = player.play(seed=1), player.play(seed=2)
    assert all(torch.equal(one.locations, two.locations) for one, two in zip(first, again, strict=True))
    assert not torch.equal(first[0].image, other[0].image)


def test_the_command_prints_and_draws_one_game(folder: Path, tmp_path: Path) -> None:
    plot = tmp_path / "path.png"
    result = predict(folder / "plays", "--plot", plot)
    assert result.exit_code == 0, result.output
    player: Any = zoo.load(folder / "plays")
    said = ["caught" if fall.caught else "missed" for fall in player.play()]
    lines = [f"ball {number}\t{word}" for number, word in enumerate(said, start=1)]
    assert result.stdout.splitlines() == lines
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert f"drew {plot}" in result.stderr
    both = predict(folder / "plays", folder / "looks_anywhere")
    assert both.stdout.splitlines()[:3] == [f"plays\t{line}" for line in lines]
    assert len(both.stdout.splitlines()) == 6
    player.plot(tmp_path / "other.PDF", seed=2)
    assert (tmp_path / "other.PDF").read_bytes().startswith(b"%PDF")


def test_wrong_inputs_and_models_are_refused(folder: Path, tmp_path: Path) -> None:
    plays, plot = folder / "plays", tmp_path / "a.png"
    own = f"the model of {plays} plays games of its own: give nothing but runs like it"
    assert fails(plays, "a sentence") == fails(plays, folder / "dog.png") == own
    none = "plays no games: give a sentence or pictures behind the runs"
    assert fails(plays, folder / "recognises") == f"the model of {folder / 'recognises'} {none}"
    assert fails(folder / "recognises").startswith(f"no sentence or picture after {folder / 'recognises'}: ")
    assert "its ending must be one of " in fails(plays, "--plot", tmp_path / "a.dog")
    shapes = fails(plays, folder / "other", "--plot", plot)
    assert shapes.startswith(f"cannot draw {plot}: a sheet needs glimpses of one shape")
    assert not plot.exists()
