"""Bad configurations, and exactly what is said about them."""

import errno
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.config import dashboards, resolvers
from zoo.config.check import check
from zoo.config.compose import compose_jobs
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

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
        "sweep.x=1",
    ]
    text = said(lambda: compose_jobs(CONF, line, False))
    expected = [
        "4 problems in the configuration, nothing was run:",
        "  - decoding=beem: there is no decoding called beem; did you mean beam? allowed: beam, ",
        "  - sed=3: there is no sed; did you mean seed? allowed: attention, callbacks, check, compile, ",
        "  - scheduler.rate=5: there is no rate; allowed: warmup_steps",
        "  - sweep.x=1: there is no x; allowed: fail_fast, jobs_",
    ]
    assert [said[: len(start)] for said, start in zip(text.splitlines(), expected, strict=True)] == expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [1, -1])
def test_a_choice_is_not_at_fault_for_a_value_it_has_no_place_for(order: int) -> None:
    resolvers.register()
    line = ["data.batch_tokens=100", "data=mnist"][::order]
    text = said(lambda: compose_jobs(CONF, line, False))
    assert "  - data.batch_tokens=100: there is no batch_tokens; " in text
    assert "data=mnist:" not in text
    text = said(lambda: compose_jobs(CONF, ["model/recurrent=lstm", "model=transformer"][::order], False))
    assert "  - model/recurrent=lstm: " in text
    assert "model=transformer:" not in text


@pytest.mark.parametrize(
    ("line", "multirun", "message"),
    [
        (["seed=["], False, "seed=[: cannot be read: no viable alternative at input '['"),
        (["seed=1,2", "seed=["], True, "seed=[: cannot be read: no viable alternative at input '['"),
        (["seed=1,2", "attention=dot,genral"], True, "did you mean general? allowed: additive"),
        (["data.batch_tokens=${nothing}"], False, "data.batch_tokens: Interpolation key 'nothing' not found"),
        (
            ["model=bert", "data=stdlib", "task=language_modelling"],
            False,
            "task.decoding: the task takes decoding=, and the model leaves it out",
        ),
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
        "model.tie_embeddings: needs one vocabulary for both sides, and this data has two: set "
        "data.tokenizer.joint=true",
    ),
    ({"model__decoder": 3}, "model.decoder: Seq2Seq takes a Decoder to build (_partial_: true), got 3"),
    ({"decoding__beam_size": 0}, "decoding.beam_size: must be at least 1, got 0"),
    ({"data__batch_tokens": -1}, "data.batch_tokens: must be at least 1, got -1"),
    ({"data__corpus__test": 0}, "data.corpus.test: must be at least 1, got 0"),
    ({"optimizer__lr": -1.0}, "optimizer.lr: must be above 0, got -1.0"),
    ({"seed": "one"}, "seed: must be a whole number, got 'one'"),
    (
        {"trainer__precision": "bf16-mixd"},
        "trainer.precision: must be '32-true' or 'bf16-mixed' or '16-mixed' or '64-true', "
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
        "task.monitor: val/alignment_accuracy is not measured: the data does not know the true alignment",
    ),
    (
        {"task__monitor": "val/alignment_entropy", "callbacks__best__monitor": "val/alignment_entropy"},
        "task.monitor: val/alignment_entropy has no direction: neither high nor low values are better",
    ),
    (
        {"task__monitor": "val/bleu_tok_lc", "callbacks__best__monitor": "val/bleu_tok_lc"},
        "task.monitor: val/bleu_tok_lc is not measured: the target text has no language; did you mean ",
    ),
    (
        {"task__monitor": "val/name_coverage", "callbacks__best__monitor": "val/name_coverage"},
        "task.monitor: val/name_coverage is not measured: a split without numbers or names has none; ",
    ),
    (
        {"trainer__devices": 2},
        "trainer.devices: a run trains on one device, but with trainer.strategy=ddp, as trainer=ddp, ddp_cpu",
    ),
    (
        {"selection": {"_target_": "zoo.attention.Hard", "_partial_": True}, "task__reinforce": None},
        "selection: Hard samples what it reads, which only task.reinforce can train; give task.reinforce, "
        "or take selection=soft or selection=gumbel_hard",
    ),
    (
        {"task__replace_unknown": True},
        "task.replace_unknown: true needs a vocabulary of whole words; Characters spells rare ones and "
        "leaves hardly any unknown; take data/tokenizer=words, or leave it out",
    ),
    ({"task__replace_unknown": 1}, "task.replace_unknown: TranslationTask takes true or false, got 1"),
    (
        {"optimizer___target_": "torch.optim.Adamm"},
        "optimizer._target_: 'torch.optim.Adamm' does not exist: torch.optim has no Adamm; "
        "did you mean Adam?",
    ),
    (
        {"data__batch_tokens": 47},
        "data.batch_tokens: must hold the longest sentence, got 47 and data.maximum_length=48",
    ),
    ({"data__seed": -1}, "data.seed: must be at least 0, got -1"),
    ({"data__num_workers": -1}, "data.num_workers: must be at least 0, got -1"),
    ({"data__corpus": None}, "data.corpus: TranslationData takes a Corpus to build, got null"),
    (
        {"data__corpus": {"_target_": "data.text.vocabulary.Characters"}},
        "data.corpus: TranslationData takes a Corpus to build, got Characters",
    ),
    ({"data__tokenizer": {}}, "data.tokenizer: TranslationData takes a Vocabulary to build, got {}"),
    ({"data": None}, "data: must be a LightningDataModule to build, got null"),
    ({"model": [3]}, "model: must be a Module to build (_partial_: true), got [3]"),
    ({"optimizer": 3}, "optimizer: must be an Optimizer to build (_partial_: true), got 3"),
    ({"scheduler": "x"}, "scheduler: must be a LRScheduler to build (_partial_: true) or null, got 'x'"),
    ({"callbacks": None}, "callbacks: must be a mapping, got null"),
    ({"callbacks__samples": None}, "callbacks.samples: must be a Callback to build, got null"),
    ({"seed": [1, 2]}, "seed: must be a whole number, got [1, 2]; to run a job with each: -m seed=1,2"),
    ({"seed": 2**32}, "seed: must be from 0 to 4294967295, got 4294967296"),
    ({"model__embedding_size": -1}, "model.embedding_size: must be at least 1, got -1"),
    ({"model__dropout": 1.0}, "model.dropout: must be at least 0 and below 1, got 1.0"),
    ({"model__dropout": float("nan")}, "model.dropout: must be a finite number, got nan"),
    ({"model__hidden_size": 10**30}, "model: "),
    ({"model__decoder___partial_": False}, "model.decoder"),
    ({"task__label_smoothing": 1}, "task.label_smoothing: must be at least 0 and below 1, got 1"),
    ({"task__reinforce__discount": 1.5}, "task.reinforce.discount: must be from 0 to 1, got 1.5"),
    (
        {"task__reinforce__discount": "x"},
        "task.reinforce.discount: TranslationTask takes a number or null, got 'x'",
    ),
    (
        {"task__reinforce__entropy_weight": -0.1},
        "task.reinforce.entropy_weight: must be at least 0, got -0.1",
    ),
    (
        {"task__reinforce__entropy": 1},
        "task.reinforce.entropy: no such setting; did you mean entropy_weight? allowed: baseline, discount, ",
    ),
    (
        {"model__decoder__attention__score__hidden_size": 0},
        "model.decoder.attention.score.hidden_size: Additive: hidden_size=0, must be at least 1",
    ),
    ({"optimizer__lr": "abc"}, "optimizer.lr: Adam takes a number, got 'abc'"),
    ({"optimizer__lr": 0}, "optimizer.lr: must be above 0, got 0"),
    ({"optimizer__lr": float("inf")}, "optimizer.lr: must be a finite number, got inf"),
    (
        {"optimizer__betas": [0.9, 1.0]},
        "optimizer.betas: must be at least 0 and below 1 each, got [0.9, 1.0]",
    ),
    ({"optimizer__betas": [0.9]}, "optimizer.betas: Adam takes a list of 2, got [0.9]"),
    ({"optimizer__betas": ["a", 0.9]}, "optimizer.betas[0]: Adam takes a number, got 'a'"),
    (
        {"logger__wandb__tags": ["first", 2024]},
        "logger.wandb.tags[1]: WandbLogger takes text, got 2024; in quotes it is text: '\"2024\"'",
    ),
    (
        {"trainer__beam_size": 3},
        "trainer.beam_size: Trainer takes no beam_size; did you mean decoding.beam_size",
    ),
    (
        {"name": 1e5, "logger__wandb__name": 1e5},
        "name: must be text, got 100000.0; in quotes it is text: '\"...\"'",
    ),
    ({"optimizer__weight_decay": -1}, "optimizer.weight_decay: must be at least 0, got -1"),
    (
        {
            "optimizer": {"_target_": "torch.optim.SparseAdam", "_partial_": True}
        },  # it refuses the first step only
        "optimizer: cannot be built: RuntimeError in sparse_adam.py, line ",
    ),
    (
        {"scheduler": {"_target_": "torch.optim.lr_scheduler.StepLR", "_partial_": True, "step_size": 0}},
        "scheduler: cannot be built: ZeroDivisionError in lr_scheduler.py, line ",
    ),
    ({"trainer__max_epochs": 0}, "trainer.max_epochs: must be null or -1 or a whole number from 1 on, got 0"),
    (
        {"trainer__max_time": "soon"},
        "trainer.max_time: must be null or a time as days:hours:minutes:seconds, ",
    ),
    ({"trainer__max_time": "00:00:00:00"}, "trainer.max_time: must be null or a time as days:hours:"),
    ({"trainer__max_time": "9999999999:00:00:00"}, "trainer.max_time: must be null or a time as days:hours:"),
    ({"trainer__max_time": {"minutes": 0}}, "trainer.max_time: must be null or a time as days:hours:"),
    ({"trainer__max_time": {"minutes": -5}}, "trainer.max_time: must be null or a time as days:hours:"),
    (
        {"trainer__limit_val_batches": 1.5},
        "trainer.limit_val_batches: must be null or a whole number from 1 on",
    ),
    ({"trainer__limit_train_batches": -1}, "trainer.limit_train_batches: must be null or a whole number"),
    (
        {"trainer__val_check_interval": 0},
        "trainer.val_check_interval: must be null or a whole number from 1 on",
    ),
    (
        {"trainer__log_every_n_steps": 0},
        "trainer.log_every_n_steps: must be null or a whole number from 1 on",
    ),
    ({"trainer__gradient_clip_val": -0.5}, "trainer.gradient_clip_val: must be null or at least 0, got -0.5"),
    (
        {"trainer__accumulate_grad_batches": 2, "trainer__limit_train_batches": 0.5},
        "trainer.limit_train_batches: 0.5 counts parts of batches, and trainer.accumulate_grad_batches=2",
    ),
    (
        {"trainer__limit_train_batches": 5, "trainer__val_check_interval": 100},
        "trainer.val_check_interval: 100 batches between validations are counted within an epoch, which "
        "has 5: take at most 5, or trainer.check_val_every_n_epoch=null",
    ),
    (
        {"trainer__check_val_every_n_epoch": None},
        "trainer.val_check_interval: must be a whole number where trainer.check_val_every_n_epoch=null, "
        "got null",
    ),
    (
        {"trainer__check_val_every_n_epoch": None, "trainer__val_check_interval": 0.5},
        "trainer.val_check_interval: must be a whole number where trainer.check_val_every_n_epoch=null, "
        "got 0.5",
    ),
    (
        {"trainer__accumulate_grad_batches": 2, "trainer__val_check_interval": 3},
        "trainer.val_check_interval: 3 counts parts of batches",
    ),
    (
        {"trainer__accumulate_grad_batches": 0},
        "trainer.accumulate_grad_batches: must be a whole number from 1 ",
    ),
    (
        {"trainer__fast_dev_run": True},
        "trainer.fast_dev_run: must be false: take trainer=debug instead",
    ),
    ({"trainer__callbacks": []}, "trainer.callbacks: must be left to train.py, which sets it, got []"),
    ({"trainer__accelerator": None}, "trainer.accelerator: Trainer takes text, got null"),
    ({"trainer__accelerator": "cpuu"}, "trainer.accelerator: You selected an invalid accelerator name"),
    ({"trainer__profiler": "fast"}, "trainer.profiler: "),
    ({"trainer__enable_progress_bar": False}, "trainer.enable_progress_bar: Trainer was configured with "),
    (
        {"trainer__precision": "16-mixed"},
        "trainer.precision: '16-mixed' needs a GPU; take bf16-mixed or 32-true",
    ),
    (
        {"trainer__strategy": "ddp"},
        "trainer.use_distributed_sampler: must be false with a strategy: token batches are shared",
    ),
    ({"decoding__n_best": 9}, "decoding.n_best: must be from 1 to beam_size (5), got 9"),
    ({"decoding___partial_": True}, "decoding: must be something to call, got Beam (_partial_: true)"),
    ({"callbacks__best__dirpath": "/x"}, "callbacks.best.dirpath: must be the folder checkpoints in"),
    ({"callbacks__best__filename": "top"}, "callbacks.best.filename: must be 'best', got 'top'"),
    (
        {"callbacks__best__monitor": "val/bleu"},
        "callbacks.best.monitor: must be task.monitor, got 'val/bleu'",
    ),
    ({"callbacks__best__save_top_k": 2}, "callbacks.best.save_top_k: must be 1, got 2"),
    (
        {"callbacks__best__enable_version_counter": True},
        "callbacks.best.enable_version_counter: must be false",
    ),
    (
        {"callbacks__last__folder": "/x"},
        "callbacks.last.folder: must be paths.run_dir, got '/x'",
    ),
    ({"logger__metrics__path": "/x.csv"}, "logger.metrics.path: must be metrics.csv in paths.run_dir, got"),
    ({"logger__wandb__folder": "/x"}, "logger.wandb.folder: must be paths.run_dir, got '/x'"),
    ({"logger__wandb__wandb_dir": "/x"}, "logger.wandb.wandb_dir: must be paths.wandb_dir, got '/x'"),
    ({"data__cache_dir": "/x"}, "data.cache_dir: must lie in one of the folders of paths, got '/x'"),
    ({"data__cache_dir": "x"}, "data.cache_dir: must lie in one of the folders of paths, got 'x'"),
    (
        {"callbacks__best": {"_target_": "zoo.training.callbacks.StepAxis"}},
        "callbacks.best: is a StepAxis: every run needs this ModelCheckpoint",
    ),
    (
        {
            "callbacks__hook": {
                "_target_": "lightning.pytorch.callbacks.LambdaCallback",
                "on_fit_start": {"_target_": "zoo.training.callbacks.StepAxis", "_partial_": True},
            }
        },
        "callbacks.hook.on_fit_start: LambdaCallback takes something to call or null, got StepAxis",
    ),
    ({"attention___recursive_": False}, "attention._recursive_: Additive takes no _recursive_; "),
    ({"foo": 1}, "foo: no such setting; allowed: attention, callbacks, check, compile, "),
    ({"paths__data": "/x"}, "paths.data: no such setting; did you mean data_dir?"),
]


def test_unknown_words_are_replaced_by_attention_alone(configure: Callable[..., Config]) -> None:
    words = ["data/tokenizer=words", "task.replace_unknown=true"]
    check(configure(*words))
    text = said(lambda: check(configure(*words, "model/decoder=none")))
    assert (
        "task.replace_unknown: true needs attention, which says the word to copy, and the model has" in text
    )


@pytest.mark.sampled(50)
@pytest.mark.parametrize(("values", "message"), GOLDEN, ids=[" ".join(values) for values, _ in GOLDEN])
def test_what_is_said(config: Config, values: dict[str, object], message: str) -> None:
    text = said(lambda: check(spoil(config, **values)))
    assert text.startswith("1 problem in the configuration, nothing was run:\n  - ")
    assert message in text


@pytest.mark.parametrize(
    "trainer",
    [
        {"val_check_interval": 5, "limit_train_batches": 5},
        {"val_check_interval": 100, "limit_train_batches": 5, "check_val_every_n_epoch": None},
        {"val_check_interval": 100, "limit_train_batches": 0.5},  # of how many only the data knows
        {"val_check_interval": 0.01, "limit_train_batches": 5},
    ],
)
def test_validations_that_come(config: Config, trainer: dict[str, object]) -> None:
    check({**config, "trainer": {**config["trainer"], **trainer}})


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


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ["model/positions=learned", "model.positions.maximum_length=3"],
            "model.positions.maximum_length: 3 positions have a vector, but data.maximum_length=16: leave "
            "model.positions.maximum_length alone, or shorten the data",
        ),
        (
            ["model/positions=rotary", "model.positions.base=-1"],
            "model.positions.base: must be above 1, got -1",
        ),
        (
            ["model.window=3", "attention=location"],
            "model.window: window=3 slices the sequence, and Location counts positions in it",
        ),
        (
            ["attention=location", "attention.maximum_length=5"],
            "attention.maximum_length: Location: maximum_length=5 is less than the 16 positions that the "
            "model reads; leave it out, since the model knows them",
        ),
        (["model.heads=3"], "model.model_size: model_size=128 cannot be divided among heads=3"),
        (["model.activation._target_=torch.nn.GLU"], "model.activation: activation=GLU must leave"),
        (
            ["model.activation._target_=torch.nn.GELU", "+model.activation.approximate=foo"],
            "model.activation: activation=GELU cannot be applied: approximate argument must be",
        ),
        (
            ["experiment=dates_luong", "scheduler=vaswani"],
            "scheduler.model_size: Vaswani takes a whole number, got null",
        ),
        (
            ["scheduler=vaswani", "optimizer.lr=1e-3"],
            "optimizer.lr: 0.001 makes 8.8e-06 the highest rate of scheduler=vaswani, which multiplies it "
            "with (model_size * warmup_steps)^-0.5: the paper has optimizer.lr=1",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_said_of_a_transformer(
    configure: Callable[..., Config], line: list[str], message: str
) -> None:
    recipe = [] if line[0].startswith("experiment=") else ["experiment=reverse_transformer"]
    text = said(lambda: check(configure(*recipe, "trainer=cpu", *line)))
    assert message in text


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


TEXT, IMAGES, GAMES = "pairs of sentences", "images of classes", "games of Catch"


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ["model=ram", "data=dates"],
            f"data: has {TEXT}, but RecognitionTask takes {IMAGES}; take another data=, or another model=",
        ),
        (
            ["model=seq2seq", "data=digits"],
            f"data: has {IMAGES}, but TranslationTask takes {TEXT}; take another data=, or another model=",
        ),
        (
            ["data=image_captions", "data.captions.train=a.jsonl"],
            "another model= and task=, such as model=show_attend_tell",
        ),
        (["data=catch"], "another model= and task=, such as task=tracking"),
        (["model=ram", "data=dates"], "such as model=seq2seq or model=transformer"),
        (["model=ram", "attention=dot"], "attention: attention=dot changes nothing: the model has no att"),
        (["model=ram", "selection=soft"], "selection: selection=soft changes nothing: the model has no att"),
        (["model=ram", "decoding=greedy"], "decoding: decoding=greedy changes nothing: the task writes no"),
        (
            ["model=convolutional", "policy=learned"],
            "policy: policy=learned changes nothing: the model does not choose where to look; leave it out",
        ),
        (["model=ram", "policy.std=0"], "policy.std: LearnedPolicy: std=0, must be at least 1e-06"),
        (["model=ram", "model.glimpses=0"], "model.glimpses: must be at least 1, got 0"),
        (
            ["model=convolutional", "model.filter_size=99"],
            "model.filter_size: must fit into the image of 24 x 24, got 99",
        ),
        (
            ["model=convolutional", "data.canvas=null"],
            "model.filter_size: must fit into the image of 8 x 8, got 10",
        ),
        (["model=ram", "model.glimpse_size=0"], "model.glimpse_size: must be at least 1, got 0"),
        (
            ["model=ram", "model.scales=5"],  # of 24 x 24 pixels
            "model.scales: must be at most 4, got 5: patch 4 of 64 pixels a side, each twice as wide as the "
            "one before, holds the whole image of 24 x 24 from any place",
        ),
        (
            ["model=ram", "scheduler=cosine", "trainer.max_steps=100"],
            "scheduler.total_steps: must exceed scheduler.warmup_steps=400, got 100: a cosine ends",
        ),
        (
            ["experiment=ram_tracking", "task=recognition"],
            f"data: has {GAMES}, but RecognitionTask takes {IMAGES}; take another data=",
        ),
        (
            ["experiment=ram_tracking", "model.glimpses=9"],
            "model.glimpses: model.glimpses=9 changes nothing: a game has a look before each move; leave it",
        ),
        (
            ["experiment=fc_mnist", "task.episodes=4"],
            "task.episodes: task.episodes=4 changes nothing: the model sees whole images; leave it out",
        ),
        (
            ["experiment=conv_translated", "task.reinforce.discount=0.3"],
            "task.reinforce: task.reinforce.discount=0.3 changes nothing: the model sees whole images; leave",
        ),
        (
            ["model=ram", "task.reinforce.baseline._target_=zoo.attention.ConstantBaseline"],
            "task.reinforce.baseline.value: ConstantBaseline needs it, and it is missing",
        ),
        (
            [
                "model=show_attend_tell",
                "model/caption_decoder=transformer",
                "selection=hard",
                "task.reinforce.baseline._target_=zoo.attention.SoftReadingBaseline",
            ],
            "task.reinforce.baseline: SoftReadingBaseline needs the expected reward under soft "
            "attention, which GridTransformer cannot tell; take ",
        ),
        (
            ["experiment=fc_mnist", "task.reinforce.baseline._target_=zoo.attention.SoftReadingBaseline"],
            "task.reinforce: task.reinforce.baseline._target_=zoo.attention.SoftReadingBaseline changes ",
        ),
        (["model=ram", "task.episodes=0"], "task.episodes: must be at least 1, got 0"),
        (["model=ram", "task.reinforce.weight=0"], "task.reinforce.weight: must be above 0, got 0"),
        (["model=ram", "task.reinforce.discount=2"], "task.reinforce.discount: must be from 0 to 1, got 2"),
        (
            ["model=ram", "task.monitor=val/eror"],
            "task.monitor: val/eror is not measured: there is no such metric; did you mean val/error? "
            "allowed: val/error, val/error_1_sample, val/loss",
        ),
        (
            ["model=ram", "task.monitor=null"],
            "task.monitor: RecognitionTask takes text, got null; "
            "allowed: val/error, val/error_10_samples, val/error_1_sample, val/loss",
        ),
        (
            ["model=fully_connected", "task.monitor=val/error_1_sample"],
            "task.monitor: val/error_1_sample is not measured: the model takes no glimpses; did you mean "
            "val/error? allowed: val/error, val/loss",
        ),
        (
            [
                "+callbacks.glimpses={_target_:zoo.tasks.recognition.glimpse_figures.GlimpseFigures,"
                "folder:${paths.run_dir},images:6,every_n_validations:1}"
            ],
            f"callbacks.glimpses: shows {IMAGES}, but the data has {TEXT}; leave it out",
        ),
        (
            ["model=ram", "callbacks.glimpses.images=9"],
            "callbacks.glimpses.images: must be from 1 to 8, got 9",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_said_where_images_are_recognised(
    configure: Callable[..., Config], line: list[str], message: str
) -> None:
    text = said(lambda: check(configure(*line, "trainer=cpu"), line))
    assert text.startswith("1 problem in the configuration, nothing was run:\n  - ")
    assert message in text


@pytest.mark.parametrize(
    "line",
    [
        ["model=ram", "policy=random", "task.monitor=val/error_1_sample"],
        ["model=ram", "policy=learned", "policy.std=0.2", "task.monitor=val/error_1_sample"],
        ["model=fully_connected", "data=mnist", "task.monitor=val/loss"],
        ["model=convolutional", "~callbacks.glimpses"],
        ["model=convolutional", "data.canvas=null", "model.filter_size=8"],
        ["model=ram", "model.scales=4", "model.glimpses=9"],
    ],
    ids=" ".join,
)
def test_what_recognises_images_and_is_fine(configure: Callable[..., Config], line: list[str]) -> None:
    config = configure(*line, "trainer=cpu")
    check(config, line)
    assert config["callbacks"]["best"]["mode"] == "min"


def test_parts_that_only_some_models_take_may_be_missing(config: Config) -> None:
    """A checkpoint of a model without a policy names none; every other part is missed by its name."""
    for name in ("decoding", "attention", "selection"):
        assert name in config
        del config[name]
    assert "policy" not in config
    check(config)
    del config["optimizer"], config["sweep"]["parallel"]
    text = said(lambda: check(config))
    assert sorted(text.splitlines()[1:]) == ["  - optimizer: is missing", "  - sweep.parallel: is missing"]


def test_a_part_that_may_be_missing_must_fit_where_it_is_given(config: Config) -> None:
    config["policy"] = {"_target_": "zoo.attention.Soft", "_partial_": True}
    text = said(lambda: check(config))
    assert "policy: must be a LocationPolicy to build (_partial_: true), got Soft (_partial_: true)" in text


@pytest.mark.parametrize("metric", ["alignment_accuracy", "alignment_sharpness"])
def test_no_alignment_without_attention(configure: Callable[..., Config], metric: str) -> None:
    config = configure("data=reverse", "model/decoder=none", f"task.monitor=val/{metric}")
    text = said(lambda: check(config))
    assert f"task.monitor: val/{metric} is not measured: the model has no attention; " in text


def test_a_recipe_runs_with_another_schedule(configure: Callable[..., Config]) -> None:
    check(configure("experiment=reverse", "scheduler=constant", "trainer=cpu", "trainer.max_steps=100"))
    plateau = configure("experiment=reverse", "scheduler=plateau", "trainer=cpu", "trainer.max_steps=100")
    text = said(lambda: check(plateau))
    assert "scheduler.warmup_steps: ReduceLROnPlateau takes no warmup_steps; allowed: cooldown, " in text
    assert "; a ~ before its key leaves out what a recipe has" in text


def test_everything_wrong_is_said_at_once(config: Config) -> None:
    spoiled = spoil(
        config,
        seed=-1,
        optimizer__eps=0.0,
        task__optimizer__eps=0.0,
        trainer__max_steps=0,
        trainer__limit_val_batches=0,
        trainer__limit_test_batches=0,
        decoding__beam_size=0,
        model__layers=0,
        callbacks__samples__sentences=9,
    )
    share = "must be null or a whole number from 1 on or a share of the epoch above 0 and up to 1.0"
    expected = [
        "  - optimizer.eps: must be above 0, got 0.0",  # and not once more where the task takes it
        "  - trainer.max_steps: must be -1 or a whole number from 1 on, got 0",
        f"  - trainer.limit_val_batches: {share}, got 0",
        f"  - trainer.limit_test_batches: {share}, got 0",
        "  - seed: must be from 0 to 4294967295, got -1",
        "  - decoding.beam_size: must be at least 1, got 0",
        "  - model.layers: must be at least 1, got 0",
        "  - callbacks.samples.sentences: must be from 1 to 8, got 9",
    ]
    lines = said(lambda: check(spoiled)).splitlines()
    assert lines[0] == "8 problems in the configuration, nothing was run:"
    assert sorted(lines[1:]) == sorted(expected)


def test_a_required_part_is_missed_by_name(config: Config) -> None:
    for name in ("best", "last", "divergence", "step_axis", "throughput"):
        del config["callbacks"][name]
    config["logger"] = {}
    text = said(lambda: check(config))
    assert "6 problems" in text
    assert "  - callbacks.best: is missing: every run needs this ModelCheckpoint\n" in text
    assert "  - logger.metrics: is missing: every run needs this MetricsFile" in text


def test_parts_that_may_be_left_out(config: Config) -> None:
    for name in ("alignments", "samples", "heartbeat", "progress"):
        del config["callbacks"][name]
    del config["logger"]["wandb"]
    check(config)


@pytest.mark.parametrize("name", ["a/b", "a\\b", "..", ".", "x" * 101])
def test_a_name_that_was_typed(config: Config, name: str) -> None:
    config["name"] = name
    check(config)  # made by the program, of what is special about a job
    text = said(lambda: check(config, [f"name={name}"]))
    assert "  - name: must be a name of 1 to 100 characters without slashes, got " in text


@pytest.mark.parametrize("name", ["", "two\nlines", "bell\a"])
def test_a_name_that_cannot_be_read(config: Config, name: str) -> None:
    config["name"] = name
    assert "  - name: must be readable text on one line, got " in said(lambda: check(config))


def test_names_that_are_fine(config: Config) -> None:
    for name in ("x", "x" * 100, "größer & 2.5", "..a"):
        config["name"] = name
        check(config, [f"name={name}"])


def test_a_file_in_the_way(config: Config, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    config["paths"] |= {
        "runs_dir": str(tmp_path / "file" / "runs"),
        "wandb_dir": "",
        "data_dir": str(tmp_path),
    }
    text = said(lambda: check(config))
    assert f"  - paths.runs_dir: must be a folder, but {tmp_path / 'file'} is a file\n" in text
    assert "  - paths.wandb_dir: must name a folder, got nothing" in text
    assert "data_dir" not in text


def test_parts_in_a_list_are_looked_at(config: Config) -> None:
    step = {"_target_": "torch.optim.lr_scheduler.StepLR", "_partial_": True, "step_sise": 3}
    chained = "torch.optim.lr_scheduler.ChainedScheduler"
    config["scheduler"] = {"_target_": chained, "_partial_": True, "schedulers": [step]}
    text = said(lambda: check(config))
    assert "  - scheduler.schedulers[0].step_sise: StepLR takes no step_sise; did you mean step_size?" in text


def test_hydras_own_words_are_no_arguments(config: Config) -> None:
    """Not even of a class that takes whatever it is given."""
    config["logger"]["other"] = {"_target_": "lightning.pytorch.loggers.WandbLogger", "_recursive_": False}
    text = said(lambda: check(config))
    assert "  - logger.other._recursive_: WandbLogger takes no _recursive_; " in text


def test_an_empty_path_stays_empty(configure: Callable[..., Config]) -> None:
    assert configure("paths.cache_dir=")["paths"]["cache_dir"] == ""


def test_a_problem_without_words_names_its_place(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("nowhere")

    monkeypatch.setattr("zoo.networks.seq2seq.Encoder.__init__", broken)
    text = said(lambda: check(config))
    assert "  - model: cannot be built: KeyError in test_check.py, line " in text


def test_the_check_is_quiet(
    config: Config, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    check(config)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
    assert logging.root.manager.disable == logging.NOTSET


def test_the_default_is_fine(config: Config) -> None:
    check(config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WANDB_MODE", "offlin"),
        ("WANDB_PROJECT", "a/b"),
        ("WANDB_RUN_ID", "abc/def"),
        ("WANDB_ENTITY", "team/project"),
        ("WANDB_RUN_GROUP", "g" * 200),
        ("WANDB_TAGS", ","),
    ],
)
def test_variables_of_wandb_are_looked_at_where_it_is_used(
    config: Config, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        check(config)
    assert [problem.key for problem in caught.value.problems] == [name]
    del config["logger"]["wandb"]
    check(config)


@pytest.mark.parametrize("project", ["team/abc", "my:proj", "p" * 140, ""])
def test_wandb_has_no_such_project(config: Config, project: str) -> None:
    config["logger"]["wandb"]["project"] = project
    with pytest.raises(ConfigError) as caught:
        check(config)
    assert [problem.key for problem in caught.value.problems] == ["logger.wandb.project"]


def test_wandb_needs_a_folder_to_write_to(config: Config, tmp_path: Path) -> None:
    config["paths"]["wandb_dir"] = config["logger"]["wandb"]["wandb_dir"] = "/proc/zz"
    with pytest.raises(ConfigError) as caught:
        check(config)
    assert [problem.key for problem in caught.value.problems] == ["paths.wandb_dir"]
    config["paths"]["wandb_dir"] = config["logger"]["wandb"]["wandb_dir"] = str(tmp_path / "a" / "b")
    check(config)
    assert not list(tmp_path.iterdir()), "nothing is left of the trial"


def test_a_disk_that_is_full_for_now_is_no_reason(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(dashboards, "TemporaryDirectory", full)
    check(config)


@pytest.mark.parametrize(
    ("logger", "key", "value"),
    [
        ("metrics", "path", "/elsewhere/metrics.csv"),
        ("metrics", "path", "metrics.txt"),
        ("wandb", "folder", "/elsewhere"),
        ("wandb", "timeout", 0.0),
        ("tensorboard", "folder", "/elsewhere"),
    ],
)
def test_settings_of_a_logger_that_it_cannot_work_with(
    config: Config, logger: str, key: str, value: object
) -> None:
    if logger == "tensorboard":
        pytest.importorskip("tensorboard")
        node = {"_target_": "zoo.loggers.tensorboard.TensorBoardLogger", "folder": config["paths"]["run_dir"]}
        config["logger"][logger] = node
        check(config)
    config["logger"][logger][key] = value
    with pytest.raises(ConfigError) as caught:
        check(config)
    assert [problem.key for problem in caught.value.problems] == [f"logger.{logger}.{key}"]


def test_a_language_model_writes_token_by_token(configure: Callable[..., Config]) -> None:
    for search in ("greedy", "sample"):
        check(configure("model=gpt", f"decoding={search}", "trainer=cpu"))
    text = said(lambda: check(configure("model=gpt", "decoding=beam", "trainer=cpu")))
    assert "decoding: must be greedy or sample: a language model writes token by token, got Beam" in text


def test_a_task_that_trains_no_samples_points_to_no_term(configure: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError) as found:
        check(configure("model=ntm", "selection=hard"))
    (problem,) = found.value.problems
    assert str(problem) == (
        "selection: Hard samples what it reads, which nothing trains in this task; "
        "take selection=soft or selection=gumbel_hard"
    )
