"""Every file under conf/ is composed, checked and built, and every mechanism fits into every model."""

import copy
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer

from zoo.config import ConfigError, resolvers
from zoo.config.check import check, placeholder
from zoo.config.compose import compose_jobs
from zoo.config.frozen import Config
from zoo.config.instantiate import instantiate

CONF = Path(__file__).parents[2] / "conf"
FILES = sorted(path.relative_to(CONF).with_suffix("") for path in CONF.rglob("*.yaml"))
CHOICES = [path for path in FILES if path != Path("train")]
NEEDS = {
    "scheduler/cosine": ["trainer.max_steps=1000"],
    "data/parallel": [f"data.train=[{CONF}/train.yaml,{CONF}/data/dates.yaml]"],  # are there; none is read
    "trainer/gpu": ["trainer.accelerator=cpu"],  # what it says itself is tested where there is a GPU
}
REACHED_BY = {"trainer/limits/debug": ("trainer=debug", "trainer/limits@trainer")}
"""Files that another choice brings along, and under which group."""
EXTRAS = {"hydra/launcher/slurm": "hydra_plugins.hydra_submitit_launcher"}
"""What a file needs that is not always installed."""
SMALL = ["model.embedding_size=8", "model.hidden_size=8"]


def test_conf_holds_nothing_but_configurations() -> None:
    assert {path.suffix for path in CONF.rglob("*") if path.is_file()} == {".yaml"}


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_composes_checks_and_builds(choice: Path, tmp_path: Path) -> None:
    resolvers.register()
    if choice.as_posix() in EXTRAS:
        pytest.importorskip(EXTRAS[choice.as_posix()])
    group, name = choice.parent.as_posix(), choice.name
    override, group = REACHED_BY.get(choice.as_posix(), (f"{group}={name}", group))
    overrides = [f"paths.runs_dir={tmp_path}/runs", override, *NEEDS.get(choice.as_posix(), [])]
    job = compose_jobs(CONF, [*overrides, *SMALL], False)[0]

    assert job.composed.hydra.runtime.choices[group] == name, "the file was not reached"
    check(job.config)

    network = instantiate(job.config["model"], "model")(spec=placeholder(job.config))
    task = instantiate(job.config["task"], "task")(network=network, spec=placeholder(job.config))
    assert isinstance(task, LightningModule)
    callbacks = list(instantiate(job.config["callbacks"], "callbacks").values())
    loggers = list(instantiate(job.config["logger"], "logger").values())
    trainer = instantiate(job.config["trainer"], "trainer")(callbacks=callbacks, logger=loggers)
    assert isinstance(trainer, Trainer)
    assert not (tmp_path / "runs").exists(), "building wrote something"


@pytest.mark.parametrize("path", sorted(CONF.glob("experiment/*.yaml")), ids=lambda path: path.stem)
def test_a_recipe_says_what_it_is(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = [line for line in lines[: lines.index("defaults:")] if line.startswith("#")]
    assert f"experiment={path.stem}" in "\n".join(comment), "the comment names the command"


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@pytest.fixture(scope="module")
def parts() -> dict[str, dict[str, Any]]:
    """Each option of the three groups whose product is the zoo, resolved."""
    resolvers.register()
    return {
        group: {
            name: compose_jobs(CONF, [f"{group}={name}", "trainer=cpu", *SMALL], False)[0].config
            for name in options(group)
        }
        for group in ("attention", "selection", "model/decoder")
    }


REFUSED: dict[tuple[str, str, str], str] = {}
"""Cells that the check refuses, and a part of the reason."""


@pytest.mark.parametrize(
    ("decoder", "attention", "selection"),
    list(product(options("model/decoder"), options("attention"), options("selection"))),
)
def test_every_cell_builds_or_is_refused(
    parts: dict[str, dict[str, Any]], decoder: str, attention: str, selection: str
) -> None:
    config: Config = copy.deepcopy(parts["model/decoder"][decoder])
    config["attention"] = parts["attention"][attention]["attention"]
    config["selection"] = parts["selection"][selection]["selection"]
    reads = config["model"]["decoder"].get("attention")
    if reads:
        reads["score"], reads["selection"] = config["attention"], config["selection"]
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


@pytest.mark.parametrize(
    ("overrides", "attention"),
    [
        ([], "Additive"),
        (["model/decoder=luong"], "General"),
        (["model/decoder=luong", "attention=dot"], "Dot"),
        (["attention=dot", "model/decoder=luong"], "Dot"),
        (["experiment=reverse"], "General"),
        (["experiment=reverse", "attention=location"], "Location"),
        (["experiment=multi30k_bahdanau", "model/decoder=luong"], "General"),
    ],
    ids=" ".join,
)
def test_the_command_line_beats_the_model(
    configure: Callable[..., Config], overrides: list[str], attention: str
) -> None:
    config = configure(*overrides)
    assert config["attention"]["_target_"] == f"zoo.attention.{attention}"
    assert config["model"]["decoder"]["attention"]["score"] == config["attention"]


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


@pytest.mark.parametrize("recipe", options("experiment"))
def test_debug_beats_every_recipe(configure: Callable[..., Config], recipe: str) -> None:
    config = configure(f"experiment={recipe}", "trainer=debug", *SMALL)
    check(config)
    trainer = config["trainer"]
    assert trainer["max_epochs"] == 1
    assert (trainer["val_check_interval"], trainer["check_val_every_n_epoch"]) == (None, 1)
    assert [trainer[f"limit_{split}_batches"] for split in ("train", "val", "test")] == [4, 1, 1]


def test_the_command_line_beats_debug(configure: Callable[..., Config]) -> None:
    trainer = configure("experiment=reverse", "trainer=debug", "trainer.limit_train_batches=9")["trainer"]
    assert (trainer["limit_train_batches"], trainer["limit_val_batches"]) == (9, 1)


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
