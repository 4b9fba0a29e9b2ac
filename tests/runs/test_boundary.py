"""No verb writes or deletes outside of a run's folder, whatever links lie in it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.core.files import remove_partials
from zoo.runs.boundary import LeadsOutside, require_own
from zoo.runs.clean import dispensable
from zoo.runs.resume import CannotResume, discard_progress, make_ready, resume_point
from zoo.runs.status import State, StatusFile

OWN = ("checkpoints", "figures", "tensorboard", "metrics.csv", "metrics.discarded.csv", "samples.txt")
ALSO = ("predictions.jsonl", "status.json.tmp", "results.json", "config.yaml", "train.log", "deep/er/link")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    StatusFile(folder).start()
    StatusFile(folder).end(State.FAILED, exit_code=1)
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of somebody else's, with files that have our names."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("best.ckpt", "last.ckpt", "half.tmp"):
        (folder / name).write_text("precious")
    return folder


VERBS: dict[str, Callable[[Path], object]] = {
    "resume": lambda run: resume_point(run, {}),
    "start over": lambda run: make_ready(run, []),
    "discard": discard_progress,
    "clean": lambda run: list(dispensable(run)),
}


@pytest.mark.hostile("links")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", [*OWN, *ALSO])
@pytest.mark.parametrize("kind", ["link", "dangling", "link to a link"])
def test_no_verb_leaves_the_folder(run: Path, elsewhere: Path, verb: str, name: str, kind: str) -> None:
    link = run / name
    link.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link to a link":
        (run / "between").symlink_to(elsewhere)
        link.symlink_to(run / "between")
    else:
        link.symlink_to(elsewhere if kind == "link" else elsewhere / "not there")
    before = {path: path.read_bytes() for path in elsewhere.iterdir()}

    with pytest.raises((LeadsOutside, CannotResume), match="is a link to"):
        VERBS[verb](run)
    assert {path: path.read_bytes() for path in elsewhere.iterdir()} == before
    assert StatusFile(run).read().state is State.FAILED, "nothing was begun"


def test_links_that_stay_inside_are_fine(run: Path, tmp_path: Path) -> None:
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "best.ckpt").write_text("weights")
    (run / "checkpoints" / "chosen.ckpt").symlink_to("best.ckpt")
    (run / "again").symlink_to(run)
    require_own(run)
    (tmp_path / "by another name").symlink_to(run)
    require_own(tmp_path / "by another name")


def test_wandb_may_link_its_logs_to_its_own_cache(run: Path, elsewhere: Path) -> None:
    (run / "wandb" / "offline-run").mkdir(parents=True)
    (run / "wandb" / "offline-run" / "debug-core.log").symlink_to(elsewhere / "best.ckpt")
    require_own(run)
    (run / "checkpoints" / "wandb").mkdir(parents=True)
    (run / "checkpoints" / "wandb" / "link").symlink_to(elsewhere)
    with pytest.raises(LeadsOutside):
        require_own(run)


def test_a_link_that_is_half_written_goes_and_what_it_names_stays(run: Path, elsewhere: Path) -> None:
    (run / "status.json.tmp").symlink_to(elsewhere / "best.ckpt")
    (run / "folder.tmp").symlink_to(elsewhere)
    (run / "kept.tmp").mkdir()
    (run / "x.ckpt.tmp").touch()
    remove_partials(run)
    assert sorted(path.name for path in run.iterdir()) == ["kept.tmp", "status.json"]
    assert (elsewhere / "best.ckpt").read_text() == "precious"


@pytest.mark.parametrize("kind", ["link", "pipe", "file"])
def test_a_status_is_written_whatever_lies_in_its_way(run: Path, elsewhere: Path, kind: str) -> None:
    partial = run / "status.json.tmp"
    if kind == "link":
        partial.symlink_to(elsewhere / "best.ckpt")
    elif kind == "pipe":
        os.mkfifo(partial)
    else:
        partial.write_text("half")
    StatusFile(run).start(["seed=2"])
    assert StatusFile(run).read().overrides == ["seed=2"]
    assert (elsewhere / "best.ckpt").read_text() == "precious"
    assert not os.path.lexists(partial)
