"""Controls that must have as many parameters as what they are compared with."""

from collections.abc import Callable

import pytest

from zoo.config.check import placeholder
from zoo.config.instantiate import instantiate
from zoo.runs.frozen import Config


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["imdb", "polarity", "newsgroups20"])
def test_flat_controls_have_the_parameters_of_hierarchical_ones(
    configure: Callable[..., Config], name: str
) -> None:
    """Vectors of words are left out: their number is that of the words."""
    counts = []
    for kind in ("hierarchical", "flat"):
        config = configure(f"experiment={name}_{kind}")
        network = instantiate(config["model"], "model")(spec=placeholder(config))
        counts.append(sum(one.numel() for part, one in network.named_parameters() if part != "embed.weight"))
    assert counts[1] == pytest.approx(counts[0], rel=0.01)


@pytest.mark.parametrize("name", ["wikitext2_lstm_memory", "wikitext2_lstmn"])
def test_memories_of_the_past_have_the_parameters_of_their_control(
    configure: Callable[..., Config], name: str
) -> None:
    counts = []
    for recipe in ("wikitext2_lstm_short", name):
        config = configure(f"experiment={recipe}")
        network = instantiate(config["model"], "model")(spec=placeholder(config))
        words = {"embed.weight", "output.bias"}
        others = sum(one.numel() for part, one in network.named_parameters() if part not in words)
        counts.append(others + 33_278 * (config["model"]["embedding_size"] + 1))
    assert counts[0] == 7_010_478
    assert counts[1] == pytest.approx(counts[0], rel=0.002)
