"""Either level of a hierarchical network with a score and a selection of its own."""

from collections.abc import Callable

import torch

from zoo.attention import Cosine, General, Hard, Soft
from zoo.config.check import check, placeholder
from zoo.config.instantiate import instantiate
from zoo.runs.frozen import Config


def test_levels_differ_in_score_and_selection(configure: Callable[..., Config]) -> None:
    config = configure(
        "model=hierarchical",
        "trainer=cpu",
        "attention=cosine",
        "model/word_pooling=own_attention",
        "attention@model.word_pooling.attention.score=general",
        "selection@model.word_pooling.attention.selection=hard",
    )
    check(config)
    with torch.device("meta"):
        network = instantiate(config["model"], "model")(spec=placeholder(config))
    words, sentences = network.words.pooling.attention, network.sentences.pooling.attention
    kinds = [type(part) for part in (words.score, words.selection, sentences.score, sentences.selection)]
    assert kinds == [General, Hard, Cosine, Soft]
