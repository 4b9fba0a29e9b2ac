"""An exported model is the run's model: the same answers anywhere, and nothing that tells of the machine."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from same_answers import answers, same
from small_config import small
from small_run import make_run, save_run
from typer.testing import CliRunner

import zoo
from zoo.cli.app import main
from zoo.config.assembly import placeholder
from zoo.core.files import write_json
from zoo.core.spec import DataSpec, TextSpec
from zoo.inference import exporting
from zoo.inference.exporting import CannotExport, export
from zoo.inference.trained_models import FOLDER
from zoo.runs.frozen import Config
from zoo.runs.status import State, StatusFile
from zoo.training.checkpoint import read_checkpoint
from zoo.training.exported import without_places

CONF = Path(__file__).parents[2] / "conf"
MODELS = sorted(path.stem for path in CONF.glob("model/*.yaml"))
BESIDE = [
    *(["model=seq2seq", f"model/decoder={name}"] for name in ("luong", "none", "deep_fusion")),
    ["model=transformer", "model/positions=learned"],
    ["model=transformer", "model/positions=rotary", "attention=general"],
    *(["model=show_attend_tell", f"model/caption_decoder={name}"] for name in ("none", "transformer")),
    ["model=show_attend_tell", "selection=hard"],
    ["model=ram", "data=catch", "task=tracking"],
    ["model=ram", "policy=random"],
    ["model=lstm_language_model", "model/memory=window"],
    pytest.param(["model=show_attend_tell", "model/encoder=vgg19"], marks=pytest.mark.slow),
    pytest.param(
        ["model=show_attend_tell", "model/encoder=resnet", "model.encoder.depth=50"], marks=pytest.mark.slow
    ),
]


def with_words(spec: DataSpec) -> DataSpec:
    """The specification of texts that consist of words, whatever the tokenizer will be."""
    fields = {}
    for name, one in spec.fields.items():
        if isinstance(one, TextSpec):
            words = {**json.loads(one.tokenizer), "pre_tokenizer": {"type": "WhitespaceSplit"}}
            one = replace(one, tokenizer=json.dumps(words))
        fields[name] = one
    return replace(spec, fields=fields)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("line", [*([f"model={name}"] for name in MODELS), *BESIDE], ids=" ".join)
def test_every_model_answers_the_same_from_its_export(
    configure: Callable[..., Config], tmp_path: Path, line: list[str]
) -> None:
    config = small(configure(*line, "trainer=cpu"))
    run = save_run(tmp_path / "run", config, with_words(placeholder(config)), 0.5)
    shutil.copytree(export(run, tmp_path / "made"), tmp_path / "elsewhere")
    expected = answers(zoo.load(run, device="cpu"), tmp_path)
    shutil.rmtree(run)
    there = zoo.load(tmp_path / "elsewhere", device="cpu")
    assert same(answers(there, tmp_path), expected)
    assert there.name == "elsewhere"
    assert str(tmp_path) not in "".join(
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "made").iterdir()
        if path.suffix != ".safetensors"
    )


def _trained(run: Path, **results: Any) -> None:
    """Writes what a training leaves beside the checkpoint."""
    status = StatusFile(run)
    status.start(["experiment=toy", "data.train=/home/me/secret/train.tsv", "name=|`x\n```"], State.QUEUED)
    values = {
        "checkpoint": {"step": 7},
        "test": {"bleu": 31.25, "speed": 3.0},
        "val": {"bleu": 12.5},
        "metrics": {"bleu": {"better": "max", "digits": 1}, "speed": {"better": None, "digits": None}},
        "seconds": 90.0,
        "machine": {"processor": "A Processor", "gpus": []},
        "versions": {"attention-zoo": "0.1.0", "torch": "2"},
        "commit": "c0ffee",
    }
    write_json(run / "results.json", {**values, **results})


def test_the_card_says_what_it_is_how_it_was_made_and_who_may_use_it(run: Path, tmp_path: Path) -> None:
    _trained(run)
    card = (export(run, tmp_path / "made", license_id="CC-BY-4.0") / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(card.split("---\n")[1])
    assert head["license"] == "cc-by-4.0"
    assert "| `bleu` | 31.2 | 12.5 |" in card
    assert "speed" not in card, "a number without a direction is no figure of merit"
    assert "    python train.py experiment=toy data.train=train.tsv 'name=|`x ```'\n" in card
    assert "step 7, the best by `val/bleu`, 1.5 minutes on A Processor" in card
    assert "under CC-BY-4.0" in card
    assert "/home/me" not in card


def test_results_of_other_weights_are_not_taken(run: Path, tmp_path: Path) -> None:
    _trained(run, checkpoint={"step": 8})
    made = export(run, tmp_path / "made")
    assert yaml.safe_load((made / "metrics.json").read_text()) == {"val": {"bleu": 12.5}}
    card = (made / "README.md").read_text()
    assert "31.2" not in card
    assert "Nobody has said under which licence" in card


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("/home/me/data/train.tsv", "train.tsv"),
        ("~/data", "data"),
        ("~", "."),
        ("../../data/", "data"),
        ("runs/../x", "x"),
        ("C:\\data\\train.tsv", "train.tsv"),
        ("file:///home/me/x", "x"),
        ("somebody/reviews", "somebody/reviews"),
        ("/", "/"),
        (r"\s+", r"\s+"),
        ("zoo.networks.x", "zoo.networks.x"),
        (None, None),
        (3, 3),
    ],
)
def test_of_paths_only_the_last_part_is_left(given: object, left: object) -> None:
    assert without_places({"a": [given], "b": {"c": given}}) == {"a": [left], "b": {"c": left}}


def test_a_folder_with_something_in_it_is_kept(run: Path, tmp_path: Path) -> None:
    made = export(run, tmp_path / "made")
    with pytest.raises(CannotExport, match="--overwrite"):
        export(run, made)
    (made / "notes.txt").write_text("mine")
    with pytest.raises(CannotExport, match="holds more than"):
        export(run, made, overwrite=True)
    (made / "notes.txt").unlink()
    other = make_run(tmp_path / "other", seed=5)
    assert export(other, made, overwrite=True) == made
    assert same(zoo.load(made)("abc"), zoo.load(other)("abc"))
    for exported, folder in ((made, made), ("zoo:dates", FOLDER / "dates")):
        with pytest.raises(CannotExport, match=f"{exported} is exported already: copy {folder};"):
            export(exported, tmp_path / "again")
    with pytest.raises(CannotExport, match="not empty"):
        export(run, run)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "other", "run"]


def test_a_place_for_no_folder_is_said_before_the_run_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotExport, match=r"file/made cannot be made: .*file is no folder"):
        export(tmp_path / "no run", tmp_path / "file" / "made")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(CannotExport, match=r"made cannot be made: .* cannot be written to"):
        export(tmp_path / "no run", tmp_path / "made")


def test_an_empty_folder_is_taken(run: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    export(run, tmp_path / "made")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_half_written_export_never_exists(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = export(run, tmp_path / "made")
    before = {path.name: path.read_bytes() for path in made.iterdir()}

    def fail(*_: Any) -> None:
        raise OSError("no more")

    monkeypatch.setattr(exporting, "write_text", fail)  # the card, which comes last
    for folder in (made, tmp_path / "new", tmp_path / "not" / "there" / "new"):
        with pytest.raises(OSError, match="no more"):
            export(run, folder, overwrite=True)
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "run"]


def test_the_old_export_stays_where_the_new_one_cannot_take_its_place(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = export(run, tmp_path / "made")
    rename, calls = Path.rename, []

    def second_fails(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) == 2:
            raise OSError("no more")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(OSError, match="no more"):
        export(run, made, overwrite=True)
    monkeypatch.undo()
    assert zoo.load(made).name == "made"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "run"]


def test_a_model_goes_on_from_an_export(run: Path, tmp_path: Path) -> None:
    """Whatever reads a run's checkpoint reads an export, and its file of weights by name."""
    made = export(run, tmp_path / "made")
    whole, read = read_checkpoint(run), read_checkpoint(made)
    assert read.spec == whole.spec
    assert (read.step, read.metrics, read.metric) == (whole.step, whole.metrics, whole.metric)
    assert read.state_dict.keys() == whole.state_dict.keys()
    assert all(torch.equal(read.state_dict[name], weight) for name, weight in whole.state_dict.items())
    assert str(read) == f"{made}/model.safetensors (step 7, val/bleu 12.5)"
    assert read_checkpoint(made / "model.safetensors").config == read.config


def test_the_command(run: Path, tmp_path: Path) -> None:
    def command(*line: object) -> Any:
        return CliRunner().invoke(main, [*map(str, line)])

    result = command("export", run, tmp_path / "made", "--license", "MIT")
    assert result.exit_code == 0, result.output
    assert f"wrote {tmp_path / 'made'} (0.0 MiB)" in result.stderr
    said = command("predict", tmp_path / "made", "abc")
    assert said.stdout == command("predict", run, "abc").stdout
    assert f"using {tmp_path / 'made'}/model.safetensors (step 7" in said.stderr
    for line, what in (
        ((run, tmp_path / "made"), "--overwrite replaces it"),
        ((run, tmp_path / "b", "--license", "my own"), "SPDX"),
        ((tmp_path / "nothing", tmp_path / "b"), "does not exist"),
        ((run, run / "checkpoints" / "best.ckpt"), "no folder"),
    ):
        result = command("export", *line)
        assert (result.exit_code, what in result.stderr) == (2, True), result.stderr
    assert not (tmp_path / "b").exists()
