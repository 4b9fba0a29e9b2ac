"""Encoders of images as grids of annotation vectors (Xu et al. 2015, section 3.1.1).

Images are `(B, C, H, W)` in [0, 1]; each encoder normalises them itself. Grids are `(B, D, h, w)`.
"""

import hashlib
import http.client
import logging
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torchvision.models import ResNet50_Weights, ResNet101_Weights, VGG19_Weights, resnet50, resnet101
from torchvision.models._api import WeightsEnum
from torchvision.models.vgg import cfgs, make_layers

from zoo.networks.checks import check_sizes
from zoo.runtime.compiling import compilable

_log = logging.getLogger(__name__)


class ImageEncoder(nn.Module, ABC):
    """Turns images into grids.

    Attributes:
        name: after `identify` different for encoders with other weights; features are stored under it.
        feature_size: D.
        frozen: whether it does not learn at present.
    """

    name: str
    feature_size: int
    frozen: bool = False

    def identify(self) -> None:
        """Sets `name` by the published weights, without loading them."""

    def load_published(self) -> None:
        """Loads published weights, if there are any: once, before training, not with a checkpoint."""

    def begin_epoch(self, epoch: int) -> None:
        """Is called at the start of each training epoch, counted from 0."""

    @abstractmethod
    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """The height h and width w of the grids of images of this size."""

    @abstractmethod
    def forward(self, images: Tensor) -> Tensor:
        """Images `(B, C, H, W)` in [0, 1] to grids `(B, D, h, w)`."""


class Residual(nn.Module):
    """`Rect(x + f(x))`, f two layers of filters (He et al. 2016), normalised by groups (Wu & He 2018).

    It starts as `Rect(x)` (Goyal et al. 2018, section 5.1). Otherwise training stalls for thousands of steps,
    since the decoder learns to write before it attends.
    """

    def __init__(self, *, width: int, groups: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.GroupNorm(groups, width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            last := nn.GroupNorm(groups, width),
        )
        nn.init.zeros_(last.weight)

    def forward(self, x: Tensor) -> Tensor:
        """`(B, width, h, w)` to the same."""
        added: Tensor = (x + self.layers(x)).relu()
        return added


class Compact(ImageEncoder):
    """A small residual network that is trained with the decoder and needs no download.

    Each stage halves the sides, so s stages turn 64 x 64 pixels into a grid of side 64 / 2^s. Each annotation
    gets a learned linear map of its x and y in [-1, 1], since filters cannot tell places apart. Normalisation
    is by groups, not batches, so that images do not depend on each other.

    Args:
        channels: of the images.
        widths: filters of each stage but the last.
        feature_size: D, filters of the last one.
        blocks: residual blocks in each stage.
        groups: of filters for the normalisation, in each stage.

    Raises:
        ValueError: a number is below 1, or filters cannot be divided among the groups.
    """

    name = "compact"

    def __init__(
        self,
        *,
        channels: int = 3,
        widths: Sequence[int] = (32, 64),
        feature_size: int,
        blocks: int = 1,
        groups: int = 8,
    ) -> None:
        super().__init__()
        check_sizes(channels=channels, blocks=blocks, groups=groups)
        for name, sizes in (("widths", widths), ("feature_size", [feature_size])):
            if any(size < 1 or size % groups for size in sizes):
                got = ", ".join(map(str, sizes))
                raise ValueError(f"{name} must be divisible by groups={groups}, got {got}")
        self.feature_size, self.stride = feature_size, 2 ** (len(widths) + 1)
        self.place = nn.Conv2d(2, feature_size, 1)
        stages: list[nn.Module] = []
        for width in (*widths, feature_size):
            stages += [
                nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False),
                nn.GroupNorm(groups, width),
                nn.ReLU(),
                *(Residual(width=width, groups=groups) for _ in range(blocks)),
            ]
            channels = width
        self.stages = nn.Sequential(*stages)

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """See `ImageEncoder`."""
        return -(-height // self.stride), -(-width // self.stride)

    @compilable
    def forward(self, images: Tensor) -> Tensor:
        """See `ImageEncoder`."""
        grid: Tensor = self.stages(2 * images - 1)
        x, y = (torch.linspace(-1, 1, side, device=grid.device) for side in grid.shape[:-3:-1])
        places = torch.stack(torch.meshgrid(x, y, indexing="xy")).to(self.place.weight)
        placed: Tensor = grid + self.place(places.unsqueeze(0))
        return placed


class PublishedEncoder(ImageEncoder):
    """A network that was trained on ImageNet, up to its last grid.

    It always stays in evaluation mode, with the published batch statistics. `load_published` loads its
    weights; a checkpoint holds them too.

    Args:
        body: the layers up to the grid, with the names of the published file.
        weights: the published file and its address.
        feature_size: D.
        channels: of the images.
        weights_dir: the folder of the file, also for the download.
        fine_tune_from_epoch: the epoch, counted from 0, from which on it learns; None: never.

    Raises:
        ValueError: images are not in colour, or the epoch is negative.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        *,
        body: nn.Module,
        weights: WeightsEnum,
        feature_size: int,
        channels: int,
        weights_dir: str | Path,
        fine_tune_from_epoch: int | None,
    ) -> None:
        super().__init__()
        if channels != 3:
            raise ValueError(
                f"{type(self).__name__} was trained on images of 3 channels, given channels={channels}"
            )
        if fine_tune_from_epoch is not None and fine_tune_from_epoch < 0:
            raise ValueError(f"fine_tune_from_epoch must be at least 0, got {fine_tune_from_epoch}")
        self.file = Path(weights_dir).expanduser() / weights.url.rpartition("/")[2]
        self.name, self.feature_size, self.weights = self.file.stem, feature_size, weights
        self.frozen, self.fine_tune_from_epoch = True, fine_tune_from_epoch
        # Parameters that learn later are in the optimiser from the start; it skips those without a gradient.
        self.body = body.requires_grad_(fine_tune_from_epoch is not None)
        for name, values in (("mean", (0.485, 0.456, 0.406)), ("std", (0.229, 0.224, 0.225))):
            self.register_buffer(name, torch.tensor(values)[:, None, None], persistent=False)
        self.has_weights = False
        self.register_load_state_dict_post_hook(_has_weights)
        self.train(False)

    def train(self, mode: bool = True) -> Self:
        """Stays in evaluation mode."""
        return super().train(False)

    def identify(self) -> None:
        """See `ImageEncoder`: a file with other weights than the published ones gets another name."""
        if not self.has_weights and self.file.exists():
            self.name = _name_by_content(self.file, self.file.stat().st_mtime_ns, self.weights.url)

    def load_published(self) -> None:
        """Loads the published weights, after a download where they are missing.

        Raises:
            FileNotFoundError: the file is missing and cannot be downloaded.
            ValueError: the file holds something else.
        """
        if self.has_weights:
            return
        if not self.file.exists():
            self._download()
        try:
            found = torch.load(self.file, map_location="cpu", weights_only=True)
            wanted = self.body.state_dict().keys()  # the file also holds the layers behind the grid
            self.body.load_state_dict({key: found[key] for key in found.keys() & wanted})
        except Exception as error:  # from torch's reader of a damaged file
            raise ValueError(
                f"{self.file} does not hold the weights of {type(self).__name__} as published at "
                f"{self.weights.url}; without the file they are downloaded"
            ) from error
        self.identify()
        self.has_weights = True

    def begin_epoch(self, epoch: int) -> None:
        """See `ImageEncoder`."""
        self.frozen = self.fine_tune_from_epoch is None or epoch < self.fine_tune_from_epoch

    @compilable
    def forward(self, images: Tensor) -> Tensor:
        """See `ImageEncoder`.

        Raises:
            RuntimeError: no weights were loaded.
        """
        if not self.has_weights:
            raise RuntimeError(f"{type(self).__name__} has no weights yet: call load_published first")
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            grid: Tensor = self.body((images - self.mean) / self.std)
        return grid

    def _download(self) -> None:
        url = self.weights.url
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            expected = self.file.stem.rpartition("-")[2]
            torch.hub.download_url_to_file(url, str(self.file), hash_prefix=expected, progress=False)
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            raise FileNotFoundError(
                f"{self.file.name} ({self.weights.meta['_file_size']:,.0f} MB), the published weights of "
                f"{type(self).__name__}, is neither at {self.file} nor could it be downloaded from {url}: "
                f"{error}. Get it from there by other means and put it at {self.file}"
            ) from error


@cache  # a run has two encoders: that of the network, and that which stores features
def _name_by_content(file: Path, modified: int, url: str) -> str:
    """The file's name with the beginning of its sha256, as in published names.

    Args:
        file: of weights.
        modified: its time, part of the cache's key.
        url: of the published weights.
    """
    model, _, published = file.stem.rpartition("-")
    with file.open("rb") as content:
        own = hashlib.file_digest(content, "sha256").hexdigest()[: len(published)]
    name = f"{model}-{own}"
    if own != published:
        message = "%s holds other weights than those published at %s; features and results call them %s"
        _log.warning(message, file, url, name)
    return name


class Vgg19(PublishedEncoder):
    """VGG of 19 layers up to `conv5_4` (Simonyan & Zisserman 2015): of 224 x 224 pixels 14 x 14 x 512.

    The features before the last pooling, as in Xu et al. 2015, section 4.3.

    Args:
        channels: see `PublishedEncoder`, as for all that follow.
        weights_dir: see there.
        fine_tune_from_epoch: see there.
    """

    def __init__(
        self, *, channels: int = 3, weights_dir: str | Path, fine_tune_from_epoch: int | None = None
    ) -> None:
        # Without the layers behind the grid, which have five sixths of the parameters.
        layers = make_layers(cfgs["E"], batch_norm=False)[:-1]
        super().__init__(
            body=nn.Sequential(OrderedDict(features=layers)),
            weights=VGG19_Weights.IMAGENET1K_V1,
            feature_size=512,
            channels=channels,
            weights_dir=weights_dir,
            fine_tune_from_epoch=fine_tune_from_epoch,
        )

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """See `ImageEncoder`; each of four poolings drops a last odd row or column."""
        return height // 16, width // 16


class ResNet(PublishedEncoder):
    """A residual network (He et al. 2016) up to its last grid: of 224 x 224 pixels 7 x 7 x 2048.

    Args:
        depth: 50 or 101 layers.
        channels: see `PublishedEncoder`, as for all that follow.
        weights_dir: see there.
        fine_tune_from_epoch: see there.

    Raises:
        ValueError: another depth.
    """

    def __init__(
        self,
        *,
        depth: int,
        channels: int = 3,
        weights_dir: str | Path,
        fine_tune_from_epoch: int | None = None,
    ) -> None:
        if depth not in _RESNETS:
            raise ValueError(f"depth must be {' or '.join(map(str, _RESNETS))}, got {depth}")
        build, weights = _RESNETS[depth]
        layers = ((name, layer) for name, layer in build().named_children() if name not in ("avgpool", "fc"))
        super().__init__(
            body=nn.Sequential(OrderedDict(layers)),
            weights=weights,
            feature_size=2048,
            channels=channels,
            weights_dir=weights_dir,
            fine_tune_from_epoch=fine_tune_from_epoch,
        )

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """See `ImageEncoder`."""
        return -(-height // 32), -(-width // 32)


_RESNETS: dict[int, tuple[Any, WeightsEnum]] = {
    50: (resnet50, ResNet50_Weights.IMAGENET1K_V1),
    101: (resnet101, ResNet101_Weights.IMAGENET1K_V1),
}


def _has_weights(encoder: nn.Module, _: object) -> None:
    encoder.has_weights = True  # type: ignore[assignment]
