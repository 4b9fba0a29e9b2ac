"""The baselines of RAM: networks that see whole images (Mnih et al. 2014, Tables 1 and 2)."""

from torch import Tensor, nn

from zoo.core.spec import DataSpec
from zoo.kernels import Linear
from zoo.networks.checks import check_sizes
from zoo.networks.ram import Recognised
from zoo.runtime.compiling import compilable


class WholeImage(nn.Module):
    """Classifies an image from all its pixels at once."""

    layers: nn.Sequential

    @compilable
    def recognise(self, images: Tensor, *, episodes: int = 1, sample: bool = False) -> Recognised:
        """The logits `(B, 1, K)` of images `(B, C, H, W)`; without sampling there is one episode."""
        return Recognised(self.layers(images).unsqueeze(1))


class FullyConnected(WholeImage):
    """Two hidden layers of rectified units.

    Args:
        spec: the images and their classes.
        hidden_size: units of each layer; 64 or 256 in the paper.

    Raises:
        ValueError: if the size is below 1, or the data has no images.
    """

    def __init__(self, *, spec: DataSpec, hidden_size: int) -> None:
        super().__init__()
        check_sizes(hidden_size=hidden_size)
        image = spec.image()
        self.layers = nn.Sequential(
            nn.Flatten(),
            Linear(image.channels * image.height * image.width, hidden_size),
            nn.ReLU(),
            Linear(hidden_size, hidden_size),
            nn.ReLU(),
            Linear(hidden_size, len(spec.label().classes)),
        )


class Convolutional(WholeImage):
    """A layer of filters and a fully connected one, both rectified: 8 of 10 x 10 with stride 5, and 256.

    Args:
        spec: the images and their classes.
        filters: number of filters.
        filter_size: pixels along each side of a filter.
        stride: of the filters, in pixels.
        hidden_size: units of the fully connected layer.

    Raises:
        ValueError: if a size is below 1, a filter does not fit into the image, or the data has no images.
    """

    def __init__(
        self, *, spec: DataSpec, filters: int, filter_size: int, stride: int, hidden_size: int
    ) -> None:
        super().__init__()
        image = spec.image()
        check_sizes(filters=filters, filter_size=filter_size, stride=stride, hidden_size=hidden_size)
        if filter_size > min(image.height, image.width):
            raise ValueError(
                f"filter_size must fit into the image of {image.height} x {image.width}, got {filter_size}"
            )
        rows, columns = ((side - filter_size) // stride + 1 for side in (image.height, image.width))
        self.layers = nn.Sequential(
            nn.Conv2d(image.channels, filters, filter_size, stride),
            nn.ReLU(),
            nn.Flatten(),
            Linear(filters * rows * columns, hidden_size),
            nn.ReLU(),
            Linear(hidden_size, len(spec.label().classes)),
        )
