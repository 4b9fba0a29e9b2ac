"""A training that epochs end early says so before it begins."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.training.callbacks import Progress
from zoo.training.short_epochs import warn_of_short_epochs


def _said(caplog: pytest.LogCaptureFixture, **changed: Any) -> str:
    usual = {
        "num_training_batches": 100,
        "max_epochs": 20,
        "max_steps": -1,
        "accumulate_grad_batches": 1,
        "overfit_batches": 0.0,
        "limit_train_batches": None,
        "is_global_zero": True,
        "datamodule": SimpleNamespace(batch_tokens=4000),
    }
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        warn_of_short_epochs(SimpleNamespace(**{**usual, **changed}))  # type: ignore[arg-type]
    return caplog.text


def test_the_limit_that_ends_first_is_named(caplog: pytest.LogCaptureFixture) -> None:
    said = _said(caplog, num_training_batches=1, max_steps=150)
    assert "trainer.max_epochs=20 ends this training at step 20, before trainer.max_steps=150" in said
    assert "leaves the end to max_steps, a smaller data.batch_tokens makes more batches" in said
    assert "batch_tokens" not in _said(caplog, num_training_batches=30, max_epochs=2, max_steps=150)
    assert "at step 100," in _said(caplog, num_training_batches=10, accumulate_grad_batches=2, max_steps=150)
    assert _said(caplog, max_steps=150) == ""
    assert _said(caplog, num_training_batches=1, max_epochs=-1, max_steps=150) == ""
    assert _said(caplog, num_training_batches=1, max_epochs=None, max_steps=150) == ""


def test_few_batches_name_the_setting(caplog: pytest.LogCaptureFixture) -> None:
    said = _said(caplog, num_training_batches=3)
    assert "3 batches, so this training has 60 steps: a smaller data.batch_tokens" in said
    assert "experiment" not in said
    few = SimpleNamespace(batch_tokens=4000, recipe_for_few="small_parallel")
    named = _said(caplog, num_training_batches=3, datamodule=few)
    assert "makes more batches, as experiment=small_parallel has it, a larger trainer.max_epochs" in named
    assert _said(caplog, num_training_batches=20) == ""
    assert "data.batch_size" in _said(
        caplog, num_training_batches=3, datamodule=SimpleNamespace(batch_size=8)
    )
    for part in ({"overfit_batches": 1}, {"limit_train_batches": 3}, {"is_global_zero": False}):
        assert _said(caplog, num_training_batches=3, **part) == ""
    assert _said(caplog, num_training_batches=float("inf")) == ""


@pytest.mark.parametrize(("epochs", "said"), [(-1, "Epoch 1"), (None, "Epoch 1"), (3, "Epoch 1/2")])
def test_the_bar_knows_trainings_without_a_number_of_epochs(epochs: int | None, said: str) -> None:
    bar = Progress()
    bar._trainer = SimpleNamespace(max_epochs=epochs, sanity_checking=False)  # type: ignore[assignment]
    assert bar._get_train_description(1).strip() == said
