"""Checkpoints describe themselves; whatever is wrong with one is said in one clear error."""

import os
import pickle
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.core.spec import DataSpec, ImageSpec, LabelSpec, TextSpec
from zoo.training.checkpoint import (
    CheckpointError,
    contents,
    find_checkpoint,
    read_checkpoint,
    require_vocabulary,
    strip_optimizer,
)

TEXT = TextSpec(tokenizer='{"tokens": "ü"}', size=9, maximum_length=12, language="de")
SPEC = DataSpec("dates", {"source": TEXT, "target": TEXT}, test_hash="0" * 64, vocabulary_hash="1" * 64)
CONFIG = {"name": "run", "model": {"_target_": "zoo.x", "sizes": [1, 2], "dropout": 0.1, "none": None}}


def _checkpoint(**changes: Any) -> dict[str, Any]:
    metrics = {
        "val/bleu": torch.tensor(31.5),
        "val/tf_loss": torch.tensor(2.0),
        "train/loss": torch.tensor(1.0),
    }
    return {
        "global_step": 120,
        "state_dict": {"weight": torch.arange(4.0)},
        "optimizer_states": [{"moment": torch.zeros(1000)}],
        "lr_schedulers": [{}],
        "loops": {},
        "callbacks": {
            "ModelCheckpoint{'monitor': None}": {"monitor": None},
            "ModelCheckpoint{'monitor': 'val/bleu'}": {"monitor": "val/bleu"},
        },
        "zoo": contents(CONFIG, SPEC, metrics),
        **changes,
    }


def _save(path: Path, **changes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(_checkpoint(**changes), path)
    return path


def test_a_run_folder_means_its_best_checkpoint(tmp_path: Path) -> None:
    path = _save(tmp_path / "run" / "checkpoints" / "best.ckpt")
    _save(tmp_path / "run" / "checkpoints" / "last.ckpt", global_step=999)
    read = read_checkpoint(tmp_path / "run")
    assert read.path == path
    assert read.config == CONFIG
    assert read.spec == SPEC
    assert read.step == 120
    assert torch.equal(read.state_dict["weight"], torch.arange(4.0))
    assert read.metrics == {"val/bleu": 31.5, "val/tf_loss": 2.0}
    assert read.metric == ("val/bleu", 31.5)
    assert str(read) == f"{path} (step 120, val/bleu 31.5)"


def test_a_file_is_read_as_it_is_named(tmp_path: Path) -> None:
    last = _save(tmp_path / "checkpoints" / "last.ckpt", global_step=999)
    assert read_checkpoint(last).step == 999


def test_other_weights_are_never_taken_silently(tmp_path: Path) -> None:
    _save(tmp_path / "run" / "checkpoints" / "last.ckpt")
    with pytest.raises(CheckpointError, match=r"no checkpoints/best\.ckpt; it has checkpoints/last\.ckpt"):
        find_checkpoint(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="it has none at all"):
        find_checkpoint(tmp_path / "empty")


def test_a_mistyped_path_gets_the_nearest_match(tmp_path: Path) -> None:
    _save(tmp_path / "dates_bahdanau" / "checkpoints" / "best.ckpt")
    for wrong in ("dates_bahdanua", "dates_bahdanua/checkpoints/best.ckpt"):
        with pytest.raises(CheckpointError, match=r"does not exist; did you mean .*dates_bahdanau"):
            read_checkpoint(tmp_path / wrong)
    with pytest.raises(CheckpointError, match=r"does not exist; did you mean .*best\.ckpt"):
        read_checkpoint(tmp_path / "dates_bahdanau" / "checkpoints" / "bst.ckpt")


class _Hostile:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize("place", ["state_dict", "zoo", "callbacks"])
def test_a_hostile_checkpoint_runs_nothing(tmp_path: Path, place: str) -> None:
    marker = tmp_path / "marker"
    path = _save(tmp_path / "a.ckpt", **{place: {"evil": _Hostile(marker)}})
    with pytest.raises(
        CheckpointError, match=r"a\.ckpt is refused: it holds \S+\.system, and Python objects could"
    ):
        read_checkpoint(path)
    with pytest.raises(CheckpointError, match="refused"):
        strip_optimizer(path)
    assert not marker.exists()


@pytest.mark.hostile("checkpoint")
def test_a_hostile_pickle_without_an_archive_runs_nothing(tmp_path: Path) -> None:
    path, marker = tmp_path / "a.ckpt", tmp_path / "marker"
    path.write_bytes(pickle.dumps(_Hostile(marker)))
    with pytest.raises(CheckpointError, match=r"a\.ckpt is "):
        read_checkpoint(path)
    assert not marker.exists()


def _without_special_tokens() -> dict[str, Any]:
    """A key that has a default: silently another one would be worse than an error."""
    spec = SPEC.to_dict()
    del spec["fields"]["target"]["special"]
    return spec


def _zip_of_text(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"this is no checkpoint\n" * 100),
        lambda path: path.write_bytes(path.read_bytes()[:1]),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        _zip_of_text,
    ],
    ids=["empty", "text", "one byte", "half", "one byte short", "another archive"],
)
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, damage: Any) -> None:
    path = _save(tmp_path / "a.ckpt")
    damage(path)
    with pytest.raises(CheckpointError, match=r"a\.ckpt is not a readable checkpoint: .") as raised:
        read_checkpoint(path)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize("record", ["data.pkl", "data/0"])
def test_a_flipped_bit_is_noticed(tmp_path: Path, record: str) -> None:
    path = _save(tmp_path / "a.ckpt")
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(record))
        content = bytearray(path.read_bytes())
        place = content.index(archive.read(name))
    content[place + 2] ^= 1
    path.write_bytes(content)
    message = rf"a\.ckpt is damaged: the checksum of \S*{record} is wrong"
    for read in (read_checkpoint, strip_optimizer):
        with pytest.raises(CheckpointError, match=message):
            read(path)
    assert path.read_bytes() == content


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(tmp_path: Path, value: float) -> None:
    weights = {"good": torch.ones(2), "count": torch.tensor(3), "bad": torch.tensor([1.0, value])}
    with pytest.raises(CheckpointError, match=r"a\.ckpt is damaged: weights are not finite: bad$"):
        read_checkpoint(_save(tmp_path / "a.ckpt", state_dict=weights))


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(zipfile, "ZipFile", refuse)
    with pytest.raises(CheckpointError, match=r"a\.ckpt is not a readable checkpoint: .*Permission denied"):
        read_checkpoint(_save(tmp_path / "a.ckpt"))


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zoo": {**contents(CONFIG, SPEC), "format": 7}}, "has checkpoint format 7 .* reads format 1"),
        ({"zoo": None}, "is not a checkpoint of this project"),
        ({"zoo": {"format": 1}}, "is damaged: it lacks 'spec'"),
        ({"zoo": {**contents(CONFIG, SPEC), "config": None}}, "is damaged: 'NoneType' object"),
        (
            {"zoo": {**contents(CONFIG, SPEC), "metrics": {"val/bleu": "high"}}},
            "is damaged: could not convert",
        ),
        ({"zoo": {**contents(CONFIG, SPEC), "spec": {"name": "x"}}}, "is damaged: it lacks 'source'"),
        (
            {"zoo": {**contents(CONFIG, SPEC), "spec": _without_special_tokens()}},
            "is damaged: what it says of target lacks special",
        ),
        ({"state_dict": None}, "is damaged: 'NoneType' object"),
        ({"state_dict": {"weight": "heavy"}}, "is damaged: weights are tensors"),
        ({"state_dict": {3: torch.ones(1)}}, "is damaged: weights are tensors"),
        ({"state_dict": {"w": torch.ones(1, dtype=torch.int8)}}, "is damaged: weights are tensors"),
        ({"global_step": "x"}, "is damaged: global_step must be a whole number from 0 on, got 'x'"),
        ({"global_step": -1}, "is damaged: global_step must be"),
        ({"global_step": True}, "is damaged: global_step must be"),
    ],
)
def test_checkpoints_of_another_kind(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        read_checkpoint(_save(tmp_path / "a.ckpt", **changes))
    torch.save([1, 2], tmp_path / "list.ckpt")
    with pytest.raises(CheckpointError, match="is not a checkpoint of this project"):
        read_checkpoint(tmp_path / "list.ckpt")


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    ("side", "message"),
    [
        ({"special": {**TEXT.special, "eos": 9999}}, "eos must be an id from 0 to 8, got 9999"),
        ({"special": {**TEXT.special, "pad": -1}}, "pad must be an id from 0 to 8, got -1"),
        ({"special": {**TEXT.special, "unk": True}}, "unk must be an id"),
        ({"special": {**TEXT.special, "bos": 3}}, "special tokens must have ids of their own"),
        ({"special": {"pad": 0}}, "pad and unk must be among the special tokens"),
        ({"special": [0, 1]}, "'list' object"),
        ({"maximum_length": 0}, "maximum_length must be a whole number from 1 on, got 0"),
        ({"maximum_length": 12.5}, "maximum_length must be"),
        ({"size": 0}, "size must be"),
        ({"tokenizer": None}, "tokenizer must be a text"),
        ({"language": 7}, "language must be a text"),
    ],
)
def test_ids_and_lengths_without_a_meaning_are_refused(
    tmp_path: Path, side: dict[str, Any], message: str
) -> None:
    for name in ("source", "target"):
        spec = SPEC.to_dict()
        spec["fields"][name] |= side
        with pytest.raises(CheckpointError, match=f"is damaged: {message}"):
            read_checkpoint(_save(tmp_path / "a.ckpt", zoo={**contents(CONFIG, SPEC), "spec": spec}))


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(("image", values) for values in ({"channels": 0}, {"height": -1}, {"width": 2.0}, {"kind": "x"})),
        *(("label", values) for values in ({"classes": ("a", 1)}, {"classes": 3}, {"more": 1})),
    ],
    ids=str,
)
def test_images_of_no_size_and_unnamed_classes_are_refused(
    tmp_path: Path, name: str, values: dict[str, Any]
) -> None:
    spec = replace(SPEC, fields={"image": ImageSpec(1, 28, 28), "label": LabelSpec(("a", "b"))}).to_dict()
    _save(tmp_path / "a.ckpt", zoo={**contents(CONFIG, SPEC), "spec": spec})
    assert read_checkpoint(tmp_path / "a.ckpt").spec.label().classes == ("a", "b")
    spec["fields"][name] |= values
    with pytest.raises(CheckpointError, match="is damaged"):
        read_checkpoint(_save(tmp_path / "a.ckpt", zoo={**contents(CONFIG, SPEC), "spec": spec}))


def _tensors() -> dict[str, torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some kinds are old, others new
        return {
            "sparse": torch.sparse_coo_tensor([[0]], [1.0], (10**11,)),
            "compressed": torch.eye(3).to_sparse_csr(),
            "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
            "meta": torch.empty(3, device="meta"),
            "400 GB of one number": torch.ones(1).expand(10**11),
            "complex": torch.ones(3, dtype=torch.complex64),
        }


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize("kind", _tensors())
@pytest.mark.parametrize("place", ["state_dict", "optimizer_states"])
def test_tensors_that_are_no_weights_are_refused(tmp_path: Path, kind: str, place: str) -> None:
    tensor = _tensors()[kind]
    changes = {place: {"weight": tensor} if place == "state_dict" else [{"state": [{"moment": tensor}]}]}
    with pytest.raises(CheckpointError, match=r"a\.ckpt is refused: it holds a tensor that ") as caught:
        read_checkpoint(_save(tmp_path / "a.ckpt", **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize("kind", ["deep", pytest.param("bomb", marks=pytest.mark.slow), "circle"])
def test_containers_without_an_end_are_refused(tmp_path: Path, kind: str) -> None:
    inner: list[Any] = []
    for _ in range(150 if kind == "deep" else 40):
        inner = [inner] if kind == "deep" else [inner, inner, inner]
    if kind == "circle":
        inner.append(inner)
    with pytest.raises(CheckpointError, match=r"is refused: (nested in )?more than"):
        read_checkpoint(_save(tmp_path / "a.ckpt", loops=inner))


@pytest.mark.hostile("checkpoint")
def test_an_archive_that_unpacks_to_more_than_its_size_is_refused(tmp_path: Path) -> None:
    path = _save(tmp_path / "a.ckpt")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(2**24))
    with pytest.raises(CheckpointError, match="is damaged: its content is compressed"):
        read_checkpoint(path)


@pytest.mark.hostile("checkpoint")
def test_other_files_than_regular_ones_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.ckpt")
    (tmp_path / "link.ckpt").symlink_to(tmp_path / "a.ckpt")
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    os.mkfifo(tmp_path / "run" / "checkpoints" / "best.ckpt")
    for path in (tmp_path / "a.ckpt", tmp_path / "link.ckpt", Path("/dev/zero"), tmp_path / "run"):
        with pytest.raises(
            CheckpointError, match=r"is a (named pipe|device), where a regular file is needed"
        ):
            read_checkpoint(path)


def test_without_a_monitor_no_metric_is_claimed(tmp_path: Path) -> None:
    read = read_checkpoint(_save(tmp_path / "a.ckpt", callbacks={}))
    assert read.metric is None
    assert str(read).endswith("(step 120)")


def test_stripping_leaves_the_optimiser_out_and_the_rest_alone(tmp_path: Path) -> None:
    path = _save(tmp_path / "a.ckpt")
    before, size = read_checkpoint(path), path.stat().st_size
    strip_optimizer(path)
    after = read_checkpoint(path)
    assert torch.equal(before.state_dict["weight"], after.state_dict["weight"])
    assert replace(before, state_dict={}) == replace(after, state_dict={})
    assert "optimizer_states" not in torch.load(path, weights_only=True)
    assert path.stat().st_size < size - 3000


@pytest.mark.hostile("checkpoint")
def test_another_vocabulary_is_refused() -> None:
    require_vocabulary(SPEC, replace(SPEC, name="other name, same words"))
    with pytest.raises(
        CheckpointError, match=r"another vocabulary \(dates, 1111.*than the data has \(new, 2222"
    ):
        require_vocabulary(replace(SPEC, name="new", vocabulary_hash="2" * 64), SPEC)
