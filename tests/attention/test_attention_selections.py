"""Each selection against a loop written from its paper's equation; sampling against its distribution."""

import math

import pytest
import torch
from attention_cases import SIZE, equal, leaf, randn, randomise
from torch import Tensor

from zoo.attention import (
    GumbelHard,
    Hard,
    LocalMonotonic,
    LocalPredictive,
    Selected,
    Selection,
    Soft,
    masked_softmax,
    padding_mask,
)

KEYS = 6


def softmax(scores: Tensor, kept: list[int]) -> dict[int, Tensor]:
    total = sum(scores[i].exp() for i in kept)
    return {i: scores[i].exp() / total for i in kept}


def masks() -> list[Tensor | None]:
    return [None, padding_mask(torch.tensor([KEYS, 4]), KEYS)]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_soft_divides_by_the_temperature(temperature: float) -> None:
    scores = randn(2, 3, KEYS)
    for mask, kept in zip(masks(), (KEYS, 4), strict=True):
        selected = Soft(query_size=SIZE, temperature=temperature)(scores, scores, mask)
        expected = softmax(scores[1, 2] / temperature, list(range(kept)))
        for i in range(KEYS):
            equal(selected.weights[1, 2, i], torch.as_tensor(expected.get(i, 0.0), dtype=torch.float64))
        assert selected[1:] == (None, None, None, None)


@pytest.mark.parametrize("kind", [Soft, GumbelHard])
@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_is_above_zero(kind: type[Selection], temperature: float) -> None:
    with pytest.raises(ValueError, match=f"{kind.__name__}: temperature={temperature}, must be above 0"):
        kind(query_size=SIZE, temperature=temperature)


def test_windows_have_a_smallest_size() -> None:
    with pytest.raises(ValueError, match="LocalMonotonic: window=-1, must be at least 0"):
        LocalMonotonic(query_size=SIZE, window=-1)
    with pytest.raises(ValueError, match="LocalPredictive: window=0, must be at least 1"):
        LocalPredictive(query_size=SIZE, window=0)


def test_only_hard_needs_reinforce() -> None:
    kinds = (Soft, Hard, GumbelHard, LocalMonotonic, LocalPredictive)
    assert [kind for kind in kinds if kind.samples] == [Hard]
    scores = randn(1, 1, KEYS)
    for kind in kinds:
        selected = kind(query_size=SIZE).double()(scores, randn(1, 1, SIZE))
        assert (selected.log_prob is not None) == kind.samples


@pytest.mark.parametrize("make", [Hard, GumbelHard])
@pytest.mark.parametrize("masked", [False, True])
def test_samples_follow_their_distribution(make: type[Selection], masked: bool) -> None:
    torch.manual_seed(0)
    draws = 40_000
    scores = randn(1, KEYS).expand(draws, 1, KEYS)
    mask = torch.tensor([True, True, False, True, True, False]) if masked else None
    selected = make(query_size=SIZE)(scores, scores, mask)
    assert set(selected.weights.unique().tolist()) == {0.0, 1.0}
    equal(selected.weights.sum(-1), torch.ones(draws, 1, dtype=torch.float64))
    frequency = selected.weights.mean((0, 1))
    expected = softmax(scores[0, 0], [0, 1, 3, 4] if masked else list(range(KEYS)))
    for i in range(KEYS):
        p = float(expected.get(i, 0.0))
        assert abs(frequency[i] - p) <= 4.5 * math.sqrt(p * (1 - p) / draws), i
        equal(selected.probabilities[0, 0, i], torch.tensor(p, dtype=torch.float64))


def test_samples_come_from_torchs_generator() -> None:
    scores, selection = randn(50, 1, KEYS), Hard(query_size=SIZE)
    draws = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        draws.append(selection(scores, scores).weights)
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_queries_and_sentences_are_sampled_independently() -> None:
    torch.manual_seed(0)
    chosen = Hard(query_size=SIZE)(torch.zeros(2000, 2, 2), torch.zeros(2000, 2, SIZE)).weights[..., 0]
    both = (chosen[:, 0] * chosen[:, 1]).mean()
    assert both == pytest.approx(0.25, abs=0.05)


def test_log_probability_and_entropy_of_a_sample() -> None:
    torch.manual_seed(0)
    scores = randn(2, 3, KEYS)
    for mask, kept in zip(masks(), (KEYS, 4), strict=True):
        selected = Hard(query_size=SIZE)(scores, scores, mask)
        expected = softmax(scores[1, 2], list(range(kept)))
        chosen = int(selected.weights[1, 2].argmax())
        equal(selected.log_prob[1, 2], expected[chosen].log())
        equal(selected.entropy[1, 2], -sum(p * p.log() for p in expected.values()))


def test_the_gradient_of_the_log_probability() -> None:
    """∂ log p(i) / ∂ e = one_hot(i) - p; the weights themselves lead nowhere."""
    torch.manual_seed(0)
    scores = leaf(randn(2, 3, KEYS))
    selected = Hard(query_size=SIZE)(scores, scores, masks()[1])
    assert not selected.weights.requires_grad
    selected.log_prob.sum().backward()
    equal(scores.grad, selected.weights - selected.probabilities.detach())


@pytest.mark.parametrize("make", [Hard, GumbelHard])
def test_the_likeliest_key_at_test(make: type[Selection]) -> None:
    scores = leaf(randn(2, 3, KEYS))
    for mask, kept in zip(masks(), (KEYS, 4), strict=True):
        selected = make(query_size=SIZE).eval()(scores, scores, mask)
        assert selected.log_prob is None
        assert selected.entropy is None
        assert torch.equal(selected.weights.argmax(-1)[1], scores[1, :, :kept].argmax(-1))
        assert selected.weights.sum() == 6
        assert not selected.weights.requires_grad


def test_samples_at_test_when_asked() -> None:
    torch.manual_seed(0)
    scores = torch.zeros(1, 1, 2).expand(400, 1, 2)
    selected = Hard(query_size=SIZE, sample_at_test=True).eval()(scores, scores)
    assert 100 < selected.weights[..., 0].sum() < 300
    assert selected.log_prob is not None


def test_straight_through_reads_one_key_and_learns_as_if_soft() -> None:
    temperature = 0.7
    scores, values = leaf(randn(2, 3, KEYS)), randn(2, KEYS, 2)
    torch.manual_seed(0)
    selected = GumbelHard(query_size=SIZE, temperature=temperature)(scores, scores)
    assert set(selected.weights.unique().tolist()) == {0.0, 1.0}
    (selected.weights @ values).square().sum().backward()

    torch.manual_seed(0)
    gumbel = -torch.empty_like(scores.detach()).exponential_().log()
    soft_scores = leaf(scores)
    soft = ((soft_scores + gumbel) / temperature).softmax(-1)
    assert torch.equal(soft.argmax(-1), selected.weights.argmax(-1))
    # The loss's gradient at the hard reading, sent through the soft one.
    (soft @ values).backward(2 * (selected.weights.detach() @ values))
    equal(scores.grad, soft_scores.grad)


@pytest.mark.parametrize("window", [0, 1, 2, 10])
def test_local_monotonic_is_a_softmax_around_the_step(window: int) -> None:
    scores = randn(2, 8, KEYS)
    for mask, size in zip(masks(), (KEYS, 4), strict=True):
        selected = LocalMonotonic(query_size=SIZE, window=window)(scores, scores, mask)
        for t in range(8):
            expected = softmax(scores[1, t], [i for i in range(size) if t - window <= i <= t + window])
            for i in range(KEYS):
                equal(selected.weights[1, t, i], torch.as_tensor(expected.get(i, 0.0), dtype=torch.float64))
        assert selected.state.tolist() == [list(range(1, 9))] * 2


def test_local_monotonic_counts_its_steps() -> None:
    selection = LocalMonotonic(query_size=SIZE, window=0)
    scores, state = randn(2, 3, KEYS), None
    first = selection(scores[:, :1], scores)
    assert first.state.tolist() == [[1], [1]]
    assert first.state.dtype == torch.int64
    state = first.state[:, [0, 0, 0]]
    for step in range(1, 4):
        selected = selection(scores, scores, None, state)
        state = selected.state
        assert (selected.weights[..., step] == 1).all()
        assert (state == step + 1).all()


@pytest.mark.parametrize("window", [1, 2, 10])
def test_local_predictive_is_a_gaussian_times_a_softmax(window: int) -> None:
    selection = randomise(LocalPredictive(query_size=SIZE, window=window)).double()
    scores, query = randn(2, 9, KEYS), randn(2, 9, SIZE, seed=9)
    positions = set()
    for mask, size in zip(masks(), (KEYS, 4), strict=True):
        selected = selection(scores, query, mask)
        for t in range(9):
            predicted = selection.v_p.weight[0] @ torch.tanh(selection.W_p.weight @ query[1, t]) / SIZE**0.5
            p = size * float(1 / (1 + torch.exp(-predicted)))
            positions.add(round(p))
            expected = softmax(scores[1, t], [i for i in range(size) if p - window <= i <= p + window])
            for i in range(KEYS):
                sigma = window / 2
                gaussian = math.exp(-((i - p) ** 2) / (2 * sigma**2))
                weight = torch.as_tensor(expected.get(i, 0.0), dtype=torch.float64) * gaussian
                equal(selected.weights[1, t, i], weight)
    assert len(positions) > 2


def test_local_predictive_is_not_stuck_at_an_end_where_adam_pulled_it() -> None:
    size = 256
    torch.manual_seed(0)
    selection = LocalPredictive(query_size=size, window=10)
    optimizer = torch.optim.Adam(selection.parameters(), lr=5e-3)
    query, scores = torch.randn(8, 1, size), torch.zeros(8, 1, 12)
    seen = []
    for wanted in [0] * 40 + [8] * 80:
        weights = selection(scores, query).weights
        seen.append(float(weights.argmax(-1).float().mean()))
        optimizer.zero_grad()
        (-weights[..., wanted].sum()).backward()
        optimizer.step()
    assert 4 < seen[0] < 7, "it begins in the middle"
    assert seen[40] < 2
    assert 7 < seen[-1] < 9


def test_local_predictive_measures_to_the_last_kept_key() -> None:
    """Keys missing before the end leave positions where they are."""
    selection = LocalPredictive(query_size=SIZE, window=50).double()
    torch.nn.init.zeros_(selection.v_p.weight)  # p_t = S / 2
    mask = torch.tensor([[[False, True, True, True, False, False]]])
    weights = selection(torch.zeros(1, 1, KEYS).double(), torch.zeros(1, 1, SIZE).double(), mask).weights
    gaussian = torch.exp(-((torch.arange(1, 4) - 2.0) ** 2) / (2 * 25.0**2))
    equal(weights[0, 0, 1:4], gaussian.double() / 3, 1e-6)


def test_local_predictive_keeps_positions_apart_in_half_precision() -> None:
    selection = LocalPredictive(query_size=SIZE, window=1).bfloat16()
    torch.nn.init.zeros_(selection.v_p.weight)
    weights = selection(torch.zeros(1, 1, 602).bfloat16(), torch.zeros(1, 1, SIZE).bfloat16()).weights
    assert weights[0, 0].nonzero().flatten().tolist() == [300, 301, 302]


def test_local_predictive_of_a_nonfinite_query_is_nan() -> None:
    """Its reading is NaN, but of what is masked, and of nothing: that stays zero."""
    selection = LocalPredictive(query_size=SIZE, window=2).double()
    query = randn(1, 3, SIZE)
    query[:, 1:] = torch.nan
    mask = torch.ones(1, 3, KEYS, dtype=torch.bool)
    mask[..., 0] = False
    mask[:, 2] = False
    weights = selection(torch.zeros(1, 3, KEYS).double(), query, mask).weights
    assert weights[:, 0].isfinite().all()
    assert weights[:, 1, 1:].isnan().all()
    assert not weights[:, 1, 0].any()
    assert not weights[:, 2].any()


def mixed(scores: Tensor, mask: Tensor | None = None, soft_share: float = 0.5) -> tuple[Selected, Tensor]:
    """What is selected, and which rows read their expectation."""
    torch.manual_seed(0)
    selected = Hard(query_size=SIZE, soft_share=soft_share)(scores, scores, mask)
    return selected, (selected.weights > 0).sum(-1) > 1


def test_a_share_of_the_rows_uses_soft_weights() -> None:
    scores = randn(400, 3, KEYS)
    for soft_share in (0.2, 0.5):
        selected, soft = mixed(scores, soft_share=soft_share)
        assert float(soft.double().mean()) == pytest.approx(soft_share, abs=0.06)
        both = (soft[:, 0] & soft[:, 1]).double().mean()
        assert float(both) == pytest.approx(soft_share**2, abs=0.06), "each query draws for itself"
        equal(selected.weights[soft], scores.softmax(-1)[soft])
        equal(selected.weights[~soft].amax(-1), torch.ones(int((~soft).sum()), dtype=torch.float64))


def test_a_soft_row_has_log_probability_zero_and_no_reward() -> None:
    scores = leaf(randn(20, 3, KEYS))
    for mask in (None, padding_mask(torch.tensor([KEYS, 4] * 10), KEYS)):
        selected, soft = mixed(scores, mask)
        assert not selected.log_prob[soft].any()
        log_probabilities = masked_softmax(scores, mask).log().nan_to_num(neginf=0.0)
        equal(selected.log_prob[~soft], (selected.weights * log_probabilities).sum(-1)[~soft])
        gradient = torch.autograd.grad((selected.log_prob * randn(20, 3)).sum(), scores)[0]
        assert not gradient[soft].any()
        assert gradient[~soft].any(-1).all()


def test_rows_that_read_their_expectation_learn_as_if_soft() -> None:
    scores, values = leaf(randn(20, 3, KEYS)), randn(20, KEYS, 2)
    for mask in (None, padding_mask(torch.tensor([KEYS, 4] * 10), KEYS)):
        selected, soft = mixed(scores, mask)
        gradient = torch.autograd.grad((selected.weights @ values).pow(3).sum(), scores)[0]
        plain = Soft(query_size=SIZE)(scores, scores, mask)
        expected = torch.autograd.grad((plain.weights @ values).pow(3).sum(), scores)[0]
        equal(gradient[soft], expected[soft])
        assert not gradient[~soft].any(), "a sample leads nowhere"


def test_hard_uses_no_soft_weights_at_test() -> None:
    torch.manual_seed(0)
    scores = randn(50, 1, KEYS)
    for sample_at_test in (False, True):
        selection = Hard(query_size=SIZE, soft_share=0.9, sample_at_test=sample_at_test).eval()
        assert set(selection(scores, scores).weights.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("soft_share", [-0.1, 1.0])
def test_the_soft_share_is_a_probability_below_one(soft_share: float) -> None:
    with pytest.raises(ValueError, match=f"Hard: soft_share={soft_share}, must be at least 0 and below 1"):
        Hard(query_size=SIZE, soft_share=soft_share)


def test_mixed_rows_without_a_key_read_nothing_and_have_finite_gradients() -> None:
    scores = leaf(randn(20, 2, KEYS))
    nothing = torch.zeros(20, 1, KEYS, dtype=torch.bool)
    nothing[10:] = True
    selected, _ = mixed(scores, nothing)
    assert not selected.weights[:10].any()
    assert not selected.log_prob[:10].any()
    (selected.weights.sum() + selected.log_prob.sum() + selected.entropy.sum()).backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert not scores.grad[:10].any()
