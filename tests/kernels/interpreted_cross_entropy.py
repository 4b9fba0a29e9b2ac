"""Checks the GPU's kernel of the cross-entropy on a CPU, by Triton's interpreter (TRITON_INTERPRET=1)."""

from itertools import product

import torch
from torch.nn import functional
from torch.testing import assert_close

from tests.kernels.test_cross_entropy import VOCABULARY, both, test_bfloat16_is_as_good_as_autocast
from zoo.kernels import cross_entropy, cross_entropy_rows

cross_entropy_rows._BLOCK = 16  # a row of 31 is then more than one
cross_entropy._SCORES_ON_A_GPU = 4 * VOCABULARY
cross_entropy._kernel_for = lambda features: cross_entropy_rows.losses_and_slopes


def loss_and_gradients_are_torchs() -> None:
    for bias, smoothing in product((True, False), (0.0, 0.1)):
        ours, theirs = both(9, bias=bias, smoothing=smoothing, dtype=torch.float32)
        for actual, expected in zip(ours, theirs, strict=True):
            assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def scores_of_minus_infinity_have_no_share() -> None:
    scores = torch.randn(2, 40)
    scores[0, :20] = scores[1, 20:] = -torch.inf  # a whole block, at the beginning and at the end
    labels = torch.tensor([39, 0])
    plain = scores.clone().requires_grad_()
    expected = functional.cross_entropy(plain, labels, reduction="none")
    expected.sum().backward()
    losses = cross_entropy_rows.losses_and_slopes(scores, labels, padding=1, smoothing=0.0)
    assert_close(losses, expected)
    assert_close(scores, plain.grad)


def a_score_that_is_no_number_makes_no_loss() -> None:
    scores = torch.randn(1, 40)
    scores[0, 3] = torch.nan
    losses = cross_entropy_rows.losses_and_slopes(scores, torch.tensor([0]), padding=1, smoothing=0.0)
    assert losses.isnan().all()


def a_label_without_a_score_makes_no_loss() -> None:
    for label in (40, -3):
        scores, labels = torch.randn(1, 40), torch.tensor([label])
        assert cross_entropy_rows.losses_and_slopes(scores, labels, padding=1, smoothing=0.0).isnan().all()


loss_and_gradients_are_torchs()
test_bfloat16_is_as_good_as_autocast()
scores_of_minus_infinity_have_no_share()
a_score_that_is_no_number_makes_no_loss()
a_label_without_a_score_makes_no_loss()
