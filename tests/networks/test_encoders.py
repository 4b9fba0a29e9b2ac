"""Encoders of images: their grids, where their weights come from, and when they learn."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import pytest
import torch
from torch import nn
from torchvision.models.vgg import cfgs

from zoo.networks.encoders import Compact, PublishedEncoder, Residual, ResNet, Vgg19

FILE = "vgg19-dcbb9e9d.pth"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """VGG with few filters."""
    monkeypatch.setitem(cfgs, "E", [4, "M", 4, "M", 4, "M"])


@pytest.fixture
def published(small: None, tmp_path: Path) -> Path:
    """A folder with a file of random weights in the layout of the published one."""
    torch.manual_seed(0)
    shapes = Vgg19(weights_dir=tmp_path).body.state_dict()
    weights = {key: torch.randn_like(value) for key, value in shapes.items()}
    torch.save(weights | {"classifier.0.weight": torch.zeros(2, 2)}, tmp_path / FILE)
    return tmp_path


def loaded(folder: Path, fine_tune_from_epoch: int | None = None) -> Vgg19:
    encoder = Vgg19(weights_dir=folder, fine_tune_from_epoch=fine_tune_from_epoch)
    encoder.load_published()
    return encoder


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (Vgg19, (512, 14, 14)),
        (lambda **given: ResNet(depth=50, **given), (2048, 7, 7)),
        (lambda **given: ResNet(depth=101, **given), (2048, 7, 7)),
    ],
    ids=["vgg19", "resnet50", "resnet101"],
)
def test_grids_of_published_encoders(make: Callable[..., PublishedEncoder], shape: tuple[int, ...]) -> None:
    """Of images of 224 x 224 pixels, as in section 4.3 of the paper."""
    with torch.device("meta"):
        encoder = make(weights_dir="nowhere")
        encoder.has_weights = True
        assert encoder(torch.zeros(2, 3, 224, 224)).shape == (2, *shape)
        assert encoder(torch.zeros(2, 3, 97, 159)).shape[2:] == encoder.grid_size(97, 159)
    assert encoder.feature_size == shape[0]


def test_images_are_normalised_as_those_of_imagenet(published: Path) -> None:
    encoder, images = loaded(published), torch.rand(2, 3, 8, 12)
    weights = torch.load(published / FILE, weights_only=True)
    grid = (images - torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)) / torch.tensor(
        [0.229, 0.224, 0.225]
    ).view(3, 1, 1)
    for number in (0, 3, 6):
        grid = nn.functional.conv2d(
            grid, weights[f"features.{number}.weight"], weights[f"features.{number}.bias"], padding=1
        ).relu()
        if number < 6:
            grid = nn.functional.max_pool2d(grid, 2)
    torch.testing.assert_close(encoder(images), grid)
    assert encoder(images).shape == (2, 4, 2, 3), "any size of image; the last pooling is left out"


def test_a_frozen_encoder_stays_as_it_was_published(published: Path) -> None:
    encoder = loaded(published)
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    whole = nn.Sequential(encoder, nn.Conv2d(4, 1, 1)).train()
    assert not any(part.training for part in encoder.modules())
    whole(torch.rand(2, 3, 8, 8)).sum().backward()
    assert encoder.frozen
    assert all(weight.grad is None and not weight.requires_grad for weight in encoder.parameters())
    assert not encoder(torch.rand(1, 3, 8, 8)).requires_grad
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())


def test_batch_statistics_stay_too(tmp_path: Path) -> None:
    encoder = ResNet(depth=50, weights_dir=tmp_path, fine_tune_from_epoch=0)
    encoder.has_weights = True
    encoder.begin_epoch(0)
    norm = encoder.train().body.bn1
    before = norm.running_mean.clone()  # type: ignore[union-attr, operator]
    encoder.body = nn.Sequential(encoder.body.conv1, norm)
    encoder(torch.rand(2, 3, 8, 8))
    assert torch.equal(norm.running_mean, before)  # type: ignore[arg-type]


def test_it_learns_from_the_epoch_that_was_asked_for(published: Path) -> None:
    encoder, images = loaded(published, fine_tune_from_epoch=2), torch.rand(1, 3, 8, 8)
    frozen = []
    for epoch in (0, 1, 2, 3):
        encoder.begin_epoch(epoch)
        frozen.append((encoder.frozen, not encoder(images).requires_grad))
    assert frozen == [(True, True), (True, True), (False, False), (False, False)]
    assert all(weight.requires_grad for weight in encoder.parameters()), (
        "known to the optimiser from the start"
    )
    assert not any(part.training for part in encoder.train().modules())
    with torch.no_grad():
        assert not encoder(images).requires_grad


def test_a_checkpoint_brings_the_weights(published: Path, tmp_path: Path) -> None:
    first, second = loaded(published), Vgg19(weights_dir=tmp_path / "nowhere")
    nn.Sequential(second).load_state_dict(nn.Sequential(first).state_dict())
    images = torch.rand(1, 3, 8, 8)
    assert torch.equal(first(images), second(images))
    second.load_published()  # there is nothing left to read


def test_without_weights_it_says_so(small: None, tmp_path: Path) -> None:
    encoder = Vgg19(weights_dir=tmp_path)
    encoder.identify()
    assert encoder.name == FILE.removesuffix(".pth"), "those that would be downloaded"
    with pytest.raises(RuntimeError, match="Vgg19 has no weights yet: call load_published first"):
        encoder(torch.rand(1, 3, 8, 8))


def test_missing_weights_are_downloaded_into_the_folder(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def download(url: str, place: str, hash_prefix: str, progress: bool) -> None:
        asked.append((url, hash_prefix))
        Path(place).write_bytes((published / FILE).read_bytes())

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    for _ in range(2):
        loaded(tmp_path / "new" / "folder")
    assert asked == [(f"https://download.pytorch.org/models/{FILE}", "dcbb9e9d")]


@pytest.mark.parametrize("error", [URLError("no route to host"), RuntimeError("invalid hash value")])
def test_what_cannot_be_downloaded_is_named(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def download(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    with pytest.raises(FileNotFoundError) as caught:
        loaded(tmp_path)
    assert str(caught.value) == (
        f"{FILE} (548 MB), the published weights of Vgg19, is neither at {tmp_path / FILE} nor could it be "
        f"downloaded from https://download.pytorch.org/models/{FILE}: {error}. Get it from there by other "
        f"means and put it at {tmp_path / FILE}"
    )


@pytest.mark.parametrize("content", [b"", b"no weights", b"\x80\x02K\x05.", b"\x80\x02h\x4b.", None])
def test_a_file_that_is_something_else_is_refused(small: None, tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        torch.save({"features.0.weight": torch.zeros(4, 3, 3, 3)}, tmp_path / FILE)
    else:
        (tmp_path / FILE).write_bytes(content)
    with pytest.raises(ValueError, match=f"{FILE} does not hold the weights of Vgg19 as published at https"):
        loaded(tmp_path)


def test_other_weights_have_a_name_of_their_own(published: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = hashlib.sha256((published / FILE).read_bytes()).hexdigest()[:8]
    assert loaded(published).name == f"vgg19-{own}"
    unread = Vgg19(weights_dir=published)
    unread.identify()
    assert (unread.name, unread.has_weights) == (f"vgg19-{own}", False)
    said = f"holds other weights than those published at https://download.pytorch.org/models/{FILE}"
    assert caplog.text.count(said) == 1, "once for all encoders"
    caplog.clear()
    encoder = Vgg19(weights_dir=published)
    encoder.file = (published / FILE).rename(published / f"vgg19-{own}.pth")
    encoder.load_published()
    assert not caplog.text, "as if it had been published with this hash"


def test_the_compact_encoder_halves_the_sides_and_learns_everywhere() -> None:
    torch.manual_seed(0)
    encoder = Compact(channels=1, widths=[8, 16], feature_size=24, blocks=2).train()
    grid = encoder(torch.rand(2, 1, 40, 24))
    assert grid.shape == (2, 24, 5, 3)
    assert encoder(torch.rand(1, 1, 33, 50)).shape[2:] == encoder.grid_size(33, 50)
    assert not encoder.frozen
    optimizer = torch.optim.SGD(encoder.parameters(), lr=1e-3)
    for _ in range(2):  # residual blocks begin as nothing: at the first step only their last layers learn
        optimizer.zero_grad()
        encoder(torch.rand(2, 1, 40, 24)).square().sum().backward()
        optimizer.step()
    assert all(weight.grad is not None and weight.grad.any() for weight in encoder.parameters())


def test_a_residual_block_starts_without_its_layers() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 8, 5, 5)
    assert torch.equal(Residual(width=8, groups=4)(x), x.relu())


def test_the_compact_encoder_sees_each_image_by_itself() -> None:
    torch.manual_seed(0)
    encoder, images = Compact(widths=[8], feature_size=8).double().train(), torch.rand(3, 3, 16, 16).double()
    torch.testing.assert_close(encoder(images)[1:2], encoder(images[1:2]))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: Compact(widths=[12], feature_size=8), "widths must be divisible by groups=8, got 12"),
        (lambda: Compact(widths=[8], feature_size=0), "feature_size must be divisible by groups=8, got 0"),
        (lambda: Compact(feature_size=8, blocks=0), "blocks must be at least 1, got 0"),
        (lambda: ResNet(depth=18, weights_dir="x"), "depth must be 50 or 101, got 18"),
        (lambda: Vgg19(weights_dir="x", fine_tune_from_epoch=-1), "fine_tune_from_epoch must be at least 0"),
        (lambda: Vgg19(weights_dir="x", channels=1), "images of 3 channels, given channels=1"),
    ],
)
def test_bad_arguments_are_refused(small: None, build: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        build()
