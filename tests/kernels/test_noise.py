"""Random numbers that belong to items."""

from contextlib import nullcontext

import pytest
import torch
from scipy import stats

from zoo.kernels.noise import gumbel_like, keyed, normal_like, normals_like, uniform

CPU = torch.device("cpu")


def drawn(index: torch.Tensor, *numbers: int, sizes: tuple[int, ...] = (3,), times: int = 1) -> torch.Tensor:
    """The last of some drawings."""
    with keyed(index, *numbers):
        for _ in range(times):
            found = uniform((len(index), *sizes), CPU)
    return found


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda tensor: uniform(tensor.shape, CPU), "uniform"),
        (normal_like, "norm"),
        (gumbel_like, "gumbel_r"),
    ],
)
def test_distributions(draw: object, distribution: str) -> None:
    with keyed(torch.arange(20_000), 1, 0):
        one, other = (draw(torch.empty(20_000, 2)) for _ in range(2))  # type: ignore[operator]
    values = torch.cat([one, other], 1)
    assert stats.kstest(values.flatten().numpy(), distribution).pvalue > 0.01
    neighbours = torch.cat([values[:-1], values[1:]], 1)  # of places, drawings and items
    assert (torch.corrcoef(neighbours.T) - torch.eye(8)).abs().max() < 0.035
    assert values.isfinite().all()


def test_numbers_depend_on_the_item_and_on_nothing_around_it() -> None:
    whole = drawn(torch.arange(10), 1, 4)
    assert torch.equal(drawn(torch.tensor([7, 2]), 1, 4), whole[[7, 2]])
    torch.manual_seed(5)
    assert torch.equal(drawn(torch.arange(10), 1, 4), whole)
    assert torch.equal(drawn(torch.arange(10), 1, 4, sizes=(8,))[:, :3], whole), "however long rows are"
    wide = drawn(torch.arange(10), 1, 4, sizes=(2, 5))
    assert torch.equal(drawn(torch.arange(10), 1, 4, sizes=(4, 3))[:, :2], wide[..., :3])


@pytest.mark.parametrize("keys", [True, False])
def test_drawings_at_once_are_those_one_after_the_other(keys: bool) -> None:
    like, found = torch.empty(8, 3), []
    for at_once in (True, False):
        torch.manual_seed(5)
        with keyed(torch.arange(4), 1) if keys else nullcontext():
            before = normal_like(like)
            drawings = normals_like(like, 3) if at_once else [normal_like(like) for _ in range(3)]
            found.append(torch.stack([before, *drawings, normal_like(like)]))
    assert torch.equal(*found)
    assert found[0].unique().numel() == found[0].numel()


def test_numbers_depend_on_every_key_and_on_the_drawing() -> None:
    index = torch.arange(10)
    all_of_them = torch.stack(
        [
            drawn(index, 1, 0),
            drawn(index, 0, 1),
            drawn(index, 1, 1),
            drawn(index, 1),
            drawn(index, 1, 0, times=2),
        ]
    )
    assert all_of_them.unique().numel() == all_of_them.numel()


def test_several_rows_of_one_item_differ() -> None:
    with keyed(torch.arange(4), 1):
        rows = uniform((12, 2), CPU)
    assert rows.unique().numel() == rows.numel()
    with keyed(torch.arange(4), 1), pytest.raises(ValueError, match="4 items cannot have 6 rows"):
        uniform((6, 2), CPU)


def test_outside_numbers_come_from_the_global_generator() -> None:
    before = torch.get_rng_state()
    with keyed(torch.arange(4), 1):
        normal_like(torch.empty(4, 2))
    assert torch.equal(torch.get_rng_state(), before), "keys leave it alone"
    torch.manual_seed(3)
    one = normal_like(torch.empty(4, 2))
    torch.manual_seed(3)
    assert torch.equal(one, torch.randn(4, 2))


def test_other_precisions() -> None:
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        with keyed(torch.arange(2_000), 1):
            for draw in (gumbel_like, normal_like):
                drawn = draw(torch.empty(2_000, 200, dtype=dtype))
                assert drawn.dtype == dtype
                assert drawn.isfinite().all()
