"""Masked language modelling: its loss, what it fills in, and what fine-tuning takes from its runs."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import part, save_run
from torch import Tensor

import zoo
from data.text.of_run import OfRun
from data.text.wordpiece import WordPiece
from zoo.attention import ScaledDot, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, LabelSpec
from zoo.core.text import TextCodec, text_spec
from zoo.networks.bert import BertPretraining
from zoo.networks.bert_classifier import BertClassifier
from zoo.networks.positions import Learned
from zoo.tasks.masked_language_modelling import MaskedLanguageModelling
from zoo.tasks.masked_language_modelling.batch import MaskedBatch
from zoo.tasks.pretrained import begin_with_run
from zoo.training.checkpoint import CheckpointError, read_checkpoint

STORIES = ["the dog sat on the mat .", "a cat slept ; the dog saw it .", "it was a good story of two dogs"]
WORDS = WordPiece(size=90, lowercase=True).train(STORIES)
TEXT = text_spec(WORDS, maximum_length=20)
SPEC = DataSpec("stories", {"text": TEXT, "follows": LabelSpec(("random", "next"))})
LABELLED = DataSpec("labelled", {"text": TEXT, "label": LabelSpec(("bad", "good"))})
SETTINGS: dict[str, Any] = {
    "attention": {"score": ScaledDot, "selection": Soft},
    "positions": partial(Learned, maximum_length=32),
    "model_size": 16,
    "feed_forward_size": 32,
    "heads": 2,
    "layers": 2,
    "dropout": 0.0,
    "attention_dropout": 0.0,
}


def make_task() -> MaskedLanguageModelling:
    torch.manual_seed(0)
    return MaskedLanguageModelling(
        network=BertPretraining(spec=SPEC, **SETTINGS),
        spec=SPEC,
        optimizer=partial(torch.optim.Adam, lr=0.01),
        scheduler=None,
        monitor="val/loss",
    )


def make_batch() -> tuple[MaskedBatch, list[list[int]]]:
    """Three pairs with 1, 2 and 3 masks; and the ids that stood in them."""
    codec = TextCodec(TEXT)
    pairs = zip(codec.encode(STORIES), codec.encode(["so", "a dog", "two"]), strict=True)
    rows = [first + second[1:] for first, second in pairs]
    text = codec.pad(rows)
    width = text.ids.shape[1]
    places = torch.tensor([2, width + 1, width + 3, 2 * width + 1, 2 * width + 2, 2 * width + 5])
    labels = text.ids.flatten()[places]
    masked = Padded(text.ids.flatten().scatter(0, places, TEXT.mask).view_as(text.ids), text.lengths)
    segments = torch.zeros_like(text.ids)
    return MaskedBatch(torch.arange(3), masked, segments, places, labels, torch.tensor([1, 0, 1])), rows


def by_hand(task: MaskedLanguageModelling, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
    """Both losses, a token and a pair at a time."""
    masked, follows, width = [], [], batch.text.ids.shape[1]
    found = task.network(batch.text, batch.segments, batch.places)
    for number, (place, label) in enumerate(zip(batch.places.tolist(), batch.labels.tolist(), strict=True)):
        scores = task.network.output(found.features[number])
        masked.append(scores.exp().sum().log() - scores[label])
        assert found.follows is not None
        assert batch.follows is not None
        row = place // width
        scores = found.follows[row]
        follows.append(scores.exp().sum().log() - scores[int(batch.follows[row])])
    return sum(masked) / len(masked), sum(follows) / len(follows)  # type: ignore[return-value]


def test_the_loss_is_that_of_chosen_tokens_and_pairs() -> None:
    task = make_task().double()
    batch, _ = make_batch()
    masked, follows = by_hand(task, batch)
    loss, terms = task.loss_of(batch)
    torch.testing.assert_close(terms["masked"], masked)
    torch.testing.assert_close(terms["next_sentence"], follows, check_dtype=False)
    torch.testing.assert_close(loss, masked + follows, rtol=1e-6, atol=1e-6)


def test_parts_of_a_batch_have_its_loss() -> None:
    task = make_task().double()
    batch, _ = make_batch()
    whole, _ = task.loss_of(batch)
    width, total = batch.text.ids.shape[1], torch.zeros((), dtype=torch.float64)
    assert batch.follows is not None
    for row in range(3):
        own = batch.places // width == row
        part_of = MaskedBatch(
            batch.index[row : row + 1],
            Padded(batch.text.ids[row : row + 1], batch.text.lengths[row : row + 1]),
            batch.segments[row : row + 1],
            batch.places[own] - row * width,
            batch.labels[own],
            batch.follows[row : row + 1],
        )
        total = total + task.loss_of(part_of)[0] * int(own.sum()) / len(batch.places)
    torch.testing.assert_close(total, whole, rtol=1e-6, atol=1e-6)


def learned() -> MaskedLanguageModelling:
    task = make_task()
    batch, _ = make_batch()
    optimizer = torch.optim.Adam(task.parameters(), lr=0.01)
    for _ in range(120):
        loss, _ = task.loss_of(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss) < 0.05
    return task


def test_it_learns_a_batch_and_its_metrics_say_so() -> None:
    task = learned().eval()
    batch, rows = make_batch()
    task.scores["val"] = task.new_scores("val")
    task.predictions["val"] = []
    with torch.no_grad():
        task._evaluate("val", batch)
    values = {name: float(value) for name, value in task.scores["val"].finish().items()}
    assert values["accuracy"] == 1
    assert values["next_sentence_accuracy"] == 1
    assert values["perplexity"] == pytest.approx(torch.tensor(values["loss"]).exp().item())
    signatures = task.scores["val"].signatures
    assert signatures["loss"] == (
        "15% of the tokens of a text are chosen: 80% of these masked, 10% random, 10% as they were; "
        + signatures["next_sentence_accuracy"]
    )
    assert f"pairs of at most {TEXT.maximum_length} tokens" in signatures["next_sentence_accuracy"]
    for item, row in zip(task.predictions["val"], rows, strict=True):
        assert item["prediction"] == item["references"][0] == " ".join(TextCodec(TEXT).tokens(row))
        assert "<mask>" in item["input"]


def save(folder: Path, task: MaskedLanguageModelling) -> Path:
    score, selection = part("zoo.attention.ScaledDot"), part("zoo.attention.Soft")
    sizes = {name: SETTINGS[name] for name in ("model_size", "feed_forward_size", "heads", "layers")}
    settings = {
        "model": part(
            "zoo.networks.bert.BertPretraining",
            attention={"score": score, "selection": selection},
            positions=part("zoo.networks.positions.Learned", maximum_length=32),
            dropout=0.0,
            attention_dropout=0.0,
            **sizes,
        ),
        "task": part(
            "zoo.tasks.masked_language_modelling.MaskedLanguageModelling",
            optimizer=part("torch.optim.Adam", lr=0.001),
            scheduler=None,
            monitor="val/loss",
        ),
    }
    save_run(folder, settings, SPEC, 1.0)
    path = folder / "checkpoints" / "best.ckpt"
    content = torch.load(path, weights_only=True)
    content["state_dict"] = task.state_dict()
    torch.save(content, path)
    return folder


def test_a_run_fills_masks(tmp_path: Path) -> None:
    task = make_task().eval()
    filler = zoo.load(save(tmp_path / "run", task))
    texts = ["the [MASK] sat on the <mask> .", "", "a dog", "the dog " * 20 + "[MASK]"]
    (*answers,), blank, none, long = filler.predict(texts, nbest=3)
    codec = TextCodec(TEXT)
    ids = [TEXT.cls, *codec.encode(["the"])[0][1:-1], TEXT.mask]
    ids += [*codec.encode(["sat on the"])[0][1:-1], TEXT.mask, *codec.encode(["."])[0][1:-1], TEXT.sep]
    places = torch.tensor([place for place, one in enumerate(ids) if one == TEXT.mask])
    text = codec.pad([ids])
    with torch.no_grad():
        scores = task.network.output(task.network(text, torch.zeros_like(text.ids), places).features)
    scores[:, list(TEXT.special.values())] = -torch.inf
    for rank, answer in enumerate(answers):
        expected = scores.softmax(-1).sort(-1, descending=True)
        assert [one.id for one in answer.words] == expected.indices[:, rank].tolist()
        assert [one.probability for one in answer.words] == pytest.approx(expected.values[:, rank].tolist())
    assert len(answers[0].candidates) == 2
    assert filler("the [MASK] sat on the [MASK] .") == answers[0].text
    assert (blank[0].text, none[0].words) == ("", ())
    assert list(filler.remarks(none))
    assert long[0].unread > 0
    assert not list(filler.remarks(answers))
    assert "1 unknown token" in next(filler.remarks(filler.predict(["the ☃ [MASK]"])[0]))
    found = filler.explore(texts[0])
    (view,) = found.views
    assert [row[0].text for row in view.candidates if row] == [one[0].token for one in answers[0].candidates]
    masked = [token for token, row in zip(view.queries, view.candidates, strict=True) if row]
    assert masked == ["<mask>"] * 2
    assert view.weights.shape[2:] == (len(ids), len(ids))
    assert found.answers[0].text == answers[0].text
    drawn = filler.plot("the [MASK] sat", tmp_path / "heads.png")
    assert drawn == [tmp_path / "heads.png"]
    assert drawn[0].stat().st_size > 1000


class Fitting:
    """As much of a trainer as a beginning asks for."""

    def __init__(self, checkpoint: str | None = None, fn: str = "fit") -> None:
        self.ckpt_path = checkpoint
        self.state = type("State", (), {"fn": fn})


def test_fine_tuning_begins_with_the_weights_of_a_run(tmp_path: Path) -> None:
    run = save(tmp_path / "run", make_task())
    network = BertClassifier(spec=LABELLED, pretrained=str(run), **SETTINGS)
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    for other in (Fitting("last.ckpt"), Fitting(fn="test")):
        begin_with_run(network, LABELLED, other)  # type: ignore[arg-type]
        assert all(torch.equal(before[name], weight) for name, weight in network.state_dict().items())
    begin_with_run(network, LABELLED, Fitting())  # type: ignore[arg-type]
    given = read_checkpoint(run).state_dict
    for name, weight in network.state_dict().items():
        if name.startswith("bert."):
            assert torch.equal(weight, given[f"network.{name}"])
        else:
            assert torch.equal(weight, before[name])


def test_a_run_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    run = str(save(tmp_path / "run", make_task()))
    larger = BertClassifier(spec=LABELLED, pretrained=run, **SETTINGS | {"feed_forward_size": 48})
    with pytest.raises(CheckpointError, match=r"is \(32, 16\) there and \(48, 16\) here"):
        begin_with_run(larger, LABELLED, Fitting())  # type: ignore[arg-type]
    text = text_spec(WordPiece(size=90).train(["other words"]), maximum_length=20)
    other = DataSpec("other", {"text": text, "label": LabelSpec(("bad", "good"))})
    network = BertClassifier(spec=other, pretrained=run, **SETTINGS)
    with pytest.raises(CheckpointError, match="another vocabulary"):
        begin_with_run(network, other, Fitting())  # type: ignore[arg-type]


def test_the_vocabulary_of_a_run(tmp_path: Path) -> None:
    run = save(tmp_path / "run", make_task())
    found = OfRun(run=str(run))
    assert found.build(["anything"], ["else"]) == (WORDS, WORDS)
    assert set(found.special) == {"pad", "unk", "cls", "sep", "mask"}
    again = OfRun(run=str(run / "checkpoints" / "best.ckpt"))
    assert repr(again) == repr(found)
    with pytest.raises(ValueError, match="run must name"):
        OfRun(run=None)
    with pytest.raises(ValueError, match="does not exist"):
        OfRun(run=str(tmp_path / "none"))
