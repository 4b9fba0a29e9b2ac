"""Two processes measure what one does: no item is left out, and none counts twice to make the shares even.

Real data modules, networks and trainers; every metric of every task, in validation and test, and what is
written about each item. 13 items are no multiple of anything.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from ranks import on_ranks
from small_run import draw_picture

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.runs.testing import evaluate
from zoo.training.checkpoint import Checkpoint

CONF = Path(__file__).parents[2] / "conf"
N = 13
STEPS = 25
APART = ("seconds_of_test", "name")  # the clock, and what was typed

TEXT = ["model.embedding_size=16", "model.hidden_size=16", "decoding=greedy"]
CASES = {
    "translation": [
        *("data=parallel", "data/tokenizer=words", "data.source_language=en", "data.target_language=de"),
        *(f"data.{split}={{folder}}/{split}.tsv" for split in ("train", "val", "test")),
        *("data.batch_tokens=30", *TEXT),
    ],
    "alignments": [
        *("data=reverse", "data.corpus.train=32", f"data.corpus.validation={N}", f"data.corpus.test={N}"),
        *("data.batch_tokens=64", *TEXT),
    ],
    "captioning": [
        *("model=show_attend_tell", "data.captions.train=8", f"data.captions.validation={N}"),
        *(f"data.captions.test={N}", "data.image_size=24", "data.batch_size=4", *TEXT),
        *("model.encoder.widths=[8]", "model.encoder.feature_size=8"),
    ],
    "recognition": [
        *("model=ram", "data=image_folder", "data.images.path={folder}/pictures", "data.batch_size=4"),
        *("model.glimpse_size=4", "model.glimpses=3", "model.hidden_size=16", "model.glimpse_hidden_size=8"),
    ],
    "whole images": [
        *("model=fully_connected", "data=image_folder", "data.images.path={folder}/pictures"),
        *("data.batch_size=64", "model.hidden_size=16"),
    ],
    "tracking": [
        *("model=ram", "model/recurrent=lstm", "task=tracking", "data=catch"),
        *("data.size=12", "data.ball=2", "data.train_games=8", f"data.validation_games={N}"),
        *(f"data.test_games={N}", "data.batch_size=5", "model.glimpse_size=4", "model.scales=2"),
        *("model.hidden_size=16", "model.glimpse_hidden_size=8"),
    ],
}
CASES |= {
    "own captions": [
        *("model=show_attend_tell", "data=image_captions", "data.image_size=24", "data.batch_size=3", *TEXT),
        *(f"data.captions.{split}={{folder}}/{split}.jsonl" for split in ("train", "val", "test")),
        *("model.encoder.widths=[8]", "model.encoder.feature_size=8", "data.augmentation=null"),
    ],
    "beam search": [*(text for text in CASES["alignments"] if text != "decoding=greedy"), "decoding=beam"],
    "a transformer": [
        *("model=transformer", "model/size=tiny", "model.model_size=16", "model.feed_forward_size=16"),
        *("model.heads=2", "data.maximum_length=24"),
        *(text for text in CASES["translation"] if not text.startswith("model.")),
    ],
    "a batch for each item": [*CASES["tracking"], "data.batch_size=1"],
}
"""Small data of each task; of whole images all are one batch."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """13 sentences, pictures and captions for each split."""
    names = ["Ann", "Bob", "Eve"]
    for number, split in enumerate(("train", "val", "test")):
        pairs, scenes = [], []
        for item in range(N):
            name, told = names[item % 3], 100 * number + item
            pairs.append(f"We saw {name} {told} times .\tWir sahen {name} {told} Mal" + " oft" * (item % 4))
            picture = draw_picture(tmp_path / f"{split}{item}.png", seed=told)
            captions = [f"a {name} by {place}" for place in range(1 + item % 3)]
            scenes.append(json.dumps({"image": picture.name, "captions": captions}))
            label = tmp_path / "pictures" / split / "abc"[item % 3]
            label.mkdir(parents=True, exist_ok=True)
            draw_picture(label / f"{item}.png", seed=told)
        (tmp_path / f"{split}.tsv").write_text("".join(f"{pair}\n" for pair in pairs))
        (tmp_path / f"{split}.jsonl").write_text("".join(f"{scene}\n" for scene in scenes))
    return tmp_path


def learn(task: Any, data: Any) -> None:
    """Trains on the test split, so that the scores are neither the best nor the worst."""
    optimizer = torch.optim.Adam(task.parameters(), lr=0.02)
    batches = list(data.test_dataloader()[0])
    for step in range(STEPS):
        optimizer.zero_grad()
        task.training_step(batches[step % len(batches)], step).backward()
        optimizer.step()


def measure(ranks: int, cases: dict[str, list[str]], folder: Path) -> dict[str, Any]:
    """What a hardly trained model scores in each case; of several processes the first one says it."""
    resolvers.register()
    found = {}
    for name, line in cases.items():
        where = folder / f"{name} {ranks}"
        where.mkdir(exist_ok=True)
        trainer = "cpu" if ranks == 1 else "ddp_cpu"
        overrides = [f"trainer={trainer}", "logger=csv", f"paths.runs_dir={where}", *line]
        config = compose_jobs(CONF, [text.format(folder=folder) for text in overrides], False)[0].config
        data = instantiate(config["data"], "data")
        data.prepare_data()
        data.setup()
        torch.manual_seed(1)
        network = instantiate(config["model"], "model")(spec=data.spec)
        task = instantiate(config["task"], "task")(network=network, spec=data.spec)
        learn(task, data)
        trainer = instantiate(config["trainer"], "trainer")(
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            default_root_dir=where,
            inference_mode=False,
        )
        (validated,) = trainer.validate(task, datamodule=data, verbose=False)
        best = Checkpoint(
            where / "best.ckpt", config, data.spec, task.state_dict(), 1, validated, config["task"]["monitor"]
        )
        costs = {"seconds": 1.0, "per_second": {}, "peak_memory_bytes": 1}
        evaluate(trainer, task, data, config=config, checkpoint=best, folder=where, costs=costs)
        if trainer.is_global_zero:
            lines = (where / "predictions.jsonl").read_text().splitlines()
            found[name] = {
                "results": json.loads((where / "results.json").read_text()),
                "predictions": [json.loads(line) for line in lines],
                "validated": task.predictions["val"],
            }
    return found


def assert_equal(one: Any, two: Any, where: str, error: float = 1e-6) -> None:
    """Metrics to 1e-6, what is said of single items to float32's rounding in batches of other sizes."""
    assert type(one) is type(two), where
    if isinstance(one, dict):
        assert one.keys() == two.keys(), where
        for key in one.keys() - {*APART}:
            assert_equal(
                one[key], two[key], f"{where} {key}", 1e-5 if key in ("predictions", "validated") else error
            )
    elif isinstance(one, list):
        assert len(one) == len(two), where
        for number, (first, second) in enumerate(zip(one, two, strict=True)):
            assert_equal(first, second, f"{where} {number}", error)
    elif isinstance(one, float):
        assert one == pytest.approx(two, rel=error, abs=error, nan_ok=True), where
    else:
        assert one == two, where


def check(cases: dict[str, list[str]], folder: Path) -> None:
    """Compares one process with two."""
    alone = measure(1, cases, folder)
    together, _ = on_ranks(2, measure, 2, cases, folder)
    for name in cases:
        one = alone[name]
        assert [item["id"] for item in one["predictions"]] == [*range(N)], name
        assert [item["id"] for item in one["validated"]] == [*range(N)], name
        assert_equal(one, together[name], name)


@pytest.mark.slow
def test_two_processes_measure_what_one_does(folder: Path) -> None:
    check({"translation": CASES["translation"]}, folder)


@pytest.mark.slow
def test_two_processes_measure_what_one_does_in_every_task(folder: Path) -> None:
    check(CASES, folder)
