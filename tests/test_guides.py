"""What the guides show can be copied as it stands."""

import re
import shutil
from pathlib import Path

import pytest

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

PROJECT = Path(__file__).parents[1]


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT / "conf", tmp_path / "conf"))


def _shown(guide: str) -> str:
    (shown,) = re.findall(
        r"```yaml\n(.*?)```", (PROJECT / "docs" / guide).read_text(encoding="utf-8"), re.DOTALL
    )
    return str(shown)


def _composed(conf: Path, *overrides: str) -> Config:
    resolvers.register()
    return compose_jobs(conf, list(overrides), multirun=False)[0].config


def test_a_model_of_the_guide_brings_its_attention_and_takes_another(conf: Path) -> None:
    (conf / "model" / "mine.yaml").write_text(_shown("adding-a-model.md").replace("<name>", "mine"))
    for overrides, score in ((["model=mine"], "ScaledDot"), (["model=mine", "attention=dot"], "Dot")):
        model = _composed(conf, *overrides)["model"]
        assert model["attention"]["score"]["_target_"] == f"zoo.attention.{score}"
        assert model["_target_"] == "zoo.networks.mine.<Class>"


def test_a_model_of_ones_own_takes_a_recipe(conf: Path) -> None:
    (conf / "model" / "mine.yaml").write_text(_shown("adding-a-model.md").replace("<name>", "mine"))
    for recipe, steps in (("reverse", 1500), ("multi30k_luong", 4910)):  # the second one begins with another
        whole = _composed(conf, f"experiment={recipe}")
        config = _composed(conf, f"experiment={recipe}", "model=mine")
        assert config["model"]["_target_"] == "zoo.networks.mine.<Class>"
        assert config["trainer"]["max_steps"] == steps
        for part in ("data", "task", "optimizer", "scheduler", "trainer"):
            assert config[part] == whole[part]


def test_a_choice_that_a_model_leaves_no_place_for_is_named(conf: Path) -> None:
    (conf / "model" / "mine.yaml").write_text(_shown("adding-a-model.md").replace("<name>", "mine"))
    with pytest.raises(ConfigError, match=r"model=mine: .* leave model/decoder= out"):
        _composed(conf, "experiment=reverse", "model=mine", "model/decoder=luong")


def test_a_corpus_of_the_guide_takes_the_place_of_another(conf: Path, tmp_path: Path) -> None:
    shipped = (conf / "data" / "multi30k.yaml").read_text(encoding="utf-8")
    own = re.sub(r"corpus:\n(  .*\n)+", lambda _: _shown("own-data.md"), shipped)
    (conf / "data" / "my_corpus.yaml").write_text(own)
    data = _composed(conf, "data=my_corpus", f"paths.data_dir={tmp_path}")["data"]
    assert data["corpus"] == {"_target_": "data.my_corpus.MyCorpus", "folder": f"{tmp_path}/my_corpus"}
    assert data["tokenizer"]["_target_"] == "data.text.vocabulary.Bpe"


def test_a_matrix_of_the_guide_has_its_cells(conf: Path) -> None:
    (conf / "sweep" / "mine.yaml").write_text(_shown("matrix.md"))
    resolvers.register()
    jobs = compose_jobs(conf, ["sweep=mine"], multirun=True)
    assert [job.overrides[1:] for job in jobs] == [
        ["attention=dot"],
        ["attention=general"],
        ["attention=general", "selection=hard"],
    ]
    assert {job.config["experiment"] for job in jobs} == {"reverse"}


def test_a_recipe_for_ones_own_text_is_picked_by_a_metric_that_moves(conf: Path) -> None:
    """BLEU of short sentences may be 0 from the first validation to the last."""
    guide = (PROJECT / "docs" / "own-data.md").read_text(encoding="utf-8")
    lines = re.findall(r"experiment=\S+ data=parallel [^`]*", guide)
    lines += re.findall(r"python train\.py (data=parallel .*)", guide)
    assert len(lines) >= 3
    for line in lines:
        words = line.replace("[...]", "[a,b]").split()
        config = _composed(conf, *words)
        assert config["task"]["monitor"] == "val/chrf", line
        assert config["callbacks"]["best"]["_target_"] == "zoo.training.callbacks.BestCheckpoint"
