"""Metrics of tokens and of attention rows, by hand and over uneven batches."""

import math

import pytest
import torch

from zoo.metrics import AlignmentAccuracy, AlignmentEntropy, AlignmentSharpness, Perplexity


def test_perplexity_weighs_tokens_not_batches() -> None:
    """Eight tokens of probability 1/2 and one of 1/4: the mean is (8 + 2) / 9 log 2."""
    metric, other = Perplexity(), Perplexity()
    metric.update(torch.tensor(8 * math.log(2)), torch.tensor(8))
    other.update(torch.tensor(2 * math.log(2)), 1)
    metric.merge_state(other)
    assert {name: float(value) for name, value in metric.compute().items()} == {
        "loss": pytest.approx(10 / 9 * math.log(2)),
        "perplexity": pytest.approx(2 ** (10 / 9)),
    }


def test_no_tokens_are_nan() -> None:
    metric = Perplexity()
    metric.update(torch.tensor(0.0), 0)
    assert all(value.isnan() for value in metric.compute().values())


def test_alignment_by_hand() -> None:
    """Right, wrong, unknown (not counted), right, nothing attended to, not reached: two of five."""
    weights = torch.tensor(
        [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8], [0.0, 0.0, 0.0]]
    )
    metric = AlignmentAccuracy()
    metric.update(weights, torch.tensor([0, 1, -1, 2, 0, 2]))
    assert float(metric.compute()) == pytest.approx(2 / 5)


def test_alignment_in_batches_and_processes() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(6, 7, 4, generator=generator)
    alignment = torch.randint(-1, 4, (6, 7), generator=generator)
    known = alignment >= 0
    by_hand = float((weights.argmax(dim=-1) == alignment)[known].float().mean())
    together, first, second = AlignmentAccuracy(), AlignmentAccuracy(), AlignmentAccuracy()
    together.update(weights, alignment)
    for row in range(6):
        (first if row < 2 else second).update(weights[row], alignment[row])
    first.merge_state(second)
    assert float(together.compute()) == float(first.compute()) == pytest.approx(by_hand)


def test_longer_than_the_truth_and_empty_hypotheses() -> None:
    metric = AlignmentAccuracy()
    metric.update(torch.eye(4), torch.tensor([0, 1]))
    assert float(metric.compute()) == 1.0
    metric.update(torch.zeros(0, 4), torch.tensor([0, 1]))
    assert float(metric.compute()) == 0.5
    unknown = AlignmentAccuracy()
    unknown.update(torch.eye(2), torch.tensor([-1, -1]))
    assert unknown.compute().isnan()


def test_alignment_of_another_batch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 5, 4\) and \(2, 5\)"):
        AlignmentAccuracy().update(torch.rand(3, 5, 4), torch.zeros(2, 5, dtype=torch.int64))


def test_entropy_and_sharpness_by_hand() -> None:
    """A window's row counts as a distribution; an empty row not at all; a single key is no choice."""
    weights = torch.tensor(
        [[0.5, 0.25, 0.25, 0.0], [0.1, 0.1, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    )
    keys = torch.tensor([4, 2, 4, 1])
    entropy, sharpness = AlignmentEntropy(), AlignmentSharpness()
    entropy.update(weights, keys)
    sharpness.update(weights, keys)
    assert {name: float(value) for name, value in entropy.compute().items()} == {
        "entropy": pytest.approx((1.5 + 1.0 + 0.0) * math.log(2) / 3),
        "normalised_entropy": pytest.approx((1.5 / 2 + 1.0 / 1) / 2),
    }
    assert float(sharpness.compute()) == pytest.approx((0.5 + 0.5 + 1.0) / 3)


@pytest.mark.parametrize("keys", [2, 7, 100])
def test_an_even_spread_has_normalised_entropy_1_at_any_length(keys: int) -> None:
    metric = AlignmentEntropy()
    metric.update(torch.full((3, keys), 1 / keys), torch.full((3,), keys))
    assert float(metric.compute()["normalised_entropy"]) == pytest.approx(1.0, abs=1e-5)
    assert float(metric.compute()["entropy"]) == pytest.approx(math.log(keys), rel=1e-5)


@pytest.mark.parametrize("metric", [AlignmentEntropy, AlignmentSharpness])
def test_attention_rows_in_batches_and_processes(
    metric: type[AlignmentEntropy] | type[AlignmentSharpness],
) -> None:
    """Padding adds nothing, and a row weighs as much in a small batch as in a large one."""
    weights = torch.rand(9, 5, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    together, first, second = metric(), metric(), metric()
    together.update(weights, torch.full((9,), 5))
    first.update(torch.nn.functional.pad(weights[:1], (0, 3)), torch.tensor([5]))
    second.update(weights[1:6], torch.full((5,), 5))
    second.update(weights[6:], torch.full((3,), 5))
    second.update(torch.zeros(0, 5), torch.zeros(0, dtype=torch.int64))
    first.merge_state(second)
    torch.testing.assert_close(first.compute(), together.compute())


def test_no_attention_rows_are_nan_and_uneven_ones_are_refused() -> None:
    entropy, sharpness = AlignmentEntropy(), AlignmentSharpness()
    for metric in (entropy, sharpness):
        metric.update(torch.zeros(2, 3), torch.tensor([3, 3]))
        with pytest.raises(ValueError, match=r"disagree on N: \(2, 3\) and \(3,\)"):
            metric.update(torch.zeros(2, 3), torch.tensor([3, 3, 3]))
    assert sharpness.compute().isnan()
    assert all(value.isnan() for value in entropy.compute().values())
