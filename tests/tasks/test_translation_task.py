"""The translation task: its loss, its rewards, its free-running evaluation."""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.plugins import MixedPrecision
from quiet import quiet_trainer
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils._python_dispatch import TorchDispatchMode

from data.text.toys import Reverse
from data.text.translation import TranslationData
from data.text.vocabulary import Words
from zoo.attention import Additive, GumbelHard, Hard, LearnedBaseline, Location, NoBaseline, Soft
from zoo.core.batch import Padded, decoder_pair
from zoo.core.metrics_csv import read_metrics
from zoo.decoding import Beam, Greedy, Hypothesis, Sample
from zoo.loggers.metrics_file import MetricsFile
from zoo.metrics import coverage_metrics, text_metrics
from zoo.networks.positions import Learned, Sinusoidal
from zoo.networks.recurrent import GRU
from zoo.networks.seq2seq import BahdanauDecoder, Decoder, FixedVectorDecoder, LuongDecoder, Seq2Seq
from zoo.networks.transformer import Transformer
from zoo.tasks.translation.batch import TranslationBatch
from zoo.tasks.translation.task import Search, TranslationScores, TranslationTask
from zoo.training.callbacks import StepAxis
from zoo.training.schedules import WarmupConstant


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TranslationData:
    corpus = Reverse(seed=1, symbols=6, minimum_length=2, maximum_length=5, train=200, validation=20, test=20)
    module = TranslationData(
        corpus=corpus,
        tokenizer=Words(joint=True),
        batch_tokens=256,
        maximum_length=6,
        seed=1,
        cache_dir=tmp_path_factory.mktemp("cache"),
    )
    module.prepare_data()
    module.setup()
    return module


def make_task(
    data: TranslationData,
    selection: Callable[..., nn.Module] = Soft,
    decoder: Callable[..., Decoder] = BahdanauDecoder,
    *,
    attention: bool = True,
    **changes: Any,
) -> TranslationTask:
    torch.manual_seed(0)
    attentive = partial(decoder, attention={"score": Additive, "selection": selection})
    network = Seq2Seq(
        spec=data.spec,
        decoder=attentive if attention else FixedVectorDecoder,
        recurrent=GRU,
        embedding_size=8,
        hidden_size=16,
        layers=1,
        dropout=0.0,
    )
    parts: dict[str, Any] = {
        "optimizer": partial(torch.optim.Adam, lr=0.01),
        "scheduler": None,
        "decoding": Beam(beam_size=3, length_penalty=1.0),
        "label_smoothing": 0.1,
        "reinforce": {"baseline": LearnedBaseline, "entropy_weight": 0.01, "discount": 1.0},
        "monitor": "val/exact_match",
    }
    return TranslationTask(network=network, spec=data.spec, **(parts | changes))


def first_batch(data: TranslationData) -> TranslationBatch:
    return next(iter(data.train_dataloader()))


def test_the_loss_is_smoothed_cross_entropy_per_real_token(data: TranslationData) -> None:
    task, batch = make_task(data), first_batch(data)
    inputs, labels = decoder_pair(batch.target)
    log_probs = task.network.logits(task.network.decode(task.network.encode(batch.source), inputs).features)
    log_probs = log_probs.detach().double().log_softmax(-1)
    total, tokens, size = 0.0, 0, log_probs.shape[-1]
    for row, length in enumerate(labels.lengths.tolist()):
        for position in range(length):
            here = log_probs[row, position]
            total -= 0.9 * float(here[labels.ids[row, position]]) + 0.1 / size * float(here.sum())
            tokens += 1
    assert task.training_step(batch, 0).item() == pytest.approx(total / tokens, rel=1e-5)


def test_sampled_readings_are_rewarded_with_later_tokens(
    data: TranslationData, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, batch = make_task(data, Hard, label_smoothing=0.0), first_batch(data)
    assert task.reinforce is not None
    seen: dict[str, Any] = {}
    inner = task.reinforce.forward
    monkeypatch.setattr(task.reinforce, "forward", lambda **given: seen.update(given) or inner(**given))
    loss = task.training_step(batch, 0)
    # The first step's reward is the sentence's log-likelihood: their sum is the cross-entropy's.
    lengths = batch.target.lengths - 1
    assert float(seen["reward"][:, 0].sum()) == pytest.approx(
        -float(task.terms["cross_entropy"] * lengths.sum()), rel=1e-4
    )
    last = seen["reward"].gather(1, (lengths - 1)[:, None])
    assert (last > seen["reward"][:, :1]).all()
    assert {"reinforce", "baseline_mse", "entropy", "reward", "advantage_std"} <= task.terms.keys()
    # The estimator's terms are means over sentences, the cross-entropy one over tokens.
    named = {name: float(value) for name, value in task.terms.items()}
    terms = named["reinforce"] + named["baseline_mse"] - 0.01 * named["entropy"]
    together = named["cross_entropy"] + terms * len(lengths) / int(lengths.sum())
    assert loss.item() == pytest.approx(together, rel=1e-4) == named["loss"]
    loss.backward()
    score = task.network.decoder.attention.score  # type: ignore[attr-defined]
    assert all(weight.grad is not None and weight.grad.any() for weight in score.parameters())


def test_with_discount_0_a_reading_is_rewarded_with_its_own_token(
    data: TranslationData, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = {"baseline": LearnedBaseline, "entropy_weight": 0.0, "discount": 0.0}
    task, batch = make_task(data, Hard, label_smoothing=0.0, reinforce=alone), first_batch(data)
    assert task.reinforce is not None
    seen: dict[str, Any] = {}
    inner = task.reinforce.forward
    monkeypatch.setattr(task.reinforce, "forward", lambda **given: seen.update(given) or inner(**given))
    task.training_step(batch, 0)
    tokens = (batch.target.lengths - 1).sum()
    assert seen["reward"].sum().item() == pytest.approx(
        -(task.terms["cross_entropy"] * tokens).item(), rel=1e-4
    )


def test_with_discount_none_the_whole_sentence_rewards_each_reading(
    data: TranslationData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Xu et al. 2015, section 4.1: `log p(y | s̃, a) - b` stands before the sum over the readings."""
    whole = {"baseline": NoBaseline, "entropy_weight": 0.0, "discount": None}
    task, batch = make_task(data, Hard, label_smoothing=0.0, reinforce=whole), first_batch(data)
    seen: dict[str, Any] = {}
    assert task.reinforce is not None
    inner = task.reinforce.forward
    monkeypatch.setattr(task.reinforce, "forward", lambda **given: seen.update(given) or inner(**given))
    task.training_step(batch, 0)
    lengths = batch.target.lengths - 1
    log_prob, keep = seen["log_prob"].double(), seen["keep_mask"]
    sentences = seen["reward"][:, 0].double()
    assert torch.equal(seen["reward"], seen["reward"][:, :1].expand_as(seen["reward"]))
    cross_entropy = task.terms["cross_entropy"].double() * lengths.sum()
    torch.testing.assert_close(-sentences.sum(), cross_entropy, rtol=1e-4, atol=0.0)
    estimator = -(sentences * log_prob.where(keep, 0.0).sum(1)).mean()
    torch.testing.assert_close(task.terms["reinforce"].double(), estimator, rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("selection", [Soft, GumbelHard])
def test_selections_without_samples_have_no_reinforce_parameters(
    data: TranslationData, selection: Callable[..., nn.Module]
) -> None:
    task = make_task(data, selection)
    assert task.reinforce is None
    assert not [name for name, _ in task.named_parameters() if "baseline" in name]


def test_translations_keep_the_order_and_do_not_depend_on_the_batch(data: TranslationData) -> None:
    task = make_task(data).eval()
    texts = ["a b c d e", "f", "b a", "c c c c"]
    together = task.translate(texts)
    alone = [task.translate([text])[0] for text in texts]
    for text, many, one in zip(texts, together, alone, strict=True):
        assert many[0].text == one[0].text
        assert many[0].score == pytest.approx(one[0].score, abs=1e-5)
        assert many[0].source_tokens == [*text.split(), "</s>"]
        assert many[0].weights is not None
        assert many[0].weights.shape == (len(many[0].tokens), len(many[0].source_tokens))
        torch.testing.assert_close(many[0].weights.sum(1), torch.ones(len(many[0].tokens)))


FED = partial(LuongDecoder, input_feeding=True)
WAYS = [
    pytest.param(BahdanauDecoder, Greedy(), id="bahdanau-greedy"),
    pytest.param(FED, Beam(beam_size=3, length_penalty=1.0), id="luong-beam"),
    pytest.param(FED, Sample(samples=2), id="luong-sample"),
]
"""Decoders and searches; each search of every decoder has its laws in tests/networks and tests/decoding."""


@pytest.mark.parametrize(("decoder", "search"), WAYS)
def test_translations_are_the_same_for_batches_of_1_3_and_16(
    data: TranslationData, decoder: Callable[..., Decoder], search: Search
) -> None:
    task = make_task(data, decoder=decoder).eval()
    generator = random.Random(0)
    texts = [" ".join(generator.choices("abcdef", k=generator.randint(0, 5))) for _ in range(20)]
    one, few, many = ([*task.translate(texts, search, size)] for size in (1, 3, 16))
    for other in (few, many):
        for alone, together in zip(one, other, strict=True):
            assert [found.tokens for found in alone] == [found.tokens for found in together]
            scores = [found.score for found in together]
            assert [found.score for found in alone] == pytest.approx(scores, abs=1e-4)
            for here, there in zip(alone, together, strict=True):
                torch.testing.assert_close(here.weights, there.weights, atol=1e-5, rtol=0)


def test_weights_are_kept_only_when_they_are_wanted(data: TranslationData) -> None:
    task = make_task(data).eval()
    seen: list[bool] = []

    def search(step: Any, *arguments: Any, **named: Any) -> list[list[Hypothesis]]:
        def watched(*given: Any) -> Any:
            result = step(*given)
            seen.append(result.weights is not None)
            return result

        return Greedy()(watched, *arguments, **named)

    ((without,),) = task.translate(["a b c"], search, weights=False)
    assert without.weights is None
    assert not any(seen), "what the search never sees takes no memory"
    ((kept,),) = task.translate(["a b c"], search)
    assert kept.weights is not None
    assert (kept.text, kept.score) == (without.text, without.score)


def test_of_a_source_beyond_the_maximum_only_the_beginning_is_read(data: TranslationData) -> None:
    task = make_task(data).eval()
    short, full, long = (found[0] for found in task.translate(["a b", "a b c d e", "a b c d e f a"]))
    assert (short.unread, full.unread, long.unread) == (0, 0, 2)
    assert long.source_tokens == ["a", "b", "c", "d", "e", "</s>"]
    assert (long.text, long.score) == (full.text, pytest.approx(full.score, abs=1e-5))


def test_mixed_precision_casts_each_weight_once_for_a_whole_search(data: TranslationData) -> None:
    class Casts(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            self.count += func is torch.ops.aten._to_copy.default and args[0] is weight
            return func(*args, **(kwargs or {}))

    task = make_task(data).eval()
    weight = task.network.output.weight
    task.network.output.bias.data[task.target.eos] = -100.0
    with Casts() as casts, torch.autocast("cpu", torch.bfloat16):
        (found,) = task.translate(["a b c d"], batch_size=1)
    assert len(found[0].ids) > 3
    assert casts.count == 1


def test_progress_is_told_how_many_sentences_each_batch_had(data: TranslationData) -> None:
    told: list[int] = []
    make_task(data).eval().translate(["a", "b", "c d", "e f a", "b"], Greedy(), 2, progress=told.append)
    assert told == [2, 2, 1]


def test_attention_of_the_reported_hypotheses_is_measured(data: TranslationData, tmp_path: Path) -> None:
    """What `translate` gives for the same sentences, each token alike, padding left out."""
    task, trainer = make_task(data), quiet_trainer(tmp_path)
    (measured,) = trainer.test(task, datamodule=data, verbose=False)
    rows = [
        row
        for item in task.predictions["test"]
        for row in task.translate([item["input"]])[0][0].weights  # type: ignore[union-attr]
    ]
    entropies = [float(torch.special.entr(row).sum()) for row in rows]
    relative = [entropy / math.log(len(row)) for entropy, row in zip(entropies, rows, strict=True)]
    assert measured["test/alignment_entropy"] == pytest.approx(sum(entropies) / len(rows), rel=1e-4)
    assert measured["test/alignment_normalised_entropy"] == pytest.approx(sum(relative) / len(rows), rel=1e-4)
    heaviest = sum(float(row.max()) for row in rows) / len(rows)
    assert measured["test/alignment_sharpness"] == pytest.approx(heaviest, rel=1e-4)


def test_without_attention_none_is_measured_and_coverage_needs_languages_and_items(
    data: TranslationData, tmp_path: Path
) -> None:
    task, trainer = make_task(data, attention=False), quiet_trainer(tmp_path)
    (measured,) = trainer.test(task, datamodule=data, verbose=False)
    assert not [name for name in measured if "alignment" in name or "coverage" in name]
    languages = {"source": "en", "target": "de"}
    fields = {side: replace(data.spec.text(side), language=code) for side, code in languages.items()}
    scores = TranslationScores(replace(data.spec, fields=fields))
    scores.teacher_forced.update(torch.tensor(1.0), 1)
    for metric in scores.named.values():
        metric.update(["ab 12"], [["ab 1 2"]])
    for metric in scores.coverage.values():
        metric.update(["ab 12"], [["ab 1 2"]], ["ab 1 2"])  # type: ignore[operator]
    values = scores.finish()
    assert float(values["number_coverage"]) == 0.0
    assert "name_coverage" not in values, "there were none"
    assert int(scores.coverage["number_coverage"].items) == 0, "the next split starts from nothing"  # type: ignore[arg-type]


def test_the_measured_loss_counts_every_real_token_once(data: TranslationData, tmp_path: Path) -> None:
    task = make_task(data)
    (measured,) = quiet_trainer(tmp_path).validate(task, datamodule=data, verbose=False)
    total, tokens = 0.0, 0
    for batch in data.val_dataloader():
        for source, target in zip(
            zip(*batch.source, strict=True), zip(*batch.target, strict=True), strict=True
        ):
            alone = [Padded(ids[None, : int(length)], length[None]) for ids, length in (source, target)]
            inputs, labels = decoder_pair(alone[1])
            logits = task.network.logits(task.network.decode(task.network.encode(alone[0]), inputs).features)
            total += nn.functional.cross_entropy(logits[0], labels.ids[0], reduction="sum").item()
            tokens += int(labels.lengths)
    assert measured["val/tf_loss"] == pytest.approx(total / tokens, rel=1e-4)


@pytest.mark.parametrize("ends", ["positions", "score"])
def test_a_reference_beyond_the_maximum_is_scored_whole_and_read_in_part(ends: str, tmp_path: Path) -> None:
    """By networks that have learned positions, or scores of positions, up to the longest of training."""
    data = TranslationData(
        corpus=Reverse(seed=1, symbols=6, minimum_length=2, maximum_length=5, train=99, validation=9, test=9),
        tokenizer=Words(joint=True),
        batch_tokens=256,
        maximum_length=4,
        seed=1,
        cache_dir=tmp_path / "cache",
    )
    data.prepare_data()
    data.setup()
    task = make_task(data, reinforce=None)
    task.network = Transformer(
        spec=data.spec,
        attention={
            "score": partial(Location, maximum_length=4) if ends == "score" else Additive,
            "selection": Soft,
        },
        positions=partial(Learned, maximum_length=4) if ends == "positions" else Sinusoidal,
        model_size=8,
        feed_forward_size=8,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation=nn.ReLU,
    )
    (measured,) = quiet_trainer(tmp_path).validate(task, datamodule=data, verbose=False)
    assert math.isfinite(measured["val/tf_loss"])
    assert max(len(item["references"][0].split()) for item in task.predictions["val"]) == 5


def test_validation_is_greedy_and_the_test_as_configured(data: TranslationData, tmp_path: Path) -> None:
    calls: list[int] = []

    def search(*arguments: Any, **given: Any) -> list[list[Hypothesis]]:
        calls.append(1)
        return Greedy()(*arguments, **given)

    task, trainer = make_task(data, decoding=search), quiet_trainer(tmp_path)
    trainer.validate(task, datamodule=data, verbose=False)
    assert not calls
    trainer.test(task, datamodule=data, verbose=False)
    assert calls


def test_arguments_of_the_search(data: TranslationData) -> None:
    """Limits by each sentence's own length, and no special token but the end."""
    task = make_task(data).eval()
    task.target = replace(task.target, maximum_length=15)
    told: dict[str, Any] = {}

    def search(*_: Any, **given: Any) -> list[list[Hypothesis]]:
        told.update(given)
        return [[Hypothesis([3], 0.0, 0.0, True)] for _ in given["maximum_length"]]

    task.translate(["a", "a b c d e"], search)
    assert told["maximum_length"].tolist() == [2 * 2 + 10, 15]
    assert set(told["forbidden"]) == {task.target.pad, task.target.bos, task.target.unk}
    assert (told["bos"], told["eos"]) == (task.target.bos, task.target.eos)


@pytest.mark.parametrize(("decoder", "search"), WAYS)
def test_each_row_of_weights_belongs_to_the_token_that_was_being_written(
    data: TranslationData, decoder: Callable[..., Decoder], search: Search
) -> None:
    """Row t is what step t reads, whose input is the token before."""
    task = make_task(data, decoder=decoder).double().eval()
    task.network.output.bias.data[data.spec.text("target").eos] -= 5.0  # type: ignore[attr-defined]  # more to say
    text = "a b c d e"
    source = task.source_codec.pad(task.source_codec.encode([text]))
    names = task.target_codec.tokens(range(data.spec.text("target").size))
    for translation in task.translate([text], search)[0]:
        ids = [names.index(token) for token in translation.tokens]
        assert task.target_codec.decode(ids) == translation.text
        inputs = task.target_codec.pad([[data.spec.text("target").bos, *ids[:-1]]])
        weights = task.network.decode(task.network.encode(source), inputs).weights[0]
        torch.testing.assert_close(translation.weights, weights.float(), atol=1e-6, rtol=0)
        assert not torch.allclose(weights[1:], weights[:-1], atol=1e-4), "rows must be told apart"


def test_no_translation_depends_on_dropout(data: TranslationData) -> None:
    """Lightning leaves evaluation mode to its loops; whoever calls `translate` may still be training."""
    task = make_task(data).eval()
    assert task.translate(["a b"], Greedy())[0][0].score == task.translate(["a b"], Greedy())[0][0].score


def test_validation_and_test_run_free_and_list_predictions_in_the_datas_order(
    data: TranslationData, tmp_path: Path
) -> None:
    task = make_task(data)
    trainer = quiet_trainer(tmp_path, max_epochs=30, check_val_every_n_epoch=30)
    trainer.fit(task, datamodule=data)
    values = {name: float(value) for name, value in trainer.callback_metrics.items()}
    assert {
        "val/bleu",
        "val/chrf",
        "val/exact_match",
        "val/tf_loss",
        "val/tf_perplexity",
        "val/alignment_accuracy",
    } <= set(values)
    assert values["val/tf_perplexity"] == pytest.approx(math.exp(values["val/tf_loss"]), rel=1e-4)
    (measured,) = trainer.test(task, datamodule=data, verbose=False)
    for split in ("val", "test"):
        rows = task.predictions[split]
        assert [row["id"] for row in rows] == list(range(20))
        right = sum(row["prediction"] == row["references"][0] for row in rows) / 20
        assert (values | measured)[f"{split}/exact_match"] == pytest.approx(right)
    assert all(row["references"] == [row["input"][::-1]] for row in task.predictions["test"])
    assert task.signatures["bleu"].startswith("nrefs:1|case:mixed")


def test_mixed_precision_gives_nearly_the_same_loss(data: TranslationData) -> None:
    task, batch = make_task(data), first_batch(data)
    exact = task.training_step(batch, 0).item()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = task.training_step(batch, 0)
    assert mixed.dtype == torch.float32
    assert mixed.item() == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed"])
def test_a_fused_optimizer_gets_clipped_gradients_in_every_precision(
    data: TranslationData, tmp_path: Path, precision: Literal["bf16-mixed", "16-mixed"]
) -> None:
    norms: list[float] = []

    def fused(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        optimizer = torch.optim.Adam(parameters, lr=0.01, fused=True)
        optimizer.register_step_post_hook(
            lambda *_: norms.append(float(nn.utils.get_total_norm([weight.grad for weight in weights])))
        )
        return optimizer

    task = make_task(data, optimizer=fused)
    weights = list(task.parameters())
    before = [weight.detach().clone() for weight in weights]
    limits = {"max_steps": 3, "limit_val_batches": 0, "gradient_clip_val": 0.01}
    plugins = [MixedPrecision(precision, device="cpu")]  # Lightning gives a CPU no float16 by name
    quiet_trainer(tmp_path, plugins=plugins, **limits).fit(task, datamodule=data)
    assert norms == pytest.approx([0.01] * 3, rel=1e-3)
    assert all((old != new).any() for old, new in zip(before, weights, strict=True))


class _Watched(ReduceLROnPlateau):
    """A plateau that remembers what it was shown."""

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        super().step(metrics)
        self.seen = [*getattr(self, "seen", []), float(metrics)]


@pytest.mark.parametrize(
    ("limits", "validations"),
    [
        ({"max_epochs": 3}, 3),
        ({"max_epochs": 5, "check_val_every_n_epoch": 2}, 2),
        ({"max_epochs": 2, "val_check_interval": 2, "limit_train_batches": 4}, 4),
        ({"max_steps": 9, "val_check_interval": 3, "check_val_every_n_epoch": None}, 3),
    ],
    ids=str,
)
def test_a_plateau_is_shown_every_validation_once(
    data: TranslationData, tmp_path: Path, limits: dict[str, Any], validations: int
) -> None:
    schedule = partial(_Watched, mode="min", patience=0, factor=0.5, threshold=1e9, threshold_mode="abs")
    task = make_task(data, scheduler=schedule, monitor="val/tf_loss")
    logged: list[float] = []
    watcher = pl.callbacks.LambdaCallback(
        on_validation_end=lambda trainer, _: logged.append(float(trainer.callback_metrics["val/tf_loss"]))
    )
    trainer = quiet_trainer(tmp_path, callbacks=[watcher], **limits)
    trainer.fit(task, datamodule=data)
    (config,) = trainer.lr_scheduler_configs
    assert config.scheduler.seen == pytest.approx(logged)
    assert len(logged) == validations
    # Nothing is enough of an improvement: all but the first validation halve the rate.
    assert trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.01 * 0.5 ** (validations - 1))
    trainer.validate(task, datamodule=data, verbose=False)
    assert len(config.scheduler.seen) == validations, "a validation outside of the training is no news"


def test_a_schedule_moves_at_every_step(data: TranslationData, tmp_path: Path) -> None:
    task = make_task(data, scheduler=partial(WarmupConstant, warmup_steps=10))
    trainer = quiet_trainer(tmp_path, max_steps=3, limit_val_batches=0)
    trainer.fit(task, datamodule=data)
    assert trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.01 * 4 / 10)


def test_the_terms_of_every_logged_step_are_its_own(data: TranslationData, tmp_path: Path) -> None:
    task, shown = make_task(data), []
    watcher = pl.callbacks.LambdaCallback(
        on_train_batch_end=lambda *_: shown.append(task.terms["loss"].item())
    )
    logger = MetricsFile(tmp_path / "metrics.csv")
    trainer = quiet_trainer(
        tmp_path,
        max_steps=5,
        limit_val_batches=0,
        log_every_n_steps=2,
        logger=logger,
        callbacks=[watcher, StepAxis()],
    )
    trainer.fit(task, datamodule=data)
    rows = [(row.step, row.value) for row in read_metrics(logger.path) if row.name == "train/loss"]
    assert rows == [(2, pytest.approx(shown[1])), (4, pytest.approx(shown[3]))]
    assert len(set(shown)) == 5


def test_every_metric_that_is_logged_is_declared(data: TranslationData, tmp_path: Path) -> None:
    task = make_task(data)
    trainer = quiet_trainer(tmp_path)
    trainer.validate(task, datamodule=data, verbose=False)
    logged = {name.removeprefix("val/") for name in trainer.callback_metrics}
    assert logged | {*text_metrics("de"), *coverage_metrics()} == {*TranslationTask.metrics}


def test_the_decoder_reads_bos_first_and_must_predict_eos_last() -> None:
    inputs, labels = decoder_pair(Padded(torch.tensor([[2, 5, 6, 3], [2, 7, 3, 0]]), torch.tensor([4, 3])))
    assert [row[:length].tolist() for row, length in zip(*inputs, strict=True)] == [[2, 5, 6], [2, 7]]
    assert [row[:length].tolist() for row, length in zip(*labels, strict=True)] == [[5, 6, 3], [7, 3]]
