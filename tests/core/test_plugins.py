"""Packages of one's own: only what the user names is imported."""

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from zoo.config.allowed import NotAllowed, locate
from zoo.config.check import check
from zoo.config.compose import command_line
from zoo.core import plugins
from zoo.core.plugins import PluginError, import_plugins, name_plugins, plugin_folders, plugin_versions
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


@pytest.mark.parametrize("within", ["", ".parts", ":Own"])
def test_an_installed_package_announces_itself(
    package: str, within: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("theirs", f"{package}{within}", plugins.GROUP)
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
    for group in ("data", "model", "attention"):
        config[group]["_target_"] = f"their_zoo.{group}.Own"
    with pytest.raises(
        ConfigError, match="if their_zoo is a package of your own, name it: ZOO_PLUGINS="
    ) as caught:
        check(config)
    assert len(caught.value.problems) == 1, "the package is missing once, however much of it is used"
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("target", ["os.system", "subprocess.Popen", "builtins.eval"])
def test_pythons_own_modules_are_nobodys_package(target: str) -> None:
    with pytest.raises(NotAllowed, match="may not be built; targets begin with") as caught:
        locate(target)
    assert "ZOO_PLUGINS" not in str(caught.value)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plugins.VARIABLE, "no_such_zoo")
    with pytest.raises(PluginError, match="ZOO_PLUGINS: there is no package no_such_zoo") as caught:
        import_plugins()
    assert caught.value.package == "no_such_zoo"
    monkeypatch.setenv(plugins.VARIABLE, "their.zoo")
    with pytest.raises(PluginError, match="must name packages, got 'their\\.zoo'"):
        import_plugins()


@pytest.mark.parametrize(
    ("typed", "variable", "key"),
    [("plugins=[thier_zoo]", "", "plugins"), ("seed=1", "thier_zoo", plugins.VARIABLE)],
)
def test_the_command_line_says_where_a_package_was_named(
    package: str, typed: str, variable: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(plugins.VARIABLE, variable)
    monkeypatch.setattr(sys, "argv", ["train.py", typed])
    with pytest.raises(ConfigError) as caught:
        command_line()
    (problem,) = caught.value.problems
    assert problem.key == key
    assert problem.message.endswith(f"did you mean {package}?")


@pytest.mark.parametrize("code", ["def (", "missing_name", "from math import nothing"])
def test_a_package_whose_code_fails_is_named(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_zoo.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ZOO_PLUGINS", "broken_zoo")
    with pytest.raises(PluginError, match=r"cannot be imported: \w+Error in broken_zoo.py, line 1: "):
        import_plugins()


@pytest.mark.parametrize("code", ["def (", "missing_name", "import no_such_module"])
def test_a_module_of_a_package_whose_code_fails_is_named(code: str, package: str, tmp_path: Path) -> None:
    name_plugins([package])
    (tmp_path / package / "scores.py").write_text(f"\n{code}")
    with pytest.raises(NotAllowed, match=r"scores cannot be imported: \w+Error in scores.py, line 2: "):
        locate("their_zoo.scores.Own")
    with pytest.raises(NotAllowed, match="does not exist"):
        locate("their_zoo.no_such_module.Own")


def test_a_folder_that_is_no_package_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "loose_zoo" / "conf").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOO_PLUGINS", "loose_zoo")
    with pytest.raises(PluginError, match=r"loose_zoo/ has no __init__\.py"):
        import_plugins()
