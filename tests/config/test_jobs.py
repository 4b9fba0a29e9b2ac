"""What is looked at before the first job runs: here, whether the data is there."""

from pathlib import Path

import pytest

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.jobs import check_jobs
from zoo.core.problems import ConfigError

CONF = Path(__file__).parents[2] / "conf"


def checked(folder: Path, *overrides: str) -> None:
    resolvers.register()
    places = [f"paths.runs_dir={folder}/runs", f"paths.cache_dir={folder}/cache", f"paths.data_dir={folder}"]
    small = ["model.embedding_size=8", "model.hidden_size=8", "trainer=cpu"]
    multirun = any("," in override for override in overrides)
    check_jobs(compose_jobs(CONF, [*places, *small, *overrides], multirun), multirun)


@pytest.mark.parametrize("overrides", [["data=tatoeba"], ["data=dates,tatoeba", "hydra/launcher=local"]])
def test_files_that_cannot_be_downloaded_must_be_there(tmp_path: Path, overrides: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"- data: .*tatoeba_en_de has neither deu\.txt\.gz nor deu\.txt"):
        checked(tmp_path, *overrides)
    (tmp_path / "tatoeba_en_de").mkdir()
    (tmp_path / "tatoeba_en_de" / "deu.txt").touch()
    checked(tmp_path, *overrides)  # what is in it is read later


def test_only_published_languages_are_downloaded(tmp_path: Path) -> None:
    checked(tmp_path, "data=multi30k")
    with pytest.raises(ConfigError, match=r"- data: .*raw lacks train\.xx, val\.xx, .*English"):
        checked(tmp_path, "data=multi30k", "data.corpus.target=xx")


def test_vectors_must_be_there_before_a_training_and_fit_its_network(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    line = ["model=lstm_attention", "data=needle", f"data.vectors={file}", "data.tune_vectors=true"]
    line = [f"+{one}" if one.startswith("data.") else one for one in line]
    with pytest.raises(ConfigError, match=r"- data: vectors: .*vectors\.txt does not exist"):
        checked(tmp_path, *line)
    file.write_text("word 1 2 3\n")
    with pytest.raises(ConfigError, match=r"- model\.embedding_size: must be 3, .*got 8"):
        checked(tmp_path, *line)
    file.write_text("word 1 2 3 4 5 6 7 8\nword 1\n")
    with pytest.raises(ConfigError, match=r"- data: .*line 2"):
        checked(tmp_path, *line)
