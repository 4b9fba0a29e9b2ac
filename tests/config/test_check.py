"""Bad configurations, and exactly what is said about them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.config import ConfigError, resolvers
from zoo.config.check import check
from zoo.config.compose import compose_jobs
from zoo.config.frozen import Config

CONF = Path(__file__).parents[2] / "conf"


def said(problem: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as caught:
        problem()
    return str(caught.value)


def test_everything_mistyped_is_said_at_once() -> None:
    resolvers.register()
    line = [
        "decoding=beem",
        "sed=3",
        "data.tokenizer.size=9",
        "data=multi30k",
        "scheduler.rate=5",
        "seed.x=1",
    ]
    text = said(lambda: compose_jobs(CONF, line, False))
    expected = [
        "4 problems in the configuration, nothing was run:",
        "  - decoding=beem: there is no decoding called beem; did you mean beam? allowed: beam, ",
        "  - sed=3: there is no sed; did you mean seed? allowed: attention, callbacks, check, data, ",
        "  - scheduler.rate=5: there is no rate; allowed: warmup_steps",
        "  - seed.x=1: seed is 1, so there is nothing in it",
    ]
    assert [said[: len(start)] for said, start in zip(text.splitlines(), expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("line", "multirun", "message"),
    [
        (["seed=["], False, "seed=[: cannot be read: no viable alternative at input '['"),
        (["seed=1,2", "seed=["], True, "seed=[: cannot be read: no viable alternative at input '['"),
        (["seed=1,2", "attention=dot,genral"], True, "did you mean general? allowed: additive"),
        (["data.batch_tokens=${nothing}"], False, "data.batch_tokens: Interpolation key 'nothing' not found"),
        (["data.batch_tokens=???"], False, "data.batch_tokens: has no value"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_hydra_cannot_read(line: list[str], multirun: bool, message: str) -> None:
    resolvers.register()
    assert message in said(lambda: compose_jobs(CONF, line, multirun))


def spoil(config: Config, **values: object) -> Config:
    """Sets `a__b=value` at a.b."""
    for key, value in values.items():
        *path, last = key.split("__")
        node = config
        for part in path:
            node = node[part]
        node[last] = value
    return config


GOLDEN: list[tuple[dict[str, object], str]] = [
    (
        {"model__hiden_size": 4},
        "model.hiden_size: Seq2Seq takes no hiden_size; did you mean hidden_size? allowed: bidirectional, "
        "decoder, dropout, embedding_size, hidden_size, layers, recurrent, reverse_source, spec, "
        "tie_embeddings",
    ),
    ({"model__layers": "two"}, "model.layers: Seq2Seq takes a whole number, got 'two'"),
    ({"model__layers": True}, "model.layers: Seq2Seq takes a whole number, got true"),
    ({"model__dropout": None}, "model.dropout: Seq2Seq takes a number, got null"),
    ({"model__hidden_size": 7}, "model.hidden_size: hidden_size=7 cannot be divided among 2 directions"),
    (
        {"model__tie_embeddings": True},
        "model.tie_embeddings: needs one vocabulary for both sides; data set 'placeholder' has two "
        "(5 and 5 entries): set data.tokenizer.joint=true",
    ),
    ({"model__decoder": 3}, "model.decoder: Seq2Seq takes a Decoder to build (_partial_: true), got 3"),
    ({"decoding__beam_size": 0}, "decoding.beam_size: must be at least 1, got 0"),
    ({"data__batch_tokens": -1}, "data.batch_tokens: must be at least 1, got -1"),
    ({"data__corpus__test": 0}, "data.corpus.test: must be at least 1, got 0"),
    ({"optimizer__lr": -1.0}, "optimizer.lr: must be above 0, got -1.0"),
    ({"seed": "one"}, "seed: must be a whole number, got 'one'"),
    (
        {"trainer__precision": "bf16-mixd"},
        "trainer.precision: must be '32-true' or 'bf16-mixed' or '16-mixed' or '64-true' or 'bf16-true', "
        "got 'bf16-mixd'; did you mean bf16-mixed?",
    ),
    (
        {"trainer__max_epochs": -1},
        "trainer: training would never end: give one of max_epochs, max_steps, max_time",
    ),
    (
        {"task__monitor": "val/tf_perplexty", "callbacks__best__monitor": "val/tf_perplexty"},
        "task.monitor: val/tf_perplexty is not measured: there is no such metric; did you mean "
        "val/tf_perplexity? allowed: val/bleu, val/chrf, val/exact_match, val/tf_loss, val/tf_perplexity",
    ),
    (
        {"task__monitor": "val/alignment_accuracy", "callbacks__best__monitor": "val/alignment_accuracy"},
        "task.monitor: val/alignment_accuracy is not measured: the data does not know the true alignment; "
        "allowed: val/bleu, ",
    ),
    (
        {"task__monitor": "val/bleu_tok_lc", "callbacks__best__monitor": "val/bleu_tok_lc"},
        "task.monitor: val/bleu_tok_lc is not measured: the target text has no language; did you mean ",
    ),
    (
        {"trainer__devices": 2},
        "trainer.devices: a run trains on one device; start a sweep to use several at once",
    ),
    (
        {"attention": {"_target_": "zoo.attention.Location", "_partial_": True, "maximum_length": 5}},
        "attention.maximum_length: 5 positions are scored, but data.maximum_length=48: leave "
        "attention.maximum_length alone, or shorten the data",
    ),
    (
        {"selection": {"_target_": "zoo.attention.Hard", "_partial_": True}, "task__reinforce": None},
        "selection: Hard samples what it reads, which only task.reinforce can train; give task.reinforce, "
        "or take selection=soft or selection=gumbel_hard",
    ),
    (
        {"optimizer___target_": "torch.optim.Adamm"},
        "optimizer._target_: 'torch.optim.Adamm' does not exist: torch.optim has no Adamm; "
        "did you mean Adam?",
    ),
    ({"foo": 1}, "foo: no such setting; allowed: attention, callbacks, check, data"),
    ({"paths__data": "/x"}, "paths.data: no such setting; did you mean data_dir?"),
]


@pytest.mark.parametrize(("values", "message"), GOLDEN, ids=[" ".join(values) for values, _ in GOLDEN])
def test_what_is_said(config: Config, values: dict[str, object], message: str) -> None:
    text = said(lambda: check(spoil(config, **values)))
    assert text.startswith("1 problem in the configuration, nothing was run:\n  - ")
    assert message in text


def test_a_missing_value_is_named(config: Config) -> None:
    del config["data"]["batch_tokens"], config["seed"]
    text = said(lambda: check(config))
    assert "  - seed: is missing\n" in text
    assert "  - data.batch_tokens: TranslationData needs it, and it is missing" in text


def test_asking_for_what_is_not_read(configure: Callable[..., Config]) -> None:
    none = configure("model/decoder=none", "trainer=cpu")
    check(none)
    text = said(lambda: check(none, ["model/decoder=none", "attention=dot"]))
    assert "attention: attention=dot changes nothing: the model has no attention; leave it out" in text
    assert "selection" not in text


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        (["task.monitor=val/tf_loss"], "min"),
        (["task.monitor=val/tf_perplexity", "scheduler=plateau"], "min"),
        (["task.monitor=val/chrf", "scheduler=plateau"], "max"),
        (["data=reverse", "task.monitor=val/alignment_accuracy"], "max"),
        (["data=multi30k", "task.monitor=val/bleu_tok_lc"], "max"),
    ],
    ids=" ".join,
)
def test_the_direction_follows_from_the_metric(
    configure: Callable[..., Config], line: list[str], mode: str
) -> None:
    config = configure(*line, "trainer=cpu")
    check(config)
    assert config["callbacks"]["best"]["mode"] == mode
    assert config["scheduler"].get("mode") in (None, mode)


def test_no_alignment_without_attention(configure: Callable[..., Config]) -> None:
    config = configure("data=reverse", "model/decoder=none", "task.monitor=val/alignment_accuracy")
    text = said(lambda: check(config))
    assert "task.monitor: val/alignment_accuracy is not measured: the model has no attention; allowed" in text


def test_a_recipe_runs_with_another_schedule(configure: Callable[..., Config]) -> None:
    check(configure("experiment=reverse", "scheduler=constant", "trainer=cpu", "trainer.max_steps=100"))
    plateau = configure("experiment=reverse", "scheduler=plateau", "trainer=cpu", "trainer.max_steps=100")
    text = said(lambda: check(plateau))
    assert "scheduler.warmup_steps: ReduceLROnPlateau takes no warmup_steps; allowed: cooldown, " in text


def test_all_problems_of_a_stage_at_once(config: Config) -> None:
    text = said(
        lambda: check(spoil(config, data__batch_tokens=0, decoding__beam_size=0, model__hidden_size=7))
    )
    assert "2 problems" in text  # the network is only built from parts that can be built


def test_the_default_is_fine(config: Config) -> None:
    check(config)
