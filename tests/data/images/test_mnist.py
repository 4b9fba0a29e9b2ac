"""MNIST and Fashion-MNIST: their layout, their download, the real files."""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

import data.images.mnist
from data.core.download import PublishedFile
from data.images.images import ImageData
from data.images.mnist import MNIST, FashionMNIST, IdxImages

IMAGES = "train-images-idx3-ubyte.gz"
SETS = pytest.mark.parametrize("kind", [MNIST, FashionMNIST])


def packed(content: bytes) -> bytes:
    """The same archive whenever it is made, since archives are in names of tests."""
    return gzip.compress(content, mtime=0)


def idx(values: np.ndarray) -> bytes:
    """An idx file of bytes."""
    shape = np.array(values.shape, dtype=">u4").tobytes()
    return bytes((0, 0, 8, values.ndim)) + shape + values.astype(np.uint8).tobytes()


def contents(train: int = 8, test: int = 3) -> dict[str, bytes]:
    generator = np.random.default_rng(0)
    made = {}
    for part, count in (("train", train), ("t10k", test)):
        made[f"{part}-images-idx3-ubyte"] = idx(generator.integers(0, 256, (count, 28, 28)))
        made[f"{part}-labels-idx1-ubyte"] = idx(generator.integers(0, 10, count))
    return made


def place(folder: Path, kind: type[IdxImages], *, packed: bool = True) -> Path:
    raw = folder / kind.folder / "raw"
    raw.mkdir(parents=True)
    for name, content in contents().items():
        (raw / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)
    return raw


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two images for validation; no net."""
    monkeypatch.setattr(data.images.mnist, "VALIDATION", 2)

    def no_net(file: PublishedFile, place: Path) -> None:
        raise FileNotFoundError(f"{place} from {file.urls}")

    monkeypatch.setattr(data.images.mnist, "download", no_net)


@SETS
@pytest.mark.parametrize("packed", [True, False])
def test_files_in_place_are_used(tmp_path: Path, kind: type[IdxImages], packed: bool) -> None:
    place(tmp_path, kind, packed=packed)
    loaded = kind(data_dir=str(tmp_path)).load()
    splits = loaded.splits
    assert {name: len(split) for name, split in splits.items()} == {"train": 6, "val": 2, "test": 3}
    written = contents()
    pixels = np.frombuffer(written["train-images-idx3-ubyte"][16:], np.uint8).reshape(8, 1, 28, 28)
    assert (np.concatenate([splits["train"].images, splits["val"].images]) == pixels).all()
    assert splits["val"].labels.tolist() == list(written["train-labels-idx1-ubyte"][-2:])
    assert splits["test"].labels.tolist() == list(written["t10k-labels-idx1-ubyte"][-3:])
    assert splits["test"].names.tolist() == ["test 0", "test 1", "test 2"]
    assert len(loaded.classes) == 10


@SETS
def test_missing_files_are_downloaded(
    tmp_path: Path, kind: type[IdxImages], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def download(file: PublishedFile, place: Path) -> None:
        assert all(url.endswith(f"/{place.name}") for url in file.urls)
        asked.append(place.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(gzip.compress(contents()[place.stem]))

    monkeypatch.setattr(data.images.mnist, "download", download)
    for _ in range(2):
        assert len(kind(data_dir=tmp_path).load().splits["train"]) == 6
    assert sorted(asked) == sorted(f"{name}.gz" for name in contents())


def test_what_can_be_neither_found_nor_downloaded_is_named(tmp_path: Path) -> None:
    raw = place(tmp_path, MNIST)
    (raw / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"MNIST/raw/t10k-labels-idx1-ubyte\.gz from"):
        MNIST(data_dir=tmp_path).load()


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (IMAGES, b"no archive", "cannot read"),
        (IMAGES, packed(b"x" * 999)[:-20], "cannot read"),
        (IMAGES, packed(b"text"), "is no idx file of bytes in 3 dimensions"),
        (IMAGES, packed(idx(np.zeros(8))), "is no idx file of bytes in 3 dimensions"),
        (IMAGES, packed(idx(np.zeros((8, 28, 28)))[:-1]), "is damaged: 6271 "),
        (IMAGES, packed(idx(np.zeros((8, 28, 28))) + bytes(2**24)), "is damaged: more than 6272 bytes"),
        (
            IMAGES,
            packed(bytes((0, 0, 8, 3)) + b"\xff" * 12),
            "it claims 79,228,162,458,924,105,385,300,197,375 ",
        ),
        (IMAGES, packed(idx(np.zeros((8, 9, 28)))), "28 x 28 pixels, not 9 x 28"),
        (IMAGES, packed(idx(np.zeros((9, 28, 28)))), "has 9 images, but .* has 8 labels"),
        ("t10k-labels-idx1-ubyte.gz", packed(idx(np.full(3, 10))), "must be 0 to 9, got 10"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (place(tmp_path, MNIST) / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}.*{message}|{message}.*{name}"):
        MNIST(data_dir=tmp_path).load()


def test_too_few_images_to_validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, MNIST)
    monkeypatch.setattr(data.images.mnist, "VALIDATION", 8)
    with pytest.raises(ValueError, match="has 8 training images, the last 8 being for validation"):
        MNIST(data_dir=tmp_path).load()


@pytest.mark.real_data
def test_the_published_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    images = MNIST(data_dir=os.environ["ZOO_DATA_DIR"])
    for name, file in images.published.items():
        content = (Path(images.data_dir) / "MNIST" / "raw" / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size, file.sha256)
    module = ImageData(images=images, canvas=None, batch_size=128, seed=1)
    module.setup()
    assert module.report == {
        "train": {"images": 55_000},
        "val": {"images": 5_000},
        "test": {"images": 10_000},
    }
    assert module.baselines["test"]["majority_error"] == pytest.approx(0.8865)
