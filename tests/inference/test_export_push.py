"""`zoo export --push` uploads what was exported, where somebody is logged in; a fake stands for the hub."""

from pathlib import Path
from typing import Any, NamedTuple

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalTokenNotFoundError
from small_run import make_run
from typer.testing import CliRunner, Result

from zoo.cli.app import main


class _Place(NamedTuple):
    repo_id: str
    url: str


class _FakeHub:
    """Remembers what it was asked; `fails` names a call that does not work."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.fails: dict[str, Exception] = {}

    def _call(self, asked: str, **given: Any) -> None:
        self.asked.append((asked, given))
        if asked in self.fails:
            raise self.fails[asked]

    def whoami(self) -> None:
        self._call("whoami")

    def create_repo(self, name: str, **given: Any) -> _Place:
        self._call("create_repo", name=name, **given)
        return _Place(f"me/{name}", f"https://hub.example/me/{name}")

    def upload_folder(self, *, folder_path: Path, repo_id: str, commit_message: str) -> None:
        self._call("upload_folder", files=sorted(path.name for path in folder_path.iterdir()), to=repo_id)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> _FakeHub:
    fake = _FakeHub()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: fake)
    return fake


def _export(tmp_path: Path, *options: str) -> Result:
    run = make_run(tmp_path / "run")
    return CliRunner().invoke(main, ["export", str(run), str(tmp_path / "made"), *options])


def test_the_folder_is_uploaded_to_a_private_place(hub: _FakeHub, tmp_path: Path) -> None:
    result = _export(tmp_path, "--push", "dates")
    assert result.exit_code == 0, result.output
    assert "uploaded it to https://hub.example/me/dates" in result.stderr
    assert [name for name, _ in hub.asked] == ["whoami", "create_repo", "upload_folder"]
    assert hub.asked[1][1] == {"name": "dates", "private": True, "exist_ok": True}
    assert hub.asked[2][1]["to"] == "me/dates"
    assert {"README.md", "model.safetensors"} <= set(hub.asked[2][1]["files"])


def test_nothing_is_uploaded_unless_asked_for(hub: _FakeHub, tmp_path: Path) -> None:
    assert _export(tmp_path).exit_code == 0
    assert not hub.asked


@pytest.mark.parametrize(
    ("name", "fails", "said"),
    [
        ("a//b", {}, "--push a//b: "),
        ("dates", {"whoami": LocalTokenNotFoundError("no token")}, "hf auth login"),
        ("dates", {"whoami": ConnectionError("no way\nthere")}, "--push dates: no way there"),
    ],
)
def test_what_cannot_be_uploaded_is_said_before_anything_is_written(
    hub: _FakeHub, tmp_path: Path, name: str, fails: dict[str, Exception], said: str
) -> None:
    hub.fails = fails
    result = _export(tmp_path, "--push", name)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "made").exists()


def test_the_folder_stays_where_the_hub_refuses_it(hub: _FakeHub, tmp_path: Path) -> None:
    hub.fails = {"upload_folder": RuntimeError("quota")}
    result = _export(tmp_path, "--push", "dates")
    assert result.exit_code == 2
    assert "error: --push dates: quota" in result.stderr
    assert (tmp_path / "made" / "model.safetensors").is_file()
