"""Names that moved: what earlier runs call a class is the class of today, in the same group of results."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from zoo.config.allowed import locate
from zoo.config.check import check
from zoo.core import aliases
from zoo.core.aliases import with_current_names, with_first_names
from zoo.runs.frozen import Config, thaw
from zoo.runs.results import config_hash


@pytest.mark.parametrize("first", aliases._CLASSES)
def test_a_class_that_left_its_module_is_there(first: str) -> None:
    now = with_current_names({"_target_": first})["_target_"]
    assert locate(now).__name__ == first.rpartition(".")[2]
    assert with_first_names({"_target_": now}) == {"_target_": first}


@pytest.mark.parametrize(
    ("first", "now"),
    [
        ("data.multi30k.Multi30k", "data.text.multi30k.Multi30k"),
        ("data.images.ImageData", "data.images.images.ImageData"),
        ("zoo.callbacks.LastCheckpoint", "zoo.training.callbacks.LastCheckpoint"),
        ("zoo.runs.wandb.WandbLogger", "zoo.loggers.wandb.WandbLogger"),
        ("zoo.tasks.schedules.Vaswani", "zoo.training.schedules.Vaswani"),
    ],
)
def test_a_module_that_moved_is_there(first: str, now: str) -> None:
    assert with_current_names({"a": [{"_target_": first}]}) == {"a": [{"_target_": now}]}
    assert with_first_names({"a": [{"_target_": now}]}) == {"a": [{"_target_": first}]}
    locate(now)


def test_every_module_in_the_table_is_there() -> None:
    for now in aliases._MODULES.values():
        path = Path(__file__).parents[2] / now.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists(), now


def test_what_never_moved_keeps_its_name() -> None:
    for name in ("zoo.attention.Additive", "torch.optim.Adam", "Additive", ""):
        assert with_current_names({"_target_": name}) == {"_target_": name}
        assert with_first_names({"_target_": name}) == {"_target_": name}


@pytest.mark.parametrize("line", [["experiment=multi30k_luong"], ["model=ram", "data=cluttered_mnist"]])
def test_a_config_of_earlier_names_is_the_same_configuration(
    configure: Callable[..., Config], line: list[str], tmp_path: Path
) -> None:
    config = configure(*line, "trainer=cpu", "scheduler=inverse_square_root", "averaging=last")
    earlier = with_first_names(config)
    assert earlier != config
    assert config_hash(earlier) == config_hash(config)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(earlier), encoding="utf-8")
    read = thaw(tmp_path / "config.yaml")
    assert with_current_names(read) == read
    check(read)
