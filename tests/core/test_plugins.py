"""Packages of one's own: only what the user names is imported."""

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from zoo.config.allowed import NotAllowed, locate
from zoo.config.check import check
from zoo.core import plugins
from zoo.core.plugins import import_plugins, name_plugins, plugin_folders, plugin_versions
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Importable from the current folder; it leaves a mark when it is imported."""
    folder = tmp_path / "their_zoo"
    (folder / "conf").mkdir(parents=True)
    (folder / "__init__.py").write_text(
        f"import pathlib; pathlib.Path({str(tmp_path / 'imported')!r}).touch()\n"
        "from zoo.attention import Dot\nclass Own(Dot): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    monkeypatch.setenv(plugins.VARIABLE, "")
    yield "their_zoo"
    sys.modules.pop("their_zoo", None)


def test_a_named_package_has_folders_versions_and_classes(package: str, tmp_path: Path) -> None:
    name_plugins([package])
    assert plugin_folders() == [tmp_path / package / "conf"]
    assert plugin_versions()[package].startswith("sha256:")
    assert locate("their_zoo.Own").__name__ == "Own"
    assert (tmp_path / "imported").exists()


def test_an_installed_package_announces_itself(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", package, plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == plugins.GROUP else [])
    monkeypatch.setattr(plugins, "_installed", plugins._installed.__wrapped__)
    assert plugins.plugins() == (package,)
    assert locate("their_zoo.Own").__name__ == "Own"


@pytest.mark.hostile("configuration")
def test_what_a_configuration_names_is_not_imported(
    package: str, tmp_path: Path, configure: Callable[..., Config]
) -> None:
    config = configure("trainer=cpu")
    config["plugins"] = [package]
    config["attention"]["_target_"] = "their_zoo.Own"
    with pytest.raises(ConfigError, match="if their_zoo is a package of your own, name it: ZOO_PLUGINS="):
        check(config)
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("target", ["os.system", "subprocess.Popen", "builtins.eval"])
def test_pythons_own_modules_are_nobodys_package(target: str) -> None:
    with pytest.raises(NotAllowed, match="may not be built; targets begin with") as caught:
        locate(target)
    assert "ZOO_PLUGINS" not in str(caught.value)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plugins.VARIABLE, "no_such_zoo")
    with pytest.raises(
        ValueError, match="there is no package no_such_zoo: install it, or start in the folder"
    ):
        import_plugins()
    with pytest.raises(ValueError, match="must name packages, got 'a b'"):
        name_plugins(["a b"])


@pytest.mark.parametrize("code", ["def (", "missing_name", "from math import nothing"])
def test_a_package_whose_code_fails_is_named(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_zoo.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ZOO_PLUGINS", "broken_zoo")
    with pytest.raises(ValueError, match="the package broken_zoo cannot be imported: "):
        import_plugins()
