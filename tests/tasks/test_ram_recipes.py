"""Recipes of the recurrent attention model whose data is too large for a test, on images of noise."""

from collections.abc import Callable

import numpy as np
import torch

from data.core.batching import Part
from data.images.image_set import ImageSet, LabelledImages, Split, numbered
from data.images.images import ImageData
from zoo.config.check import check
from zoo.config.instantiate import instantiate
from zoo.runs.frozen import Config


class _Digits(ImageSet):
    """Four images of noise for each class, as large as MNIST's."""

    name, size = "noise", (28, 28)

    def load(self) -> LabelledImages:
        images = np.random.default_rng(0).integers(0, 256, (40, 1, 28, 28), dtype=np.uint8)
        split = Split(images, np.arange(40) % 10, numbered("train", 40))
        return LabelledImages(tuple("0123456789"), dict.fromkeys(("train", "val", "test"), split))


def test_a_step_on_a_hundred_pixels(configure: Callable[..., Config]) -> None:
    """Table 2b: 100 x 100 pixels with 8 pieces of 8 x 8, 8 glimpses of 12 x 12 at four scales."""
    config = configure("experiment=ram_cluttered100_8", "trainer=cpu")
    check(config)
    canvas = instantiate(config["data"]["canvas"], "data.canvas")
    assert (canvas.size, canvas.pieces, canvas.piece_size) == (100, 8, 8)
    data = ImageData(images=_Digits(), canvas=canvas, batch_size=4, seed=1)
    data.setup()
    torch.manual_seed(0)
    network = instantiate(config["model"], "model")(spec=data.spec)
    task = instantiate(config["task"], "task")(network=network, spec=data.spec)
    optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
    before = [weight.clone() for weight in task.parameters()]
    batch = data._splits["train"][Part(0, np.arange(4))]
    assert batch.images.shape == (4, 1, 100, 100)
    loss = task.training_step(batch, 0)
    loss.backward()
    optimizer.step()
    assert loss.isfinite()
    assert all(not torch.equal(old, new) for old, new in zip(before, task.parameters(), strict=True))
    glimpses = network.recognise(batch.images).glimpses
    assert len(glimpses) == 8
    assert glimpses[0].glimpse.shape == (4, 1, 4, 1, 12, 12)
