"""A configuration and what it describes, from Python."""

from pathlib import Path

import lightning.pytorch as pl
import pytest

import zoo
from zoo.attention import General
from zoo.core.problems import ConfigError


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
