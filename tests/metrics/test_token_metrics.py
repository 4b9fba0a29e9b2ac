"""Perplexity and alignment accuracy, by hand and over uneven batches."""

import math

import pytest
import torch

from zoo.metrics import AlignmentAccuracy, Perplexity


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
