"""Every file under conf/ is composed, checked and built, and every mechanism fits into every model."""

import copy
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from small_config import small
from small_run import save_run

from data.text.wordpiece import WordPiece
from zoo.attention import Location
from zoo.config import resolvers
from zoo.config.allowed import locate
from zoo.config.check import check, placeholder
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.core.problems import ConfigError
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.core.text import text_spec
from zoo.runs.frozen import Config

CONF = Path(__file__).parents[2] / "conf"
FILES = sorted(path.relative_to(CONF).with_suffix("") for path in CONF.rglob("*.yaml"))
OF_WANDB = "sweep/wandb_"
"""For W&B's agents, no part of a configuration; see tests/sweeps/test_wandb_sweeps.py."""
CHOICES = [path for path in FILES if path.as_posix() != "train" and not path.as_posix().startswith(OF_WANDB)]
NEEDS = {
    "scheduler/cosine": ["trainer.max_steps=1000"],
    "scheduler/vaswani": ["model=transformer", "optimizer.lr=1"],
    "data/image_folder": ["model=ram", "data.images.path={pictures}"],
    "data/parallel": [f"data.train=[{CONF}/train.yaml,{CONF}/data/dates.yaml]"],  # are there; none is read
    "task/recognition": ["model=ram"],
    "model/recurrent/rectified": ["model=ram"],  # fits the others too
    "trainer/gpu": ["trainer.accelerator=cpu"],  # what it says itself is tested where there is a GPU
    "trainer/mps": ["trainer.accelerator=cpu"],
    "trainer/ddp": ["trainer.accelerator=cpu", "trainer.devices=2"],
    "trainer/multinode": ["trainer.num_nodes=1", "trainer.devices=2"],  # nobody started others
}
PAIRS = ("counterparts", "wikiqa", "msrp", "sick", "snli")
NEEDS |= {f"data/{name}": ["model=bcnn"] for name in PAIRS}
NEEDS["data/text_pairs"] = ["model=bcnn", "data.corpus.train={pictures}/../texts.csv"]
NEEDS["task/matching"] = ["model=bcnn"]
NEEDS |= {
    f"model/reader/{name}": ["model=attentive_matching"]
    for name in ("attentive", "impatient", "self_attentive")
}
IMAGES = ("digits", "mnist", "fashion_mnist", "translated_mnist", "scaled_mnist", "cluttered_mnist")
NEEDS |= {f"data/{name}": ["model=ram"] for name in IMAGES}
NEEDS |= {choice: ["model=ram", "data=catch", "task=tracking"] for choice in ("data/catch", "task/tracking")}
NEEDS |= {f"data/{name}": ["model=show_attend_tell"] for name in ("shapes", "flickr8k", "flickr30k", "coco")}
NEEDS["data/image_captions"] = [
    "model=show_attend_tell",
    *(f"data.captions.{split}={CONF}/train.yaml" for split in ("train", "val", "test")),  # is there; not read
]
BITS = ("copy_bits", "repeat_copy", "associative_recall", "dynamic_ngrams", "priority_sort")
NEEDS |= {f"data/{name}": ["model=ntm"] for name in BITS}
NEEDS |= {f"model/controller/{name}": ["model=ntm"] for name in ("feed_forward", "lstm")}
NEEDS["task/memory"] = ["model=ntm"]
CAPTIONS = ["model=show_attend_tell"]
NEEDS |= dict.fromkeys(("task/captioning", "task/objective/cider_d"), CAPTIONS)
NEEDS |= {
    f"model/{part}/{name}": CAPTIONS
    for part, names in {
        "encoder": ("compact", "vgg19", "resnet"),
        "caption_decoder": ("attentive", "none", "transformer"),
    }.items()
    for name in names
}
NEEDS["selection/of/captioning_hard"] = CAPTIONS
NEEDS["selection/of/classification_hard"] = ["model=lstm_attention"]
NEEDS["model/encoder/resnet"] = [*CAPTIONS, "model.encoder.depth=50"]  # the smaller one
TEXTS = ("needle", "mr", "subj", "cr", "mpqa", "trec", "sst2", "sst5")
NEEDS |= {f"data/{name}": ["model=lstm_attention"] for name in TEXTS}
NEEDS |= {
    f"data/{name}": ["model=hierarchical"]
    for name in ("needle_documents", "imdb", "polarity", "newsgroups20")
}
NEEDS["data/labelled_text"] = ["model=lstm_attention", "data.corpus.train={pictures}/../texts.csv"]
NEEDS["data/labelled_hub"] = ["model=lstm_attention", "data.corpus.hub=somebody/reviews"]
NEEDS |= {f"policy/{name}": ["model=ram"] for name in ("learned", "random", "center")}
NEEDS |= {
    f"model/{part}/{name}": ["model=transformer"]
    for part, names in {
        "size": ("tiny", "base", "big"),
        "positions": ("sinusoidal", "learned", "rotary"),
    }.items()
    for name in names
}
NEEDS |= {
    f"model/layer/{name}": ["model=transformer_layers"]
    for name in ("self_attention", "restricted", "recurrent", "convolutional")
}
RUNNING = ("stdlib", "shakespeare", "wikitext2", "imdb_texts")
NEEDS |= {f"data/{name}": ["model=gpt"] for name in RUNNING}
NEEDS["data/text"] = ["model=gpt", f"data.corpus.train={CONF}/train.yaml"]
NEEDS["experiment/small_parallel"] = NEEDS["data/parallel"]
NEEDS["data/pairs_hub"] = ["model=abcnn1", "data.corpus.hub=somebody/pairs"]
NEEDS["data/hub_texts"] = ["model=gpt", "data.corpus.hub=somebody/stories"]
NEEDS["task/language_modelling"] = ["model=gpt"]
NEEDS |= {f"model/size/{name}": ["model=gpt"] for name in ("gpt_tiny", "gpt1", "gpt2_small")}
NEEDS |= {
    f"data/tokenizer/{name}": ["model=gpt", "data=wikitext2"]
    for name in ("every_character", "words_and_lines", "byte_bpe")
}
NEEDS |= {f"model/memory/{name}": ["model=lstm_language_model"] for name in ("none", "window", "all")}
NEEDS["model/recurrent/lstmn"] = ["model=lstm_attention"]
CLASSIFIERS = {
    "lstm_attention": ("last", "mean", "max", "attention"),
    "convolutional_text": ("mean", "max", "attention"),
}
"""The models of texts with one pooling, and which poolings they take."""
NEEDS["task/classification"] = ["model=lstm_attention"]
NEEDS |= {
    f"model/{part}/{name}": [f"model={model}"]
    for model, part, names in (
        ("lstm_attention", "pooling", ("last", "mean", "max", "attention")),
        ("lstm_attention", "query", ("learned", "last_state")),
        ("hierarchical", "word_pooling", ("last", "mean", "max", "attention", "own_attention")),
        ("hierarchical", "sentence_pooling", ("last", "mean", "max", "attention", "own_attention")),
    )
    for name in names
}
NEEDS |= {f"model/size/bert_{name}": ["model=bert"] for name in ("tiny", "mini", "small", "medium", "base")}
MASKED = ("data/imdb_masked", "data/stdlib_masked", "data/wikitext2_masked")
NEEDS |= {name: ["model=bert"] for name in ("model/positions/bert", *MASKED)}
NEEDS["task/masked_language_modelling"] = ["model=bert"]
NEEDS["scheduler/linear"] = ["trainer.max_steps=1000"]
NEEDS["data/tokenizer/of_run"] = ["model=bert_classifier", "data=sst2", "data.tokenizer.run={run}"]
TUNED = ("sst2_bert_tiny", "mr_bert_tiny", "sick_bert_tiny")
NEEDS |= {f"experiment/{name}": ["model.pretrained={run}"] for name in TUNED}
NEEDS |= {f"experiment/{name}_scratch": ["data.tokenizer.run={run}"] for name in TUNED}
NEEDS["model/query/other_text"] = [
    "model=convolutional_text",
    "model/pooling=attention",
    "model/recurrent=gru",
]
NEEDS |= {
    f"hydra/sweeper/{path.parent.name}/{path.stem}": ["hydra/sweeper=optuna"]
    for path in CONF.glob("hydra/sweeper/*/*.yaml")
}
REACHED_BY = {
    "data/reading/in_order": ("model=lstm_language_model", "data/reading@data"),
    **{
        f"trainer/limits/{name}": (f"trainer={name}", "trainer/limits@trainer")
        for name in ("debug", "overfit")
    },
    "trainer/again/one_batch": ("trainer=overfit", "trainer/again@callbacks"),
    **{
        f"selection/of/{task}_hard": ("selection=hard", "selection/of@selection")
        for task in ("captioning", "classification")
    },
}
"""Files that another choice brings along, and under which group."""
EXTRAS = {
    "hydra/launcher/slurm": "hydra_plugins.hydra_submitit_launcher",
    "logger/trackio": "trackio",
    "logger/tensorboard": "tensorboard",
}
"""What a file needs that is not always installed."""


def test_conf_holds_nothing_but_configurations() -> None:
    assert {path.suffix for path in CONF.rglob("*") if path.is_file()} == {".yaml"}


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_names_what_exists(choice: Path) -> None:
    """Classes take what a file gives them, and files that it brings along are there; it is not composed."""
    if choice.as_posix() in EXTRAS:
        pytest.importorskip(EXTRAS[choice.as_posix()])
    content = yaml.safe_load((CONF / choice).with_suffix(".yaml").read_text(encoding="utf-8")) or {}
    parts = content.pop("defaults", [])
    for node in made(content) if choice.parts[0] != "hydra" else ():  # whose plugins are Hydra's to build
        kind = locate(node["_target_"])
        taken = inspect.signature(kind).parameters
        if not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
            assert {key for key in node if not key.startswith("_")} <= taken.keys(), node["_target_"]
    for part in parts:
        for group, names in part.items() if isinstance(part, dict) else [("", part)]:
            group = group.removeprefix("override ").removeprefix("optional ").partition("@")[0]
            for name in names if isinstance(names, list) else [names]:
                if name not in (None, "_self_") and "hydra/" not in group and "$" not in str(name):
                    folder = CONF if group.startswith("/") else CONF / choice.parent
                    assert (folder / group.strip("/") / f"{name}.yaml").exists(), part


def made(node: Any) -> Iterator[dict[str, Any]]:
    """Every part of a file that says which class it is."""
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from made(part)
    if isinstance(node, dict) and "$" not in str(node.get("_target_", "$")):
        yield node


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of `model=bert`, untrained."""
    resolvers.register()
    settings = small(compose_jobs(CONF, ["experiment=imdb_bert_tiny", "trainer=cpu"], False)[0].config)
    text = text_spec(WordPiece(size=60).train(["a story of two dogs"]), maximum_length=128)
    spec = DataSpec("stories", {"text": text, "follows": LabelSpec(("random", "next"))})
    return save_run(tmp_path_factory.mktemp("pretrained"), dict(settings), spec, 1.0)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_composes_checks_and_builds(choice: Path, tmp_path: Path, pretrained: Path) -> None:
    resolvers.register()
    if choice.as_posix() in EXTRAS:
        pytest.importorskip(EXTRAS[choice.as_posix()])
    group, name = choice.parent.as_posix(), choice.name
    override, group = REACHED_BY.get(choice.as_posix(), (f"{group}={name}", group))
    for label in ("cat", "dog"):
        (tmp_path / "pictures" / label).mkdir(parents=True)
        (tmp_path / "pictures" / label / "1.png").touch()
    (tmp_path / "texts.csv").touch()
    needs = NEEDS.get(choice.as_posix(), [])
    needs = [text.format(pictures=tmp_path / "pictures", run=pretrained) for text in needs]
    line = [f"paths.runs_dir={tmp_path}/runs", override, *needs]
    job = compose_jobs(CONF, line, multirun=group == "sweep")[0]

    assert job.composed.hydra.runtime.choices[group] == name, "the file was not reached"
    config = small(job.config)
    check(config)  # builds all of it
    assert not (tmp_path / "runs").exists(), "building wrote something"


def test_several_loggers_at_once(configure: Callable[..., Config]) -> None:
    """metrics.csv is there whatever is asked for."""
    parts = {
        "csv": ["metrics"],
        "tensorboard": ["metrics", "tensorboard"],
        "[wandb,tensorboard]": ["metrics", "tensorboard", "wandb"],
    }
    for choice, names in parts.items():
        assert sorted(configure(f"logger={choice}")["logger"]) == names


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", IMAGES)
def test_the_placeholder_has_the_size_of_the_images(configure: Callable[..., Config], name: str) -> None:
    config = configure("model=ram", f"data={name}")
    data, image = instantiate(config["data"], "data"), placeholder(config).image()
    size = (data.canvas.height, data.canvas.width) if data.canvas else data.images.size
    assert (image.height, image.width) == size


def test_the_placeholder_has_the_size_of_the_board(configure: Callable[..., Config]) -> None:
    config = configure(*NEEDS["data/catch"], "data.size=24")
    spec = placeholder(config)
    assert spec.image() == ImageSpec(1, 24, 24)
    assert spec.label().classes == ("left", "stay", "right")


@pytest.mark.parametrize("path", sorted(CONF.glob("experiment/*.yaml")), ids=lambda path: path.stem)
def test_a_recipe_says_what_it_is(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = [line for line in lines[: lines.index("defaults:")] if line.startswith("#")]
    assert f"experiment={path.stem}" in "\n".join(comment), "the comment names the command"


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def lines_of_decoders() -> dict[str, list[str]]:
    """What chooses each decoder, and what stands in its place in other models."""
    lines = {name: [f"model/decoder={name}"] for name in options("model/decoder")}
    lines["transformer"] = ["model=transformer"]
    lines["lstmn"] = ["model=lstmn"]
    lines["past"] = ["model=lstm_language_model", "model/memory=window"]
    lines |= {
        "lstm_attention": ["model=lstm_attention"],
        "lstm_attention_last_state": ["model=lstm_attention", "model/query=last_state"],
        "hierarchical": ["model=hierarchical"],
        "hierarchical_words": ["model=hierarchical", "model/sentence_pooling=mean"],
        "hierarchical_sentences": ["model=hierarchical", "model/word_pooling=mean"],
        "convolutional_text": ["model=convolutional_text", "model/pooling=attention"],
        "convolutional_text_asked": NEEDS["model/query/other_text"] + ["model/query=other_text"],
    }
    for model, names in CLASSIFIERS.items():
        for name in names:
            if name != "attention":
                lines[f"{model}_{name}"] = [f"model={model}", f"model/pooling={name}"]
    for name in options("model/caption_decoder"):
        lines[f"caption_{name}"] = ["model=show_attend_tell", f"model/caption_decoder={name}"]
    return lines


@cache
def part(group: str, name: str) -> dict[str, Any]:
    """An option of the three groups whose product is the zoo, resolved."""
    resolvers.register()
    line = lines_of_decoders()[name] if group == "model/decoder" else [f"{group}={name}"]
    return small(compose_jobs(CONF, [*line, "trainer=cpu"], False)[0].config)


OF_TEXTS = (
    "lstm_attention",
    "lstm_attention_last_state",
    "hierarchical",
    "hierarchical_words",
    "hierarchical_sentences",
    "convolutional_text",
    "convolutional_text_asked",
)
OF_PAST = ("lstmn", "past")
REFUSED: dict[tuple[str, str, str], str] = {
    **{(name, "location", "soft"): "counts positions" for name in OF_PAST},
    **{(name, "additive", "hard"): "samples" for name in OF_PAST},
    **{
        (name, "additive", f"local_{kind}"): "counts positions"
        for name in OF_PAST
        for kind in ("monotonic", "predictive")
    },
    **{
        (name, "additive", selection): "counts positions"
        for name in OF_PAST
        for selection in ("static", "content_and_location")
    },
}
"""Cells that the check refuses, and a part of the reason."""

CELLS = [
    *product([*options("model/decoder"), "transformer"], options("attention"), options("selection")),
    # The same parts in another network: each once.
    *product(["caption_attentive", "caption_transformer"], options("attention"), ["soft"]),
    *product(["caption_attentive", "caption_transformer"], ["additive"], options("selection")),
    ("caption_none", "additive", "soft"),
    *product(OF_PAST, options("attention"), ["soft"]),
    *product(OF_PAST, ["additive"], [name for name in options("selection") if name != "soft"]),
    *product(OF_TEXTS, options("attention"), ["soft"]),
    *product(OF_TEXTS, ["additive"], options("selection")),
    *product(
        [f"{model}_{name}" for model, names in CLASSIFIERS.items() for name in names if name != "attention"],
        ["additive"],
        ["soft", "hard"],
    ),
]


def attentions(node: Any) -> Iterator[dict[str, Any]]:
    """Every attention in a model."""
    for name, value in node.items() if isinstance(node, dict) else ():
        if name == "attention":
            yield value
        else:
            yield from attentions(value)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("decoder", "attention", "selection"),
    # Quick are those with one part that is not the default one.
    [
        cell if cell[1] == "additive" or cell[2] == "soft" else pytest.param(*cell, marks=pytest.mark.slow)
        for cell in CELLS
    ],
)
def test_every_cell_builds_or_is_refused(decoder: str, attention: str, selection: str) -> None:
    config: Config = copy.deepcopy(part("model/decoder", decoder))
    config["attention"] = part("attention", attention)["attention"]
    config["selection"] = part("selection", selection)["selection"]
    reads = list(attentions(config["model"]))
    for one in reads:
        one["score"], one["selection"] = config["attention"], config["selection"]
    given = [f"attention={attention}", f"selection={selection}"]

    reason = REFUSED.get((decoder, attention, selection)) or (None if reads else "the model has no attention")
    if reason:
        with pytest.raises(ConfigError, match=reason):
            check(config, given)
        return
    check(config, given)
    with torch.device("meta"):
        network = instantiate(config["model"], "model")(spec=placeholder(config))
    kinds = {type(part).__name__ for part in network.modules()}
    assert config["attention"]["_target_"].rpartition(".")[2] in kinds
    assert config["selection"]["_target_"].rpartition(".")[2] in kinds


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("line", "lengths"),
    [
        (["model/decoder=luong"], {48}),  # tokens of the longest date
        (["model/decoder=bahdanau", "data.maximum_length=40"], {40}),
        (["model=transformer"], {48}),
        (["model=show_attend_tell"], {36}),  # 6 x 6 places
        (["model=show_attend_tell", "model/caption_decoder=transformer"], {36, 12}),  # and 12 words
        (["model=show_attend_tell", "data=flickr8k"], {256}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_score_that_counts_positions_is_one_word(
    configure: Callable[..., Config], line: list[str], lengths: set[int]
) -> None:
    given = [*line, "attention=location"]
    config = configure(*given, "trainer=cpu")
    check(config, given)
    with torch.device("meta"):
        network = instantiate(config["model"], "model")(spec=placeholder(config))
    counted = {part.maximum_length for part in network.modules() if isinstance(part, Location)}
    assert counted == lengths


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("overrides", "attention"),
    [
        ([], "Additive"),
        (["model/decoder=luong"], "General"),
        (["model/decoder=luong", "attention=dot"], "Dot"),
        (["experiment=reverse", "attention=location"], "Location"),
        (["experiment=multi30k_bahdanau", "model/decoder=luong"], "General"),
        (["model=transformer"], "ScaledDot"),
        (["model=show_attend_tell", "attention=dot"], "Dot"),
        (["model=show_attend_tell", "model/caption_decoder=transformer"], "ScaledDot"),
    ],
    ids=" ".join,
)
def test_the_command_line_beats_the_model(
    configure: Callable[..., Config], overrides: list[str], attention: str
) -> None:
    config = configure(*overrides)
    assert config["attention"]["_target_"] == f"zoo.attention.{attention}"
    model = config["model"]
    assert model.get("decoder", model)["attention"]["score"] == config["attention"]


def test_a_recipe_beats_the_model(tmp_path: Path) -> None:
    resolvers.register()
    (tmp_path / "experiment").mkdir()
    recipe = (
        "# @package _global_\ndefaults: [{override /model/decoder: luong}, {override /attention: cosine}]\n"
    )
    (tmp_path / "experiment" / "own.yaml").write_text(recipe)
    searchpath = f"hydra.searchpath=['file://{tmp_path}']"
    job = compose_jobs(CONF, [searchpath, "experiment=own"], False)[0]
    assert job.config["attention"]["_target_"] == "zoo.attention.Cosine"
    assert job.config["experiment"] == job.config["name"] == "own"


def test_a_recipe_sets_anything(tmp_path: Path) -> None:
    resolvers.register()
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "own.yaml").write_text("# @package _global_\nseed: 7\ntest: false\n")
    line = [f"hydra.searchpath=['file://{tmp_path}']", "experiment=own"]
    config = compose_jobs(CONF, line, False)[0].config
    assert (config["seed"], config["test"]) == (7, False)
    assert compose_jobs(CONF, [*line, "seed=8"], False)[0].config["seed"] == 8


LUONG = ["model=seq2seq", "model/decoder=luong"]


@pytest.mark.parametrize(
    "override",
    [
        "model.decoder.input_feeding=false",
        "model.reverse_source=true",
        "model.dropout=0.5",
        "data/tokenizer=words",
    ],
)
def test_luong_2015_is_one_override_each(configure: Callable[..., Config], override: str) -> None:
    check(small(configure(*LUONG, override)), [override])


def test_a_vocabulary_is_one_word(configure: Callable[..., Config]) -> None:
    for data, tokenizer in (
        ("copy", {"_target_": "data.text.vocabulary.Words", "joint": True, "size": None, "minimum_count": 1}),
        (
            "reverse",
            {"_target_": "data.text.vocabulary.Words", "joint": True, "size": None, "minimum_count": 1},
        ),
        ("dates", {"_target_": "data.text.vocabulary.Characters", "joint": False}),
        ("multi30k", {"_target_": "data.text.vocabulary.Bpe", "joint": True, "size": 8000}),
    ):
        assert configure(f"data={data}")["data"]["tokenizer"] == tokenizer
    config = configure("data=multi30k", "data/tokenizer=words", "data.tokenizer.size=500")
    assert config["data"]["tokenizer"]["_target_"] == "data.text.vocabulary.Words"
    assert config["data"]["tokenizer"]["size"] == 500


@pytest.mark.slow
def test_the_chain_of_luong_2015_adds_one_thing_at_a_time() -> None:
    """One multirun, in the paper's order; each job has what its recipe says beyond the last, and no more."""
    resolvers.register()
    jobs = compose_jobs(CONF, ["experiment=glob(luong2015_*)", "trainer=cpu"], True)
    assert [job.config["experiment"].split("_")[1] for job in jobs] == list("1234567")
    for job in jobs:
        check(job.config, job.overrides)
    changes = [differences(before.config, after.config) for before, after in pairwise(jobs)]
    assert changes == [
        {"model.reverse_source"},
        {"model.dropout"},
        {"attention", "model.decoder"},
        {"model.decoder.input_feeding"},
        {"attention", "model.decoder.attention.score", "selection", "model.decoder.attention.selection"},
        {"task.replace_unknown"},
    ]


def differences(before: Any, after: Any, key: str = "") -> set[str]:
    """Keys whose values differ, but for names; of parts of another class only the part's."""
    if key in ("name", "experiment", "logger.wandb.name"):
        return set()
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return set() if before == after else {key}
    if before.get("_target_") != after.get("_target_"):
        return {key}
    return {
        difference
        for name in before.keys() | after.keys()
        for difference in differences(before.get(name), after.get(name), f"{key}.{name}".lstrip("."))
    }


def test_the_control_of_luong_differs_in_its_score_alone(configure: Callable[..., Config]) -> None:
    luong, uniform = configure("experiment=multi30k_luong"), configure("experiment=multi30k_uniform")
    assert differences(luong, uniform) == {"attention", "model.decoder.attention.score"}
    bahdanau = configure("experiment=multi30k_bahdanau")
    changed = differences(bahdanau, luong)
    assert changed == {"attention", "model.decoder", "model.recurrent"}, (
        "a change of one recipe reaches the other"
    )
    sizes = []
    for config in (luong, uniform):
        with torch.device("meta"):
            network = instantiate(config["model"], "model")(spec=placeholder(config))
        # The placeholder has a few rows of the matrix that embeddings and output share.
        rows = config["data"]["tokenizer"]["size"] * (config["model"]["embedding_size"] + 1)
        sizes.append(sum(weight.numel() for weight in network.parameters()) + rows)
    assert 0.95 < sizes[1] / sizes[0] < 1


def one_of_each(recipes: list[str]) -> list[Any]:
    """All of them, of which the first of each family, whose names begin alike, is quick."""
    first = {name.partition("_")[0]: name for name in reversed(recipes)}.values()
    return [name if name in first else pytest.param(name, marks=pytest.mark.slow) for name in recipes]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("recipe", one_of_each(options("experiment")))
def test_debug_beats_every_recipe(configure: Callable[..., Config], recipe: str, pretrained: Path) -> None:
    needs = [text.format(run=pretrained) for text in NEEDS.get(f"experiment/{recipe}", [])]
    config = configure(f"experiment={recipe}", "trainer=debug", *needs)
    check(small(config))
    trainer = config["trainer"]
    assert trainer["max_epochs"] == 1
    assert (trainer["val_check_interval"], trainer["check_val_every_n_epoch"]) == (None, 1)
    assert [trainer[f"limit_{split}_batches"] for split in ("train", "val", "test")] == [4, 1, 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "policy", ["random", *(pytest.param(name, marks=pytest.mark.slow) for name in ("learned", "center"))]
)
@pytest.mark.parametrize("recipe", [name for name in options("experiment") if name.startswith("ram_")])
def test_the_policy_of_every_recipe_is_one_word(
    configure: Callable[..., Config], recipe: str, policy: str
) -> None:
    """A recipe may not set what only one of the policies takes."""
    check(small(configure(f"experiment={recipe}", f"policy={policy}", "trainer=cpu")), [f"policy={policy}"])


def test_the_command_line_beats_debug(configure: Callable[..., Config]) -> None:
    trainer = configure("experiment=reverse", "trainer=debug", "trainer.limit_train_batches=9")["trainer"]
    assert (trainer["limit_train_batches"], trainer["limit_val_batches"]) == (9, 1)


@pytest.mark.slow
def test_a_sweep_is_the_product() -> None:
    resolvers.register()
    line = ["attention=dot,general", "selection=soft,hard", "seed=1,2,3"]
    jobs = compose_jobs(CONF, line, True)
    cells = {
        (job.config["attention"]["_target_"], job.config["selection"]["_target_"], job.config["seed"])
        for job in jobs
    }
    scores, selections = (
        ("zoo.attention.Dot", "zoo.attention.General"),
        ("zoo.attention.Soft", "zoo.attention.Hard"),
    )
    assert cells == set(product(scores, selections, (1, 2, 3)))
    assert len(jobs) == 12
