"""The captioning task: its loss, its rewards, its free-running evaluation."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Self

import lightning.pytorch as pl
import pytest
import torch
from quiet import quiet_trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader

from data.text.vocabulary import Words
from zoo.attention import Additive, Hard, MovingAverageBaseline, ScaledDot, Soft, SoftReadingBaseline
from zoo.core.batch import TrueCaptions, decoder_pair
from zoo.core.spec import DataSpec, ImageSpec
from zoo.core.text import TextCodec, text_spec
from zoo.decoding import Beam, Greedy, Hypothesis
from zoo.kernels.noise import keyed
from zoo.metrics import caption_metrics
from zoo.networks.encoders import Compact
from zoo.networks.positions import Sinusoidal
from zoo.networks.show_attend_tell import AttentiveDecoder, GridTransformer, MeanDecoder, ShowAttendTell
from zoo.runs.report import KNOWN_WARNINGS
from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.captioning.task import CaptioningTask

COLOURS = ("red", "green", "blue")
SIDES = {"left": (0.0, 0.0, 0.5, 1.0), "right": (0.5, 0.0, 1.0, 1.0)}


VOCABULARY = Words(joint=False).train(f"{colour} {side}" for colour in COLOURS for side in SIDES)
SPEC = DataSpec("sides", {"image": ImageSpec(3, 8, 16), "target": text_spec(VOCABULARY, maximum_length=6)})


def batch(count: int = 12) -> CaptionBatch:
    """Images with a colour on one side, and what can be said of that."""
    images, captions, truths = torch.zeros(count, 3, 8, 16), [], []
    for number in range(count):
        colour, side = number % 3, number % 2
        images[number, colour, :, 8 * side : 8 * side + 8] = 1.0
        box = list(SIDES.values())[side]
        captions.append(f"{COLOURS[colour]} {list(SIDES)[side]}")
        # the order of the words does not matter, and the first names the box
        truths.append(TrueCaptions({captions[-1]: [box, None], COLOURS[colour]: [box]}))
    codec = TextCodec(SPEC.text("target"))
    ids = codec.pad([[2, *row] for row in codec.encode(captions)])
    names = [f"image {number}" for number in range(count)]
    references = [[caption, "something"] for caption in captions]
    return CaptionBatch(torch.arange(count), images, None, ids, references, names, truths)


def make_task(
    selection: Callable[..., nn.Module] | None = Soft,
    decoder: Callable[..., nn.Module] | None = None,
    **changes: Any,
) -> CaptioningTask:
    torch.manual_seed(0)
    attentive = partial(AttentiveDecoder, attention={"score": Additive, "selection": selection})
    network = ShowAttendTell(
        spec=SPEC,
        encoder=partial(Compact, widths=[8], feature_size=16),
        decoder=decoder or (MeanDecoder if selection is None else attentive),
        embedding_size=16,
        hidden_size=16,
        dropout=0.0,
    )
    parts: dict[str, Any] = {
        "optimizer": partial(torch.optim.Adam, lr=0.01),
        "scheduler": None,
        "decoding": Beam(beam_size=3, length_penalty=0.0),
        "label_smoothing": 0.0,
        "reinforce": {
            "baseline": MovingAverageBaseline,
            "entropy_weight": 0.01,
            "discount": 1.0,
            "weight": 0.5,
        },
        "monitor": "val/cider_d",
        "doubly_stochastic": 1.0,
    }
    return CaptioningTask(network=network, spec=SPEC, **(parts | changes))


class Sides(pl.LightningDataModule):
    test_splits = ("test",)

    def train_dataloader(self) -> Any:
        return DataLoader([batch()], batch_size=None)

    val_dataloader = test_dataloader = train_dataloader


def test_the_loss_is_that_of_the_paper_per_token() -> None:
    given = batch()
    task = make_task(doubly_stochastic=0.7)
    inputs, labels = decoder_pair(given.captions)
    decoded = task.network.decode(task.network.encode(task.network.annotate(given.images)), inputs)  # type: ignore[arg-type]
    log_probs = task.network.logits(decoded.features).log_softmax(-1).detach()
    total = 0.0
    for row, length in enumerate(labels.lengths.tolist()):
        total -= sum(float(log_probs[row, t, labels.ids[row, t]]) for t in range(length))
        alpha = decoded.weights[row, :length].sum(0)
        total += 0.7 * float((1 - alpha).square().sum())
    loss = task.training_step(given, 0)
    assert loss.item() == pytest.approx(total / int(labels.lengths.sum()), rel=1e-5)
    assert set(task.terms) == {"loss", "cross_entropy", "doubly_stochastic"}


@pytest.mark.parametrize("source", ["images", "features"])
def test_captions_that_share_an_image_learn_as_if_each_had_its_own(source: str) -> None:
    task, once = make_task(), batch(6)
    given = once.images if source == "images" else task.network.annotate(once.images).detach()  # type: ignore[arg-type]
    image_of = torch.tensor([1, 0, 0, 3, 3, 3])
    one, each = (
        once._replace(**{"images": None} | {source: shown}, image_of=index)  # type: ignore[arg-type]
        for shown, index in ((given[:4], image_of), (given[image_of], None))
    )
    loss, expected = task.training_step(one, 0), task.training_step(each, 0)
    torch.testing.assert_close(loss, expected)
    assert abs(loss - task.training_step(each._replace(**{source: given}), 0)) > 1e-4  # type: ignore[arg-type]


TRANSFORMER = partial(
    GridTransformer,
    attention={"score": ScaledDot, "selection": Soft},
    positions=Sinusoidal,
    layers=2,
    heads=2,
    feed_forward_size=8,
    attention_dropout=0.0,
    activation_dropout=0.0,
    activation=nn.ReLU,
)


@pytest.mark.parametrize(
    "decoder", [None, MeanDecoder, TRANSFORMER], ids=["attentive", "none", "transformer"]
)
def test_an_image_of_several_captions_is_prepared_once(
    monkeypatch: pytest.MonkeyPatch, decoder: Callable[..., nn.Module] | None
) -> None:
    task, given, image_of = make_task(decoder=decoder).double(), batch(6), torch.tensor([1, 0, 0, 3, 3, 2])
    images = torch.rand(4, 3, 8, 16, dtype=torch.float64)
    prepare, seen, steps = task.network.decoder.prepare, [], []  # type: ignore[attr-defined]

    def counted(annotations: Tensor) -> Any:
        seen.append(len(annotations))
        return prepare(annotations)

    monkeypatch.setattr(task.network.decoder, "prepare", counted)  # type: ignore[attr-defined]
    for shown, index in ((images, image_of), (images[image_of], None)):
        task.zero_grad()
        loss = task.training_step(given._replace(images=shown, image_of=index), 0)
        loss.backward()
        steps.append(
            {name: weight.grad for name, weight in task.named_parameters()} | {"loss": loss.detach()}
        )
    assert seen == [4, 6]
    torch.testing.assert_close(*steps)


class Frozen(Compact):
    """Stays as it is, as published encoders do."""

    def train(self, mode: bool = True) -> Self:
        return super().train(False)


def test_a_frozen_encoder_causes_no_warning(tmp_path: Path) -> None:
    task = make_task()
    task.network.encoder = Frozen(widths=[8], feature_size=16).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message)
        quiet_trainer(tmp_path, max_steps=1, limit_val_batches=0).fit(task, datamodule=Sides())


def test_sampled_readings_add_their_terms_with_their_weight() -> None:
    task, given = make_task(partial(Hard, soft_share=0.5)), batch()
    assert task.reinforce is not None
    task.training_step(given, 0)
    loss = task.training_step(given, 0)
    named = {name: float(value) for name, value in task.terms.items()}
    lengths = given.captions.lengths - 1
    scale = len(lengths) / int(lengths.sum())
    terms = named["reinforce"] - 0.01 * named["entropy"]
    together = named["cross_entropy"] + scale * (0.5 * terms + named["doubly_stochastic"])
    assert loss.item() == pytest.approx(together, rel=1e-4)
    assert {"reward", "advantage_std"} <= named.keys()
    # The mean over real steps of what they can still change: between that of a word and that of a caption.
    assert -named["cross_entropy"] * int(lengths.max()) < named["reward"] < 0
    loss.backward()
    score = task.network.decoder.attention.score  # type: ignore[attr-defined]
    assert all(weight.grad is not None and weight.grad.any() for weight in score.parameters())


def test_the_soft_reward_is_the_log_likelihood_under_soft_attention() -> None:
    """Of the spread of rewards nearly all is that of words, which a moving average cannot foretell."""
    spread = {}
    for baseline in (MovingAverageBaseline, SoftReadingBaseline):
        parts = {"baseline": baseline, "entropy_weight": 0.0, "discount": 0.0, "weight": 1.0}
        task = make_task(Hard, reinforce=parts)
        nn.init.normal_(task.network.output.bias)  # some words are likelier than others
        for _ in range(3):
            task.training_step(batch(), 0)
        spread[baseline] = float(task.terms["advantage_std"])
        # What is logged as the reward is that of the words, whatever the baseline.
        assert float(task.terms["reward"]) == pytest.approx(-float(task.terms["cross_entropy"]), rel=1e-4)
    assert spread[SoftReadingBaseline] < 0.3 * spread[MovingAverageBaseline]


@pytest.mark.parametrize("discount", [1.0, None])
def test_a_soft_baseline_leaves_the_expected_gradient_unchanged(
    discount: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate, over all pairs of places by their probability, is that of the expected reward."""
    chosen: list[int] = []
    monkeypatch.setattr(
        "zoo.attention.selections.gumbel_like",
        lambda like: 1e6 * nn.functional.one_hot(torch.tensor(chosen.pop(0)), like.shape[-1]).expand_as(like),
    )
    parts = {"baseline": SoftReadingBaseline, "entropy_weight": 0.0, "discount": discount, "weight": 1.0}
    task = make_task(Hard, reinforce=parts).double()
    network = task.network
    for parameter in (*network.decoder.parameters(), *network.output.parameters()):  # type: ignore[attr-defined]
        nn.init.normal_(parameter)
    inputs, labels = decoder_pair(TextCodec(SPEC.text("target")).pad([[2, 5, 7]]))
    grid = network.annotate(torch.rand(1, 3, 8, 16).double()).detach()
    score = list(network.decoder.attention.score.parameters())  # type: ignore[attr-defined]
    estimate, expected = torch.zeros(()), torch.zeros(())
    for places in product(range(grid[0, 0].numel()), repeat=2):
        chosen[:] = places
        decoded = network.decode(network.encode(grid), inputs)
        assert task.reinforce is not None
        term = task._reinforce_terms(task.reinforce, decoded, labels)["reinforce"]
        probability = decoded.log_prob.sum().exp()
        estimate = estimate + probability.detach() * term
        expected = expected + probability * task._log_likelihood(decoded.features, labels).sum()
    actual, wanted = (
        torch.autograd.grad(-estimate, score, retain_graph=True),
        torch.autograd.grad(expected, score),
    )
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)  # rewards are float32
    assert max(part.abs().max() for part in wanted) > 0.01


def test_the_penalty_uses_the_sampled_distribution() -> None:
    """A sample has no gradient; its distribution has."""
    task, given = make_task(Hard, reinforce=None, doubly_stochastic=1.0), batch()
    task.training_step(given, 0).backward()
    score = task.network.decoder.attention.score  # type: ignore[attr-defined]
    assert all(weight.grad is not None and weight.grad.any() for weight in score.parameters())


def test_without_attention_there_is_no_penalty() -> None:
    task = make_task(None)
    loss = task.training_step(batch(), 0)
    assert loss.item() == pytest.approx(task.terms["cross_entropy"].item())
    assert "doubly_stochastic" not in task.terms


def test_stored_features_take_the_place_of_images() -> None:
    task, given = make_task(), batch()
    grid = task.network.annotate(given.images).detach()  # type: ignore[arg-type]
    stored = given._replace(images=None, features=grid)
    assert task.training_step(stored, 0).item() == pytest.approx(task.training_step(given, 0).item())


@pytest.mark.parametrize(
    "selection", [Soft, pytest.param(None, marks=pytest.mark.slow)], ids=["soft", "none"]
)
def test_captions_are_learned(tmp_path: Path, selection: Callable[..., nn.Module] | None) -> None:
    task = make_task(selection, doubly_stochastic=0.0, optimizer=partial(torch.optim.Adam, lr=0.02))
    trainer = quiet_trainer(tmp_path, max_epochs=80, check_val_every_n_epoch=80)
    trainer.fit(task, datamodule=Sides())
    values = {name: float(value) for name, value in trainer.callback_metrics.items()}
    (tested,) = trainer.test(task, datamodule=Sides(), verbose=False)
    for name in ("val", "test"):
        assert (values | tested)[f"{name}/exact_match"] == 1.0
        assert (values | tested)[f"{name}/bleu_2"] == pytest.approx(100.0)
        assert ("pointing_accuracy" in {key.partition("/")[2] for key in tested}) == (selection is not None)
        rows = task.predictions[name]
        assert [row["id"] for row in rows] == list(range(12))
        assert [row["references"] for row in rows] == batch().references, "all of each image, once"
        assert [row["input"] for row in rows] == batch().names
        assert set(rows[0]) == {"id", "input", "references", "prediction", "score", "finished"}
    assert values["val/tf_perplexity"] == pytest.approx(math.exp(values["val/tf_loss"]), rel=1e-4)
    assert task.signatures == {one: metric.signature for one, metric in caption_metrics().items()}
    logged = {key.removeprefix("test/") for key in tested}
    assert logged <= set(CaptioningTask.metrics)
    without = set() if selection else {key for key in CaptioningTask.metrics if "pointing" in key}
    assert logged == set(CaptioningTask.metrics) - without


def test_true_captions_match_exactly_and_words_point(tmp_path: Path) -> None:
    def search(*_: Any, **told: Any) -> list[list[Hypothesis]]:
        maps = torch.zeros(2, 8)  # a grid of 2 x 4
        maps[0, [0, 1, 4]] = torch.tensor([0.1, 0.8, 0.1])  # second cell of the first row: left
        count = len(told["maximum_length"])
        return [[Hypothesis(ids[n % 3], 0.0, 0.0, True, maps)] for n in range(count)]

    task = make_task(decoding=search)
    ids = task.target_codec.encode(COLOURS)
    (tested,) = quiet_trainer(tmp_path).test(task, datamodule=Sides(), verbose=False)
    assert tested["test/exact_match"] == tested["test/pointing_counted"] == 1.0
    assert tested["test/pointing_accuracy"] == 0.5, "half of the images have their colour there"


def test_without_true_captions_references_match_exactly(tmp_path: Path) -> None:
    class Unknown(Sides):
        def test_dataloader(self) -> Any:
            raw = [[f"{caption.capitalize()} .", other] for caption, other in batch().references]
            return DataLoader([batch()._replace(references=raw, truths=None)], batch_size=None)

    def search(*_: Any, **told: Any) -> list[list[Hypothesis]]:
        maps = torch.full((3, 8), 1 / 8)
        return [[Hypothesis(ids, 0.0, 0.0, True, maps)] for _ in told["maximum_length"]]

    task = make_task(decoding=search)
    (ids,) = task.target_codec.encode(["red left"])
    (tested,) = quiet_trainer(tmp_path).test(task, datamodule=Unknown(), verbose=False)
    assert tested["test/exact_match"] == pytest.approx(1 / 6)
    assert not [name for name in tested if "pointing" in name]


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3, length_penalty=0.0)])
def test_places_sampled_at_test_belong_to_their_image(search: Any) -> None:
    task = make_task(partial(Hard, sample_at_test=True)).eval()
    images = torch.rand(12, 3, *batch(1).images.shape[-2:])  # type: ignore[union-attr]

    @torch.no_grad()
    def written(rows: Tensor) -> list[tuple[int, ...]]:
        with keyed(rows, 1):
            grid = task.network.annotate(images[rows])
            return [found[0].ids for found in task._search(search, grid, task.network.encode(grid))]

    for parameter in task.network.parameters():
        parameter.data.mul_(3)  # so that what was read decides
    together = written(torch.arange(12))
    assert len({len(ids) for ids in together}) > 1, "all left the batch together"
    assert together == [ids for row in range(12) for ids in written(torch.tensor([row]))]
    one, again = task.caption(images), task.caption(images)
    assert [found[0].text for found in one] == [found[0].text for found in again]


def test_captions_have_maps_of_the_grid_and_do_not_depend_on_the_batch() -> None:
    task, images = make_task().eval(), batch().images
    assert images is not None
    together = task.caption(images, Beam(beam_size=3, length_penalty=0.0, n_best=2))
    for row, captions in enumerate(together):
        (alone,) = task.caption(images[row : row + 1], Beam(beam_size=3, length_penalty=0.0, n_best=2))
        assert [one.text for one in captions] == [one.text for one in alone]
        assert len(captions) == 2
        for caption in captions:
            assert len(caption.tokens) <= 6
            assert caption.finished == (caption.tokens[-1] == "</s>")
            assert caption.weights is not None
            assert caption.weights.shape == (len(caption.tokens), 2, 4)
            torch.testing.assert_close(caption.weights.sum((1, 2)), torch.ones(len(caption.tokens)))
    (none,) = make_task(None).eval().caption(images[:1])
    assert none[0].weights is None


def test_maps_have_the_images_orientation() -> None:
    """Weights are unflattened as places were flattened: row by row."""
    task, images = make_task().eval(), batch().images
    assert images is not None
    grid = task.network.annotate(images[:1])
    found = task.caption(images[:1], Greedy())[0][0]
    ids = task.target_codec.pad([[2]])
    first = task.network.decode(task.network.encode(grid), ids)
    scores = torch.zeros(2, 4)
    for row in range(2):
        for column in range(4):
            place = grid[0, :, row, column]
            memory = task.network.decoder.attention.prepare(place[None, None])  # type: ignore[attr-defined]
            score = task.network.decoder.attention.score(first.queries, memory.projected)  # type: ignore[attr-defined]
            scores[row, column] = score.item()
    assert found.weights is not None
    torch.testing.assert_close(found.weights[0], scores.flatten().softmax(0).view(2, 4))


def test_arguments_of_the_search() -> None:
    told: dict[str, Any] = {}

    def search(*_: Any, **given: Any) -> list[list[Hypothesis]]:
        told.update(given)
        return [[Hypothesis([3], 0.0, 0.0, True)] for _ in given["maximum_length"]]

    make_task().eval().caption(torch.zeros(2, 3, 8, 16), search)
    assert told["maximum_length"].tolist() == [6, 6]
    assert (set(told["forbidden"]), told["bos"], told["eos"]) == ({0, 1, 2}, 2, 3)


class Published(Compact):
    """Counts what it is told."""

    def __init__(self, **given: Any) -> None:
        super().__init__(widths=[8], feature_size=16, **given)
        self.calls: list[object] = []
        self.requires_grad_(False)
        self.register_load_state_dict_post_hook(lambda *_: self.calls.append("checkpoint"))

    def load_published(self) -> None:
        self.calls.append("weights")

    def begin_epoch(self, epoch: int) -> None:
        self.calls.append(epoch)

    def forward(self, images: Tensor) -> Tensor:
        assert "weights" in self.calls
        return super().forward(images)


def test_weights_are_read_before_training_and_the_encoder_knows_the_epoch(tmp_path: Path) -> None:
    task = make_task()
    encoder = task.network.encoder = Published()
    trainer = quiet_trainer(tmp_path, max_epochs=3)
    trainer.fit(task, datamodule=Sides())
    assert encoder.calls == ["weights", 0, 1, 2]
    trained = {id(one) for group in trainer.optimizers[0].param_groups for one in group["params"]}
    frozen = {id(weight) for weight in encoder.parameters()}
    assert not trained & frozen, "the optimiser is given nothing that never learns"
    assert len(trained) == len(list(task.parameters())) - len(frozen)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    resumed = make_task()
    again = resumed.network.encoder = Published()
    quiet_trainer(tmp_path, max_epochs=4).fit(resumed, datamodule=Sides(), ckpt_path=tmp_path / "last.ckpt")
    assert again.calls == ["checkpoint", "weights", 3], "none are missed where it brings some"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"doubly_stochastic": -1.0}, "doubly_stochastic must be at least 0, got -1.0"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1, got 1.0"),
        (
            {"reinforce": {"baseline": MovingAverageBaseline, "entropy_weight": 0.0, "discount": 2.0}},
            "discount must be from 0 to 1, got 2.0",
        ),
        (
            {
                "reinforce": {
                    "baseline": MovingAverageBaseline,
                    "entropy_weight": 0.0,
                    "discount": 1.0,
                    "weight": 0.0,
                }
            },
            "weight must be above 0, got 0.0",
        ),
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make_task(**changes)


def test_controls_are_the_best_constant_caption_and_captions_of_other_images() -> None:
    class Data:
        test_splits = ("test",)

        def references(self, split: str) -> list[list[str]]:
            return [["red left"]] * 3 + [["blue right"]] if split != "test" else []

    task = make_task()
    said = ["red left", "green left", "blue right"]
    task.predictions["test"] = [{"prediction": text, "references": [text, "red left"]} for text in said]
    found = task.control_scores(Data())["test"]
    assert found["constant_bleu_1"] == pytest.approx(100), "red left is true of all"
    # said of the image before: one of two words of the second text, none of the third, all of the first
    assert found["shuffled_bleu_1"] == pytest.approx(100 * 3 / 6, abs=1e-4)
