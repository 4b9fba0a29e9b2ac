"""The share of balls that were caught, and how sure it is."""

import numpy as np
import pytest
import torch

from zoo.metrics import CatchRate, StandardError


def test_the_standard_error_is_that_of_the_mean_in_any_batches() -> None:
    values = np.random.default_rng(0).integers(0, 4, 101) / 3
    error, rate = StandardError(), CatchRate()
    for batch in torch.from_numpy(values).float().split(7):
        error.update(batch)
        rate.update(batch)
    assert float(rate.compute()) == pytest.approx(values.mean(), rel=1e-5)
    assert float(error.compute()) == pytest.approx(values.std(ddof=1) / np.sqrt(101), rel=1e-5)
    error.reset()
    error.update(torch.ones(1))
    assert float(error.compute()) == 0
