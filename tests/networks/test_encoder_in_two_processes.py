"""An encoder that learns from a later epoch on, in two processes: the strategy that the check asks for."""

from collections import OrderedDict
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torchvision.models import VGG19_Weights

from zoo.networks.encoders import PublishedEncoder

IMAGES = torch.rand(4, 3, 4, 4, generator=torch.Generator().manual_seed(1))


class Tiny(PublishedEncoder):
    """In the place of one that was published."""

    def __init__(self) -> None:
        super().__init__(
            body=nn.Sequential(OrderedDict(features=nn.Conv2d(3, 2, 2))),
            weights=VGG19_Weights.IMAGENET1K_V1,
            feature_size=2,
            channels=3,
            weights_dir="",
            fine_tune_from_epoch=1,
        )
        self.has_weights = True

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        return height - 1, width - 1


class Captioner(nn.Module):
    """An encoder, and something behind it that learns from the start."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder, self.output = Tiny(), nn.Linear(2, 1)

    def forward(self, images: Tensor) -> Tensor:
        loss: Tensor = self.output(self.encoder(images).mean((2, 3))).square().mean()
        return loss


def trained(model: nn.Module, encoder: Tiny, images: Tensor) -> list[list[Tensor]]:
    """The weights after each of two epochs of two steps, with an optimiser that would notice zeros."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    after = []
    for epoch in range(2):
        encoder.begin_epoch(epoch)
        for _ in range(2):
            optimizer.zero_grad()
            model(images).backward()
            optimizer.step()
        after.append([weight.detach().clone() for weight in model.parameters()])
    return after


def together(rank: int, store: str, find_unused: bool) -> list[list[Tensor]] | str:
    distributed.init_process_group(
        "gloo", init_method=store, rank=rank, world_size=2, timeout=timedelta(seconds=30)
    )
    try:
        model = Captioner()
        wrapped = DistributedDataParallel(model, find_unused_parameters=find_unused)
        return trained(wrapped, model.encoder, IMAGES[rank::2])
    except RuntimeError as error:
        return str(error)
    finally:
        distributed.destroy_process_group()


@pytest.mark.slow
def test_learns_as_in_one_process_where_unused_weights_are_looked_for(tmp_path: Path) -> None:
    alone = Captioner()
    begin = [weight.detach().clone() for weight in alone.encoder.parameters()]
    expected = trained(alone, alone.encoder, IMAGES)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for find_unused in (False, True):
            store = (tmp_path / f"store{find_unused}").as_uri()
            for found in pool.map(together, (0, 1), (store, store), (find_unused, find_unused)):
                if find_unused:
                    torch.testing.assert_close(found, expected)
                else:
                    assert "Expected to have finished reduction in the prior iteration" in found
    before, after = ([weights[: len(begin)] for weights in expected][epoch] for epoch in range(2))
    torch.testing.assert_close(before, begin, rtol=0, atol=0)  # not even decayed
    assert not torch.equal(after[0], begin[0])
