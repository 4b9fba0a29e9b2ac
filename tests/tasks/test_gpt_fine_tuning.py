"""GPT's fine-tuning: it begins with a language model's weights, and that model's loss stands beside."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small_run import WORDS, part, save_run

from zoo.attention import ScaledDot
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, LabelSpec
from zoo.core.text import text_spec
from zoo.networks.gpt import Gpt
from zoo.networks.gpt_classifier import GptClassifier
from zoo.networks.positions import Learned
from zoo.tasks.classification import ClassificationTask
from zoo.tasks.classification.batch import ClassificationBatch
from zoo.tasks.matching import MatchingTask
from zoo.tasks.matching.batch import MatchingBatch
from zoo.tasks.pretrained import begin_with_run, run_fits_network
from zoo.tasks.rules import Configured
from zoo.training.checkpoint import CheckpointError, read_checkpoint

TEXT = text_spec(WORDS, maximum_length=6)
CLASSES = LabelSpec(("a", "b", "c"))
SIZES: dict[str, Any] = {
    **{"model_size": 8, "feed_forward_size": 12, "heads": 2, "layers": 2},
    **{"dropout": 0.0, "attention_dropout": 0.0},
}
PARTS: dict[str, Any] = {"attention": {"score": ScaledDot}, "positions": partial(Learned, maximum_length=16)}


def learning(task: type, spec: DataSpec, **settings: Any) -> Any:
    torch.manual_seed(0)
    return task(
        network=GptClassifier(spec=spec, **SIZES, **PARTS),
        spec=spec,
        optimizer=partial(torch.optim.Adam, lr=0.01),
        scheduler=None,
        reinforce=None,
        monitor="val/accuracy",
        **settings,
    ).train()


LEFT = Padded(torch.tensor([[5, 6, 3], [7, 3, 0]]), torch.tensor([3, 2]))
RIGHT = Padded(torch.tensor([[8, 3, 0, 0], [5, 6, 7, 3]]), torch.tensor([2, 4]))
LABELS = torch.tensor([1, 2])


def test_both_tasks_add_the_loss_of_the_language_model() -> None:
    single = DataSpec("texts", {"text": TEXT, "label": CLASSES})
    pair = DataSpec("pairs", {"left": TEXT, "right": TEXT, "label": CLASSES})
    of_texts = learning(ClassificationTask, single, penalty=0.0, train_items=0)
    of_pairs = learning(MatchingTask, pair)
    index = torch.arange(2)
    for task, batch, given in (
        (of_texts, ClassificationBatch(index, LEFT, LABELS, ["", ""]), (LEFT,)),
        (of_pairs, MatchingBatch(index, LEFT, RIGHT, LABELS, ["", ""], ["", ""]), (LEFT, RIGHT)),
    ):
        found = task.network(*given)
        assert found.further_loss.min() > 0
        loss, terms = task.loss_of(batch)
        torch.testing.assert_close(terms["further_loss"], found.further_loss.mean())
        expected = F.cross_entropy(found.logits, LABELS) + found.further_loss.mean()
        torch.testing.assert_close(loss, expected)


def saved(folder: Path, weights: dict[str, torch.Tensor]) -> Path:
    """A run of `model=gpt` with these weights."""
    trained = DataSpec("running", {"text": TEXT}, test_hash="0" * 64, vocabulary_hash="1" * 64)
    model = part(
        "zoo.networks.gpt.Gpt",
        attention={"score": part("zoo.attention.ScaledDot")},
        positions=part("zoo.networks.positions.Learned", maximum_length=16),
        activation=part("torch.nn.GELU"),
        **SIZES,
    )
    task = part(
        "zoo.tasks.language_modelling.LanguageModelling",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        decoding=part("zoo.decoding.Sample", partial=False, seed=5),
        monitor="val/loss",
    )
    save_run(folder, {"model": model, "task": task}, trained, 1.0)
    path = folder / "checkpoints" / "best.ckpt"
    content = torch.load(path, weights_only=True)
    content["state_dict"] = {f"network.{name}": weight for name, weight in weights.items()}
    torch.save(content, path)
    return folder


SPEC = DataSpec("texts", {"text": TEXT, "label": CLASSES})
TRAINER: Any = type("Trainer", (), {"ckpt_path": None, "state": type("State", (), {"fn": "fit"})})


def language_model() -> Gpt:
    torch.manual_seed(1)
    return Gpt(spec=DataSpec("running", {"text": TEXT}), activation=torch.nn.GELU, **SIZES, **PARTS)


def test_it_begins_with_the_weights_of_a_language_model(tmp_path: Path) -> None:
    network = language_model()
    run = saved(tmp_path / "run", network.state_dict())
    classifier = GptClassifier(spec=SPEC, pretrained=str(run), **SIZES, **PARTS)
    before = {name: weight.clone() for name, weight in classifier.state_dict().items()}
    begin_with_run(classifier, SPEC, TRAINER)
    given = network.state_dict()
    for name, weight in classifier.state_dict().items():
        expected = given[name.removeprefix("gpt.")] if name.startswith("gpt.") else before[name]
        assert torch.equal(weight, expected)
    assert {name.removeprefix("gpt.") for name in before if name.startswith("gpt.")} == set(given)


def test_a_run_that_has_the_embeddings_alone_is_refused(tmp_path: Path) -> None:
    weights = {name: one for name, one in language_model().state_dict().items() if "decoder" not in name}
    run = saved(tmp_path / "run", weights)
    classifier = GptClassifier(spec=SPEC, pretrained=str(run), **SIZES, **PARTS)
    before = {name: weight.clone() for name, weight in classifier.state_dict().items()}
    with pytest.raises(CheckpointError, match=r"such as gpt\.decoder.* it is a run of another model"):
        begin_with_run(classifier, SPEC, TRAINER)
    assert all(torch.equal(before[name], weight) for name, weight in classifier.state_dict().items())


@pytest.mark.parametrize(
    ("changed", "key", "named"),
    [
        ({}, "", ""),
        ({"window": 3}, "", ""),
        ({"heads": 4}, "model.heads", "must be 2"),
        ({"activation": part("torch.nn.ReLU")}, "model.activation", "torch.nn.GELU"),
        ({"pre_norm": True}, "model.pretrained", "is of Gpt, without pre_norm"),
    ],
)
def test_a_run_of_other_settings_or_of_another_model_is_named(
    tmp_path: Path, changed: dict[str, Any], key: str, named: str
) -> None:
    run = str(saved(tmp_path / "run", {}))
    model = read_checkpoint(run).config["model"] | changed | {"pretrained": run}
    config = {"model": model, "data": {"tokenizer": {"run": run}}}
    found = list(run_fits_network(Configured(config, (), lambda node: None, lambda node, key: None)))
    assert [one.key for one in found] == ([key] if key else [])
    assert all(named in one.message for one in found)
