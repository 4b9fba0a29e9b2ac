"""What a frozen encoder sees, made once."""

from pathlib import Path

import numpy as np
import pytest
import torch
from caption_files_by_hand import draw
from torch import Tensor, nn

from data.captions.caption_set import image_spec
from data.captions.feature_store import stored_features
from data.captions.picture_files import PictureFiles, file_digests
from data.core.mapped_rows import MappedRows
from zoo.core.image import as_float, read_image


class Convolution(nn.Module):
    """A frozen encoder."""

    feature_size = 4

    def __init__(self, name: str = "convolution", seed: int = 0) -> None:
        super().__init__()
        self.name, self.calls, self.loaded, self._seed = name, 0, False, seed
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.rand(4, 3, 5, 5, generator=generator))
        self.drop = nn.Dropout()

    def identify(self) -> None:
        self.name = f"{self.name}-{self._seed}"

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        return height // 5, width // 5

    def load_published(self) -> None:
        self.loaded = True

    def forward(self, images: Tensor) -> Tensor:
        assert self.loaded
        self.calls += 1
        return self.drop(nn.functional.conv2d(images, self.weight, stride=5))


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [draw(tmp_path / "photos" / f"{number}.png", number) for number in range(70)]


def stored(paths: list[Path], encoder: Convolution, cache: Path, size: int = 20) -> MappedRows:
    digests = [str(digest) for digest in file_digests(paths, cache / "digests.json")]
    return stored_features(PictureFiles(paths, digests, image_spec(size)), encoder, cache, "photos")


def test_features_are_those_of_the_encoder_in_eval_mode(paths: list[Path], tmp_path: Path) -> None:
    encoder = Convolution()
    made = stored(paths, encoder, tmp_path)
    rows = np.array([69, 0, 33])
    images = torch.stack([as_float(read_image(paths[row], image_spec(20))) for row in rows])
    with torch.no_grad():
        expected = encoder.eval()(images)
    assert made[rows].dtype == np.float16
    assert made[rows].shape == (3, 4, 4, 4)
    torch.testing.assert_close(torch.from_numpy(made[rows]).float(), expected, atol=2e-2, rtol=1e-3)


def test_what_features_depend_on_makes_other_stores(paths: list[Path], tmp_path: Path) -> None:
    stored(paths, Convolution(), tmp_path)
    same = Convolution()
    stored(paths, same, tmp_path)
    assert not same.loaded, "neither its weights are needed"
    assert not same.calls, "nor what it sees"
    for encoder, size in ((Convolution(seed=1), 20), (Convolution("other"), 20), (Convolution(), 25)):
        stored(paths, encoder, tmp_path, size)
        assert encoder.calls
    draw(paths[5], 999)
    changed = Convolution()
    stored(paths, changed, tmp_path)
    assert changed.calls
    moved = [path.rename(tmp_path / f"moved {path.name}") for path in paths]
    again = Convolution()
    stored(moved, again, tmp_path)
    assert not again.calls, "where pictures lie does not matter"


def test_broken_pictures_are_remembered(paths: list[Path], tmp_path: Path) -> None:
    paths[40].write_text("no picture")
    made = stored(paths, Convolution(), tmp_path)
    assert made.broken == {40: "is no picture, or of a format that is not known"}


class Large(Convolution):
    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images) * (1 + 1e7 * images.amax())


class Unpublished(Convolution):
    def load_published(self) -> None:
        raise FileNotFoundError("weights.pth is nowhere")


def test_missing_weights_are_not_taken_for_a_folder_that_cannot_be_written(
    paths: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match=r"^weights\.pth is nowhere$"):
        stored(paths, Unpublished(), tmp_path)
    stored(paths, Convolution(), tmp_path)
    stored(paths, Unpublished(), tmp_path)  # which asks for none


class Wide(Convolution):
    feature_size = 5


def test_senseless_encoders(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="convolution-0 gives numbers that half precision cannot hold"):
        stored(paths, Large(), tmp_path)
    with pytest.raises(ValueError, match=r"convolution-0 must give grids \(5, 4, 4\), gave \(4, 4, 4\)"):
        stored(paths, Wide(), tmp_path)


def test_files_are_hashed_once(paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = tmp_path / "cache" / "digests.json"
    first = file_digests([*paths, tmp_path / "nowhere.png"], memory)
    assert first[-1] is None
    assert len(set(first)) == 71
    draw(paths[3], 999)
    with monkeypatch.context() as counted:
        hashed: list[str] = []
        digest = "data.captions.picture_files._digest"
        counted.setattr(digest, lambda path: hashed.append(path) or "new")
        second = file_digests(paths, memory)
    assert hashed == [str(paths[3])]
    assert second == [*first[:3], "new", *first[4:-1]]
    memory.write_text("{")
    assert file_digests(paths[:3], memory) == first[:3]
