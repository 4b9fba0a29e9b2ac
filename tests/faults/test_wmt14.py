"""The recipe of Vaswani et al. 2017 on files of WMT 2014's layout: two steps, stopped in between or not."""

import random
from pathlib import Path

import datasets
import pytest
import torch
from small_runs import assert_same_run, only_run, resume, run

pytestmark = pytest.mark.slow

SMALL = [
    *("experiment=wmt14_transformer_base", "trainer=cpu", "logger=csv", "data.tokenizer.size=60"),
    *("model.model_size=16", "model.feed_forward_size=16", "model.encoder_layers=1"),
    *("model.decoder_layers=1", "data.batch_tokens=400", "scheduler.warmup_steps=2"),
    *("trainer.max_steps=2", "trainer.val_check_interval=1.0"),
]


def _publish(folder: Path) -> None:
    """Sentences of a few words in both languages, as the hub has them."""
    generator = random.Random(1)
    for split, pairs in {"train": 20, "validation": 6, "test": 6}.items():
        numbers = [generator.sample("abcdef", generator.randint(2, 5)) for _ in range(pairs)]
        rows = [{"en": " ".join(row), "de": " ".join(reversed(row))} for row in numbers]
        table = datasets.Dataset.from_dict({"translation": rows})
        table.to_parquet(folder / f"{split}-00000-of-00001.parquet")


def test_two_steps_and_a_stop_between_them(tmp_path: Path) -> None:
    place = tmp_path / "data" / "wmt14"
    place.mkdir(parents=True)
    _publish(place)
    line = [*SMALL, f"paths.data_dir={tmp_path}/data", f"paths.cache_dir={tmp_path}/cache"]
    code, said = run(*line, f"paths.runs_dir={tmp_path}/whole")
    assert code == 0, said
    code, said = run(*line, f"paths.runs_dir={tmp_path}/stopped", fault="SIGTERM@validation:1")
    assert code == 143, said
    whole, stopped = only_run(tmp_path / "whole"), only_run(tmp_path / "stopped")
    code, said = resume(stopped)
    assert code == 0, said
    assert_same_run(whole, stopped)
    last = torch.load(stopped / "checkpoints" / "last.ckpt", weights_only=True)
    assert list(last["callbacks"]["CheckpointAveraging"]["kept"]) == [1, 2]
