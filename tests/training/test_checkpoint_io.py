"""Checkpoint files are whole or not there, and reading one runs no code."""

import os
from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch

from zoo.training import checkpoint_io
from zoo.training.checkpoint_io import AtomicIO


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.ckpt"
    AtomicIO().save_checkpoint({"weight": torch.arange(3), "step": 7}, path)
    read = AtomicIO().load_checkpoint(path)
    assert read["step"] == 7
    assert torch.equal(read["weight"], torch.arange(3))
    assert os.listdir(path.parent) == ["a.ckpt"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "a.ckpt"
    AtomicIO().save_checkpoint({"step": 1}, path)

    def half(checkpoint: object, file: object) -> None:
        file.write(b"half of it")  # type: ignore[attr-defined]
        raise error

    monkeypatch.setattr(checkpoint_io.torch, "save", half)
    with pytest.raises(type(error)):
        AtomicIO().save_checkpoint({"step": 2}, path)
    monkeypatch.undo()
    assert AtomicIO().load_checkpoint(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["a.ckpt"]


def test_leftovers_of_a_killed_process_do_not_disturb(tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    path.with_name("a.ckpt.tmp").write_bytes(b"left behind")
    AtomicIO().save_checkpoint({"step": 1}, path)
    assert os.listdir(tmp_path) == ["a.ckpt"]


def test_objects_are_refused_even_when_asked_for(tmp_path: Path) -> None:
    torch.save({"path": Path("x")}, tmp_path / "a.ckpt")
    with pytest.raises(UnpicklingError):
        AtomicIO().load_checkpoint(tmp_path / "a.ckpt", weights_only=False)


def test_options_of_remote_storage_are_not_ignored(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="storage_options are not supported"):
        AtomicIO().save_checkpoint({}, tmp_path / "a.ckpt", storage_options={"region": "x"})


def test_only_files_are_removed(tmp_path: Path) -> None:
    """Lightning's own writer removes whole folders."""
    (tmp_path / "folder.ckpt").mkdir()
    (tmp_path / "folder.ckpt" / "precious").touch()
    (tmp_path / "old.ckpt").touch()
    (tmp_path / "link.ckpt").symlink_to(tmp_path / "folder.ckpt")
    for name in ("folder.ckpt", "link.ckpt"):
        with pytest.raises(ValueError, match="is no checkpoint: it is left as it is"):
            AtomicIO().remove_checkpoint(tmp_path / name)
    AtomicIO().remove_checkpoint(tmp_path / "old.ckpt")
    AtomicIO().remove_checkpoint(tmp_path / "gone.ckpt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.ckpt", "link.ckpt"]
    assert (tmp_path / "folder.ckpt" / "precious").exists()
