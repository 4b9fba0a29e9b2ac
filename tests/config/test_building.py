"""A configuration and what it describes, from Python."""

import subprocess
import sys
from pathlib import Path

import lightning.pytorch as pl
import pytest

import zoo
from zoo.attention import General
from zoo.core.problems import ConfigError

PROJECT = Path(zoo.__file__).parents[1]


def test_a_task_is_composed_built_and_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the folder does not matter
    config = zoo.compose(
        "data=reverse",
        "attention=general",
        "model.hidden_size=8",
        "model.embedding_size=8",
        f"paths.cache_dir={tmp_path}/cache",
    )
    data, task = zoo.build(config)
    assert any(isinstance(part, General) for part in task.modules())
    trainer = pl.Trainer(
        max_steps=1, limit_val_batches=0, logger=False, enable_checkpointing=False, accelerator="cpu"
    )
    trainer.fit(task, datamodule=data)
    assert trainer.global_step == 1


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigError, match="there is no attention called genral; did you mean general"):
        zoo.compose("attention=genral")
    with pytest.raises(ConfigError, match=r"model\.dropout"):
        zoo.compose("model.dropout=2")
    with pytest.raises(TypeError, match=r"strings, .*; got \['seed=2'\]"):
        zoo.compose(["seed=2"])  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_checkout_whose_zoo_alone_is_installed_composes_in_any_folder(tmp_path: Path) -> None:
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "zoo").symlink_to(PROJECT / "zoo")
    (tmp_path / "installed" / "hydra_plugins").symlink_to(PROJECT / "hydra_plugins")
    (tmp_path / "work" / "data").mkdir(parents=True)  # a folder of one's own with the name of our package
    code = "import zoo; print(zoo.compose('experiment=reverse')['data']['_target_'])"
    place = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path / "work", env=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith("data.text.")
