"""Run folders: exclusive, safely named, clear when they cannot be made."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from zoo.loggers.wandb_id import short_id
from zoo.runs import folder as module
from zoo.runs.folder import create_run_folder, day_folder


def test_runs_started_together_share_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda _: create_run_folder(tmp_path / "runs", "same"), range(20)))
    assert len(set(made)) == len({short_id(folder) for folder in made}) == 20
    assert all(folder.is_dir() for folder in made)


def test_a_taken_name_is_never_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr(module.secrets, "token_hex", lambda size: next(ids))
    monkeypatch.setattr(module, "datetime", _Noon)
    first, second = create_run_folder(tmp_path, "run"), create_run_folder(tmp_path, "run")
    assert (first.name, second.name) == ("12-00-00_run_aaaa", "12-00-00_run_bbbb")


class _Noon:
    @staticmethod
    def now() -> str:
        return _Time()  # type: ignore[return-value]


class _Time:
    def __format__(self, spec: str) -> str:
        return "12-00-00"


@pytest.mark.parametrize("name", ["a/b,c=[d]{e} ü", "x" * 300, "../..", "", "lr=0.1"])
def test_names_are_safe_and_short(tmp_path: Path, name: str) -> None:
    folder = create_run_folder(tmp_path, name)
    assert folder.parent == tmp_path
    assert re.fullmatch(r"\d\d-\d\d-\d\d_[A-Za-z0-9.-]+_[0-9a-f]{8}", folder.name)
    assert len(folder.name) <= 100


def test_the_id_is_the_names_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = create_run_folder(tmp_path, "run")
    monkeypatch.chdir(folder)
    assert short_id(folder) == short_id(Path()) == folder.name[-8:]


def test_day_folder_is_named_after_the_day(tmp_path: Path) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day_folder(tmp_path).name)


def test_a_parent_that_cannot_hold_folders_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(NotADirectoryError, match=re.escape(f"a run's folder in {file}")):
        create_run_folder(file, "run")
    with pytest.raises(NotADirectoryError, match=re.escape(f"a run's folder in {file / 'below'}")):
        create_run_folder(file / "below", "run")
