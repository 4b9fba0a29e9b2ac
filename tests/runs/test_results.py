"""results.json: every agreed field, and a hash that groups what may be compared."""

import json
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from zoo.core.spec import DataSpec
from zoo.runs import results as module
from zoo.runs.results import commit, config_hash, results, versions, write_results
from zoo.tasks.translation.task import TranslationTask
from zoo.training.checkpoint import Checkpoint

SPEC = DataSpec("dates", test_hash="ab", vocabulary_hash="cd")
CONFIG: dict[str, Any] = {
    "name": "run",
    "experiment": "dates_bahdanau",
    "sweep": None,
    "seed": 3,
    "attention": {"_target_": "zoo.attention.Additive"},
    "selection": {"_target_": "zoo.attention.Soft"},
    "model": {"hidden_size": 256},
    "data": {
        "corpus": {"seed": 1},
        "seed": 3,
        "num_workers": 0,
        "cache_dir": "/home/a/cache/zoo",
        "batch_tokens": 4096,
    },
    "task": {"label_smoothing": 0.1},
    "optimizer": {"lr": 0.001},
    "scheduler": None,
    "decoding": {"beam_size": 5},
    "trainer": {
        "precision": "32-true",
        "max_epochs": 9,
        "max_steps": -1,
        "log_every_n_steps": 20,
        "devices": 1,
    },
    "callbacks": {"samples": {"sentences": 4}},
    "logger": {"wandb": {}},
    "paths": {"cache_dir": "/home/a/cache", "run_dir": "/home/a/runs/1"},
}


def _with(key: str, value: Any) -> dict[str, Any]:
    config: dict[str, Any] = deepcopy(CONFIG)
    *parents, last = key.split(".")
    node = config
    for parent in parents:
        node = node[parent]
    node[last] = value
    return config


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attention._target_", "zoo.attention.Dot"),
        ("selection._target_", "zoo.attention.Hard"),
        ("model.hidden_size", 512),
        ("data.batch_tokens", 2048),
        ("data.corpus.seed", 2),
        ("task.label_smoothing", 0.0),
        ("optimizer.lr", 0.002),
        ("scheduler", {"warmup": 10}),
        ("decoding.beam_size", 1),
        ("trainer.precision", "bf16-mixed"),
        ("trainer.max_epochs", 10),
        ("trainer.max_steps", 100),
        ("trainer.max_time", "00:01:00:00"),
        ("trainer.limit_train_batches", 10),
        ("trainer.gradient_clip_val", 1.0),
        ("trainer.gradient_clip_algorithm", "value"),
        ("trainer.limit_test_batches", 2),
    ],
)
def test_the_hash_covers_whatever_changes_a_result(key: str, value: Any) -> None:
    assert config_hash(_with(key, value)) != config_hash(CONFIG)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 4),
        ("data.seed", 4),
        ("data.fold", 4),
        ("data.num_workers", 2),
        ("trainer.accumulate_grad_batches", 2),
        ("trainer.devices", 2),
        ("trainer.num_nodes", 2),
        ("name", "other"),
        ("sweep", "sweep"),
        ("callbacks", {}),
        ("logger", {}),
        ("trainer.log_every_n_steps", 1),
    ],
)
def test_the_hash_leaves_out_seed_and_logging(key: str, value: Any) -> None:
    assert config_hash(_with(key, value)) == config_hash(CONFIG)


def test_the_hash_leaves_out_where_things_lie() -> None:
    elsewhere = json.loads(json.dumps(CONFIG).replace("/home/a", "/mnt/b"))
    assert elsewhere != CONFIG
    assert config_hash(elsewhere) == config_hash(CONFIG)


def test_the_hash_leaves_out_where_ones_own_pictures_lie() -> None:
    here, there, larger = (
        _with("data.images", {"path": path, "height": height})
        for path, height in (("/a/pictures", 9), ("/b/photos", 9), ("/a/pictures", 10))
    )
    assert config_hash(here) == config_hash(there)
    assert config_hash(here) != config_hash(larger)


def test_only_what_lies_below_a_configured_path_is_left_out() -> None:
    files = {"files": ["/home/a/cache/x", "/home/a/cachet"]}
    moved = {"files": ["/mnt/b/x", "/home/a/cachet"]}
    paths = {"paths": CONFIG["paths"] | {"data_dir": "/mnt/b"}}
    assert config_hash(CONFIG | {"task": files}) == config_hash(CONFIG | {"task": moved} | paths)
    assert config_hash(CONFIG | {"task": files}) != config_hash(CONFIG | {"task": {"files": []}})


def test_a_location_score_is_hashed_with_the_length_that_its_network_gives_it() -> None:
    """Kept results name it."""

    def reading(**named: Any) -> dict[str, Any]:
        score = {"_target_": "zoo.attention.Location", **named}
        return _with("data.maximum_length", 9) | {"attention": score, "model": {"parts": [{"score": score}]}}

    assert config_hash(reading(maximum_length=None)) == config_hash(reading(maximum_length=9))
    assert config_hash(reading(maximum_length=10)) != config_hash(reading(maximum_length=9))


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    def turned(node: Any) -> Any:
        return {key: turned(node[key]) for key in reversed(node)} if isinstance(node, dict) else node

    assert config_hash(turned(CONFIG)) == config_hash(CONFIG)


def test_every_field(tmp_path: Path) -> None:
    checkpoint = Checkpoint(
        path=tmp_path / "checkpoints" / "best.ckpt",
        config=CONFIG,
        spec=SPEC,
        state_dict={},
        step=120,
        metrics={"val/bleu": 31.5, "val/tf_loss": 2.0},
        monitor="val/bleu",
    )
    given: dict[str, Any] = dict(  # noqa: C408 - as results() takes them
        config=CONFIG,
        task=TranslationTask,
        spec=SPEC,
        checkpoint=checkpoint,
        folder=tmp_path,
        test={"test/bleu": 30.0, "test_unseen/bleu": 20.0, "step": 120.0},
        test_splits=["test", "test_unseen"],
        parameters=7,
        seconds=1.5,
        per_second={"tokens": 1000.0},
        peak_memory_bytes=99,
        signatures={"bleu": "nrefs:1"},
        seconds_of_test=0.5,
        data={"test": {"pairs": 3, "truncated": 1}},
        monitor_unchanged={"validations": 5, "instead": "val/chrf"},
        details={"more": 1},
    )
    written = results(**given)
    write_results(tmp_path, written)
    read = json.loads((tmp_path / "results.json").read_text())
    assert read == written
    folded = results(**given, fold=3, folds=10)
    assert (folded["fold"], folded["folds"]) == (3, 10)
    assert folded.keys() - read.keys() == {"fold", "folds"}
    assert set(read) == {
        *("experiment", "name", "sweep", "seed", "checkpoint", "test", "test_unseen", "val", "parameters"),
        *(
            "seconds",
            "seconds_of_test",
            "per_second",
            "peak_memory_bytes",
            "machine",
            "versions",
            "commit",
            "data",
            "test_hash",
        ),
        *(
            "vocabulary_hash",
            "config_hash",
            "signatures",
            "task",
            "model",
            "data_set",
            "unit",
            "metrics",
            "controls",
            "more",
        ),
    }
    assert read["data_set"] == SPEC.name
    assert read["metrics"]["bleu"] == {
        **{"better": "max", "digits": 1, "role": "detail", "headline": False, "items": "bleu"},
        **{"per_token": False, "share": False},
    }
    assert read["data"] == {"test": {"pairs": 3, "truncated": 1}}
    assert read["checkpoint"] == {
        "file": "checkpoints/best.ckpt",
        "step": 120,
        "metric": "val/bleu",
        "value": 31.5,
        "monitor_unchanged": {"validations": 5, "instead": "val/chrf"},
    }
    assert read["test"] == {"bleu": 30.0}
    assert read["test_unseen"] == {"bleu": 20.0}
    assert read["val"] == {"bleu": 31.5, "tf_loss": 2.0}
    assert (read["test_hash"], read["vocabulary_hash"]) == ("ab", "cd")
    assert read["machine"]["cores"] >= 1
    assert read["machine"]["processor"]


def test_versions_name_what_can_change_a_number() -> None:
    assert {"python", "torch", "lightning", "sacrebleu", "tokenizers", "attention-zoo"} <= set(versions())


def test_what_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PACKAGES", ("torch", "nowhere-to-be-found"))
    assert set(versions()) == {"python", "torch"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose one commit holds the package."""
    package = tmp_path / "zoo"
    package.mkdir()
    (package / "__init__.py").write_text("# one\n")
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(module, "__file__", str(package / "runs" / "results.py"))
    return tmp_path


def test_the_commit_says_when_files_differ_from_it(repository: Path) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert commit() == head
    (repository / "zoo" / "__init__.py").write_text("# two\n")
    assert commit() == f"{head}-dirty"


def test_somebody_elses_repository_is_not_our_commit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = repository / "env" / "zoo"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    monkeypatch.setattr(module, "__file__", str(installed / "runs" / "results.py"))
    assert commit() is None


def test_no_repository_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "runs" / "results.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() is None
