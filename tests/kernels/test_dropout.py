"""The cheap dropout is torch's, but for which elements it drops."""

import pytest
import torch
from torch import nn

from zoo.kernels import Dropout

COUNT = 1_000_000


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_dropped_elements_and_the_scale_of_the_others(p: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(p)(torch.ones(COUNT))
    share = (dropped == 0).double().mean().item()
    assert abs(share - p) < 5 * (p * (1 - p) / COUNT) ** 0.5
    assert dropped.unique().tolist() == [0.0, pytest.approx(1 / (1 - p))]


def test_elements_are_dropped_independently() -> None:
    """Also those that share a draw, rows, and calls one after another."""
    torch.manual_seed(0)
    first, second = ((Dropout(0.3)(torch.ones(COUNT)) == 0).double() - 0.3 for _ in range(2))
    bound = 5 * 0.21 / COUNT**0.5
    for lag in (1, 2, 3, 4, 8, 64, 128):
        assert (first[lag:] * first[:-lag]).mean().abs() < bound
    assert (first * second).mean().abs() < bound


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3, 5, 7), (0, 4)])
def test_the_gradient_is_that_of_the_kept(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    inputs = torch.randn(shape, dtype=dtype).requires_grad_()
    torch.manual_seed(3)
    outputs = Dropout(0.4)(inputs)
    assert outputs.dtype == dtype
    kept = outputs != 0
    (gradient,) = torch.autograd.grad(outputs.sum(), inputs)
    torch.testing.assert_close(outputs, kept * inputs.detach() / 0.6)
    torch.testing.assert_close(gradient, kept.to(dtype) / 0.6)


def test_nans_stay_nan() -> None:
    """Dropped ones too, as in torch."""
    assert Dropout(0.5)(torch.full((1000,), torch.nan)).isnan().all()


def test_a_seed_fixes_the_dropout() -> None:
    layer, inputs = Dropout(0.5), torch.ones(1000)
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(layer(inputs))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_views_and_strides() -> None:
    torch.manual_seed(0)
    outputs = Dropout(0.5)(torch.ones(6, 4).T)
    assert outputs.shape == (4, 6)
    assert set(outputs.flatten().tolist()) == {0.0, 2.0}


def test_nothing_is_dropped_where_torch_drops_nothing() -> None:
    inputs = torch.randn(100)
    assert Dropout(0.5).eval()(inputs) is inputs
    assert torch.equal(Dropout(0.0)(inputs), inputs)
    assert (Dropout(1.0)(inputs) == 0).all()
    assert isinstance(Dropout(0.5), nn.Dropout)
    assert Dropout(0.5).to("meta")(inputs.to("meta")).device.type == "meta"
