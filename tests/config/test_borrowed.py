"""A recipe with a model that it was not written for."""

import logging

import pytest

from zoo.config.borrowed import _tell
from zoo.config.compose import compose_jobs
from zoo.config.resolvers import PROJECT, register
from zoo.core.problems import ConfigError

CONF = PROJECT / "conf"


@pytest.fixture(autouse=True)
def _untold() -> None:
    register()
    _tell.cache_clear()


def test_another_model_takes_all_of_a_recipe_but_its_settings_of_the_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    typed = ["experiment=reverse", "model=transformer", "model/size=tiny", "trainer.max_steps=7"]
    with caplog.at_level(logging.WARNING):
        (job,) = compose_jobs(CONF, typed, multirun=False)
    recipe = compose_jobs(CONF, ["experiment=reverse"], multirun=False)[0].config
    assert job.config["model"]["_target_"].endswith("Transformer")
    assert "decoder" not in job.config["model"]
    assert job.config["data"] == recipe["data"]
    assert job.config["optimizer"] == recipe["optimizer"]
    assert job.config["task"]["monitor"] == "val/exact_match"
    assert job.config["trainer"]["max_steps"] == 7, "what was typed wins"
    assert "experiment=reverse sets what model=transformer does not have" in caplog.text


def test_what_is_typed_stands_in_the_place_of_a_recipes_choice() -> None:
    typed = ["experiment=reverse", "model=transformer", "data=copy", "scheduler=constant"]
    (job,) = compose_jobs(CONF, typed, multirun=False)
    assert job.config["data"]["corpus"]["_target_"].endswith("Copy")
    assert "constant" in job.config["scheduler"]["_target_"].lower()


def test_settings_of_another_network_are_not_taken() -> None:
    """Filters have no hidden size; composing alone would not say so."""
    typed = ["experiment=imdb_hierarchical", "model=convolutional_text"]
    (job,) = compose_jobs(CONF, typed, multirun=False)
    assert job.config["model"]["_target_"].endswith("ConvolutionalText")
    assert "hidden_size" not in job.config["model"]


def test_a_model_that_fits_has_the_recipes_settings(caplog: pytest.LogCaptureFixture) -> None:
    (job,) = compose_jobs(CONF, ["experiment=reverse", "model=seq2seq"], multirun=False)
    recipe = compose_jobs(CONF, ["experiment=reverse"], multirun=False)[0].config
    for key in ("model", "data", "task", "trainer", "optimizer"):
        assert job.config[key] == recipe[key]
    assert job.composed.experiment == "reverse"
    assert not caplog.text


def test_mistakes_are_those_of_what_was_typed() -> None:
    with pytest.raises(ConfigError, match="no model called transfomer"):
        compose_jobs(CONF, ["experiment=reverse", "model=transfomer"], multirun=False)
    with pytest.raises(ConfigError, match="there is no dropuot"):
        compose_jobs(CONF, ["experiment=reverse", "model=transformer", "model.dropuot=0.1"], multirun=False)


def test_a_sweep_over_models_tells_it_once(caplog: pytest.LogCaptureFixture) -> None:
    typed = ["experiment=reverse", "model=seq2seq,transformer", "attention=dot,general"]
    jobs = compose_jobs(CONF, typed, multirun=True)
    assert len(jobs) == 4
    assert caplog.text.count("all else of it is taken") == 1
