"""What the check says of captioning: places, stored features, metrics and parts that do not fit together."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from zoo.config import resolvers
from zoo.config.check import check
from zoo.config.compose import compose_jobs
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

CONF = Path(__file__).parents[2] / "conf"
STORED = "data=flickr8k data.augmentation=null model/encoder=vgg19 data.features=${model.encoder}"
VGG = {"_target_": "zoo.networks.encoders.Vgg19", "_partial_": True, "weights_dir": "elsewhere"}


@cache
def _composed(line: str) -> Config:
    resolvers.register()
    return compose_jobs(CONF, ["model=show_attend_tell", "trainer=cpu", *line.split()], False)[0].config


def composed(line: str, values: dict[str, Any]) -> Config:
    """What a command line makes, with other values by their keys."""
    config = copy.deepcopy(_composed(line))
    for key, value in values.items():
        node: Any = config
        *parents, name = key.split(".")
        for parent in parents:
            node = node[parent]
        node[name] = value
    return config


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("", {}),
        ("", dict.fromkeys(("task.monitor", "callbacks.best.monitor"), "val/pointing_accuracy")),
        ("selection=hard", {}),
        ("model/caption_decoder=none", {}),
        ("model/caption_decoder=transformer selection=hard", {}),
        ("data=flickr8k", {}),
        ("data=flickr8k data/tokenizer=bpe", {}),
        ("model/caption_decoder=none data/tokenizer=characters", {}),
        (STORED, {}),
        (STORED, {"data.features": None, "model.encoder.fine_tune_from_epoch": 3}),
        (
            f"{STORED} trainer=ddp_cpu trainer.strategy=ddp_find_unused_parameters_true",
            {"data.features": None, "model.encoder.fine_tune_from_epoch": 3},
        ),
    ],
)
def test_fits_together(line: str, values: dict[str, Any]) -> None:
    check(composed(line, values), line.split())


@pytest.mark.parametrize(
    ("line", "values", "message"),
    [
        (
            "attention=location",
            {f"{part}.maximum_length": 12 for part in ("attention", "model.decoder.attention.score")},
            "attention.maximum_length: Location: maximum_length=12 is less than the 36 positions that the "
            "model reads; leave it out",
        ),
        (
            f"{STORED} trainer=ddp_cpu",
            {"data.features": None, "model.encoder.fine_tune_from_epoch": 3},
            "trainer.strategy: ddp waits for gradients of the encoder, which has none before epoch 3 "
            "(model.encoder.fine_tune_from_epoch): take trainer.strategy=ddp_find_unused_parameters_true",
        ),
        ("selection=hard", {"task.reinforce": None}, "which only task.reinforce can train"),
        ("selection=hard", {"task.reinforce.weight": 0}, "task.reinforce.weight: must be above 0, got 0"),
        ("", {"task.doubly_stochastic": -1}, "task.doubly_stochastic: must be at least 0, got -1"),
        ("", {"task.monitor": "val/cider"}, "did you mean val/cider_d?"),
        (
            "data=flickr8k",
            {"task.monitor": "val/pointing_accuracy"},
            "task.monitor: val/pointing_accuracy is not measured: the data does not know where",
        ),
        (
            "model/caption_decoder=none",
            {"task.monitor": "val/pointing_accuracy"},
            "task.monitor: val/pointing_accuracy is not measured: the model has no attention",
        ),
        (
            "model/caption_decoder=transformer selection=hard",
            {"model.embedding_size": 64},
            "must equal hidden_size, since a Transformer adds the outputs of its layers to embeddings",
        ),
        (
            "data/tokenizer=characters",
            {},
            "data.tokenizer: Characters makes pieces of words, but pointing_accuracy asks at what each whole"
            " word looks; take data/tokenizer=words",
        ),
        ("data=flickr8k", {"data.features": VGG}, "data.features: must be the model's own encoder"),
        (STORED, {"data.augmentation": None, "data.features.weights_dir": "x"}, "the model's own encoder"),
        (
            STORED,
            {"data.features.fine_tune_from_epoch": 3, "model.encoder.fine_tune_from_epoch": 3},
            "fine_tune_from_epoch: must be null where data.features are stored",
        ),
    ],
)
def test_does_not_fit_together(line: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(composed(line, values), line.split())
    assert message in str(caught.value)


def test_what_learns_cannot_be_stored() -> None:
    config = composed("data=flickr8k", {"data.augmentation": None})
    config["data"]["features"] = config["model"]["encoder"]
    with pytest.raises(ConfigError, match=r"data\.features: must be null: the encoder learns with the rest"):
        check(config)


def test_other_images_are_refused() -> None:
    resolvers.register()
    config = compose_jobs(CONF, ["model=show_attend_tell", "data=digits", "trainer=cpu"], False)[0].config
    with pytest.raises(ConfigError, match="has images of classes, but CaptioningTask takes images with cap"):
        check(config)


def test_a_model_brings_what_belongs_to_it_and_a_mechanism_is_one_word() -> None:
    config = composed("selection=hard", {})
    assert config["data"]["_target_"] == "data.captions.captions.CaptionData"
    assert config["task"]["_target_"] == "zoo.tasks.captioning.CaptioningTask"
    assert (
        config["callbacks"]["captions"]["_target_"] == "zoo.tasks.captioning.caption_figures.CaptionFigures"
    )
    attention = config["model"]["decoder"]["attention"]
    assert attention == {"score": config["attention"], "selection": config["selection"]}
    assert attention["selection"]["_target_"] == "zoo.attention.Hard"
    assert attention["selection"]["soft_share"] == 0.5  # the paper's, in captioning alone
    assert composed("selection=hard selection.soft_share=0.2", {})["selection"]["soft_share"] == 0.2
    of_words = compose_jobs(CONF, ["selection=hard"], False)[0].config["selection"]
    assert of_words["soft_share"] == 0.0
