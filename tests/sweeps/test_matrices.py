"""The comparisons in conf/sweep: which runs they are, and that each of them learns a step."""

import json
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import train
from zoo.config import resolvers
from zoo.config.check import check
from zoo.config.compose import Job, compose_jobs
from zoo.core.problems import ConfigError
from zoo.runs.frozen import freeze
from zoo.runs.typed import special
from zoo.sweeps.record import read_sweep

CONF = Path(__file__).parents[2] / "conf"
SCORES = ["dot", "scaled_dot", "general", "additive", "luong_concat", "linear_concat", "cosine", "location"]
ATTENTION = [f"attention={score}" for score in SCORES]
ATTENTION += [f"selection={name}" for name in ("hard", "gumbel_hard", "local_monotonic", "local_predictive")]
ATTENTION += [f"selection={name}" for name in ("sparsemax", "entmax", "static")]
ATTENTION += ["model/decoder=none"]
CAPTIONS = [
    f"experiment={recipe} attention={score}"
    for recipe, score in product(("shapes_soft", "shapes_hard"), ("additive", "general", "scaled_dot"))
]
POOLING = [f"model/pooling={name}" for name in ("last", "mean", "max")]
POOLING += [f"attention={score}" for score in SCORES]
POOLING += ["selection=hard", "selection=gumbel_hard", "model/query=last_state"]
CELLS = {
    "attention_matrix": ATTENTION,
    "caption_matrix": [
        *CAPTIONS,
        *(f"experiment=shapes_soft selection={name}" for name in ("sparsemax", "static")),
        "experiment=shapes_none",
    ],
    "policy_matrix": [f"policy={policy}" for policy in ("learned", "random", "center")],
    "pooling_matrix": POOLING,
    "static_matrix": [
        f"experiment={recipe} selection={name}"
        for recipe, name in product(
            ("multi30k_luong_fast", "multi30k_transformer_tiny_fast", "shapes_soft"), ("soft", "static")
        )
    ],
    "layer_matrix": [
        *(f"model/layer={name}" for name in ("self_attention", "restricted", "recurrent")),
        *(f"model/layer=convolutional model.layer.growth={growth}" for growth in (1, 3)),
    ],
    "britz2017": [
        *(f"attention={score}" for score in ("general", "dot", "scaled_dot")),
        *(f"attention=additive attention.hidden_size={size}" for size in (64, 128, 256, 512)),
        "model/decoder=none",
        *(f"model.embedding_size={size}" for size in (64, 128, 512)),
        "model/recurrent=gru",
        *(f"model.layers={layers}" for layers in (2, 4)),
        *(f"model.bidirectional=False model.reverse_source={word}" for word in (False, True)),
        *(f"decoding.beam_size={beam}" for beam in (1, 3, 10, 25)),
        *(
            f"decoding.beam_size={beam} decoding.length_penalty={penalty}"
            for beam, penalty in product((5, 10), ("0.0", "0.5"))
        ),
    ],
}
QUICK = ("policy_matrix",)
TINY = ["trainer=cpu", "trainer.max_steps=3", "trainer.max_epochs=null", "trainer.limit_val_batches=1"]
TINY += ["trainer.limit_test_batches=1", "trainer.log_every_n_steps=1", "scheduler.warmup_steps=1"]
TINY += ["logger=csv"]
TEXTS = ["data.corpus.train=64", "data.corpus.validation=8", "data.corpus.test=8", "data.batch_tokens=128"]
SMALL = {
    "attention_matrix": [*TEXTS, "decoding=greedy"],
    "caption_matrix": [f"data.captions.{split}=16" for split in ("train", "validation", "test")],
    "policy_matrix": [],
    "pooling_matrix": TEXTS,
}


@cache
def jobs_of(*line: str) -> list[Job]:
    resolvers.register()
    return compose_jobs(CONF, list(line), multirun=True)


def typed(job: Job) -> str:
    """What makes a job this one, without the recipe where the sweep has only one."""
    return " ".join(text for text in job.overrides if not text.startswith(("sweep=", "seed=", "~")))


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CELLS]
)
def test_has_these_cells_and_each_is_fine(name: str) -> None:
    jobs = jobs_of(f"sweep={name}", "trainer=cpu")
    assert [typed(job).removeprefix("trainer=cpu ") for job in jobs] == CELLS[name]
    for job in jobs:
        check(job.config, job.overrides)
        assert job.config["sweep"]["name"] == name
    cells = {json.dumps([job.config.get(key) for key in ("model", "decoding", "data")]) for job in jobs}
    assert len(cells) > len(jobs) - 2, "one score has two names at most"


def test_is_multiplied_by_what_is_typed() -> None:
    jobs = jobs_of("sweep=policy_matrix", "seed=1,3", "logger=csv")
    cells = [(special(job.overrides)[-1], job.config["seed"]) for job in jobs]
    assert sorted(cells) == sorted(product(CELLS["policy_matrix"], (1, 3)))


@pytest.mark.slow
def test_takes_another_recipe_and_its_name_can_be_changed() -> None:
    line = ["sweep=attention_matrix", "experiment=multi30k_luong_fast", "sweep.name=mine", "trainer=cpu"]
    jobs = jobs_of(*line)
    assert len(jobs) == 16
    for job in jobs:
        check(job.config, job.overrides)
        assert job.config["experiment"] == "multi30k_luong_fast"
        assert job.config["trainer"]["max_steps"] == 1473
        assert job.config["sweep"]["name"] == "mine"


def test_cells_differ_in_their_mechanism_alone() -> None:
    first, *others = jobs_of("sweep=attention_matrix", "trainer=cpu")
    for job in others:
        for part in ("data", "optimizer", "scheduler", "trainer", "task", "decoding", "seed", "averaging"):
            assert job.config.get(part) == first.config.get(part)
        model = {key: value for key, value in job.config["model"].items() if key != "decoder"}
        assert model == {key: value for key, value in first.config["model"].items() if key != "decoder"}


@pytest.mark.parametrize(
    ("line", "multirun", "said"),
    [
        (["sweep=policy_matrix"], False, "sweep=policy_matrix: is many runs; add -m: -m sweep=policy_matrix"),
        (["sweep=policy_matrix", "policy=random"], True, "policy=random: sweep=policy_matrix has values of"),
        (["sweep=caption_matrix", "experiment=shapes_soft"], True, "experiment=shapes_soft: sweep=caption_m"),
        (["sweep=policy_matrix,caption_matrix"], True, "takes one choice: these are sweeps of their own"),
        (
            ["sweep=wandb_captioning"],
            True,
            "is for W&B's agents: wandb sweep conf/sweep/wandb_captioning.yaml",
        ),
        (["sweep=policy_matrix", "data=nowhere"], True, "data=nowhere: there is no data called nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_would_be_lost_is_refused(line: list[str], multirun: bool, said: str) -> None:
    resolvers.register()
    with pytest.raises(ConfigError) as refused:
        compose_jobs(CONF, line, multirun)
    assert said in str(refused.value)


@pytest.mark.slow
def test_the_jobs_that_run_are_those_that_were_checked(
    start: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch, fake_script: Path
) -> None:
    monkeypatch.setattr(train, "SCRIPT", fake_script)
    line = ["sweep=policy_matrix", "seed=1,3", "logger=csv"]
    assert start("-m", *line) == 0
    (folder,) = runs.glob("*/*")
    assert "_policy-matrix_" in folder.name
    sweep = read_sweep(folder)
    assert sweep.sweeper == "union"
    runs_dir = f"paths.runs_dir={runs}"
    ran = [sorted(set(job.overrides) - {runs_dir}) for job in sweep.jobs]
    assert ran == [sorted(job.overrides) for job in jobs_of(*line)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cell"), [(name, cell) for name in SMALL for cell in CELLS[name]])
def test_every_cell_learns_and_is_tested(
    name: str, cell: str, start: Callable[..., int], tmp_path: Path
) -> None:
    jobs = jobs_of(f"sweep={name}", *TINY, *SMALL[name])
    (job,) = [job for job in jobs if cell.split() == typed(job).split()[-len(cell.split()) :]]
    folder = tmp_path / "run"
    folder.mkdir()
    freeze(job.composed, folder, job.overrides)
    assert start("--frozen", str(folder / "config.yaml")) == 0
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert results["checkpoint"]["step"] == 3
    assert results["sweep"] == name
