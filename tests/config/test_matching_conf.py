"""Every score and selection in the networks that match texts, each by one word."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from zoo.config.check import check, placeholder
from zoo.config.instantiate import instantiate
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

CONF = Path(__file__).parents[2] / "conf"
SCORES = sorted(path.stem for path in CONF.glob("attention/*.yaml"))
SELECTIONS = sorted(path.stem for path in CONF.glob("selection/*.yaml"))
READERS = sorted(path.stem for path in CONF.glob("model/reader/*.yaml"))

Configure = Callable[..., Config]


def kinds_of(config: Config) -> set[str]:
    with torch.device("meta"):
        network = instantiate(config["model"], "model")(spec=placeholder(config))
    return {type(part).__name__ for part in network.modules()}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "given",
    [
        *(["model=attentive_matching", f"attention={score}"] for score in SCORES),
        *(["model=attentive_matching", f"selection={selection}"] for selection in SELECTIONS),
        *(["model=attentive_matching", f"model/reader={reader}", "selection=hard"] for reader in READERS),
        *(["model=abcnn3", f"attention={score}"] for score in SCORES),
        *([f"model=abcnn{number}", "attention=cosine"] for number in (1, 2)),
    ],
    ids=" ".join,
)
def test_a_mechanism_is_one_word(configure: Configure, given: list[str]) -> None:
    config = configure(*given, "trainer=cpu")
    check(config, given)
    kinds = kinds_of(config)
    for group in ("attention", "selection"):
        if config.get(group):
            assert config[group]["_target_"].rpartition(".")[2] in kinds


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("given", "key", "reason"),
    [
        (["model=bcnn", "attention=dot"], "attention", "the model has no attention"),
        (["model=bcnn", "selection=soft"], "selection", "the model has no attention"),
        (["model=abcnn1", "selection=soft"], "selection", "selects nothing"),
        (["model=attentive_matching", "data.overlap=true"], "data.overlap", "does not read it"),
        (["model=bcnn", "task.monitor=val/map"], "task.monitor", "no groups"),
        (["model=bcnn", "data=sick", "task.monitor=val/f1"], "task.monitor", "two classes"),
        (["model=bcnn", "data=sick", "task.monitor=val/pearson"], "task.monitor", "not degrees"),
        (["model=bcnn", "data=sick", "data.corpus.degrees=true"], "task.monitor", "not labels"),
        (["model=abcnn1", "task.monitor=val/pointing_accuracy"], "task.monitor", "for each word"),
        (["model=attentive_matching", "task.monitor=val/alignment_accuracy"], "task.monitor", "once"),
        (["model=seq2seq", "data=counterparts"], "data", "pairs of texts to match"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_changes_or_measures_nothing_is_refused(
    configure: Configure, given: list[str], key: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check(configure(*given, "trainer=cpu"), given)
    assert any(problem.key == key and reason in problem.message for problem in caught.value.problems)


def test_counts_of_shared_words_widen_the_last_layer(configure: Configure) -> None:
    widths = []
    for overlap in ("false", "true"):
        config = configure("model=abcnn3", f"data.overlap={overlap}")
        check(config)
        with torch.device("meta"):
            widths.append(instantiate(config["model"], "model")(spec=placeholder(config)).output.in_features)
    assert widths == [4, 6]


@pytest.mark.parametrize("model", ["attentive_matching", "bcnn"])
def test_two_vocabularies_are_refused(configure: Configure, model: str) -> None:
    """The vector of a word serves both texts."""
    line = [f"model={model}", "data=counterparts", "data.tokenizer.joint=false"]
    with pytest.raises(ConfigError, match=r"data\.tokenizer\.joint=true"):
        check(configure(*line))
