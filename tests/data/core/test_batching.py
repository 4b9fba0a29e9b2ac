"""Token batches and their order."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.utils.data import Dataset

from data.core.batching import BatchLoader, Layout, TokenBatches
from data.core.data_module import DataModule
from zoo.tasks.translation.batch import TranslationBatch

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=80).map(np.array)


def some_lengths(pairs: int = 500) -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(2, 30, size=(pairs, 2))


def epoch(batches: TokenBatches, number: int) -> list[list[int]]:
    batches.epoch = number
    return [part.rows.tolist() for part in batches]


@settings(deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 100), st.sampled_from([None, 7]))
def test_every_pair_once_and_no_batch_too_full(
    lengths: NDArray[np.int64], tokens: int, seed: int | None
) -> None:
    batches = TokenBatches(lengths, tokens, seed=seed)
    for number in range(3):
        made = epoch(batches, number)
        assert sorted(row for batch in made for row in batch) == list(range(len(lengths)))
        assert len(made) == len(batches)
        for batch in made:
            assert len(batch) == 1 or lengths[batch].max() * len(batch) <= tokens


@settings(deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 300), st.integers(1, 4), st.integers(1, 3))
def test_in_every_layout_the_same_batches_in_equally_many_parts(
    lengths: NDArray[np.int64], tokens: int, processes: int, accumulated: int
) -> None:
    if len(lengths) < processes:
        with pytest.raises(ValueError, match=f"{len(lengths)} items .* {processes} processes"):
            TokenBatches(lengths, tokens, seed=1, layout=Layout(processes))
        return
    alone = TokenBatches(lengths, tokens, seed=1)
    shares = [
        TokenBatches(lengths, tokens, seed=1, layout=Layout(processes, rank, accumulated))
        for rank in range(processes)
    ]
    for number in range(2):
        whole = epoch(alone, number)
        for share in shares:
            share.epoch = number
            assert len(list(share)) == len(share) == accumulated * len(whole)
        made = [list(share) for share in shares]
        for place, batch in enumerate(whole):
            turns = range(accumulated * place, accumulated * (place + 1))
            parts = [made[rank][turn] for turn in turns for rank in range(processes)]
            assert [row for part in parts if part.loss_weight for row in part.rows.tolist()] == batch
            assert all(part.rows.tolist() == batch[:1] for part in parts if not part.loss_weight)
            # weighted so, the mean over parts is that of the batch
            means = [part.loss_weight * (1 / lengths[part.rows, 1].mean()) for part in parts]
            assert np.mean(means) == pytest.approx(len(batch) / lengths[batch, 1].sum())


def test_evaluation_is_shared_without_a_pair_twice() -> None:
    shares = [
        epoch(TokenBatches(some_lengths(), 200, seed=None, layout=Layout(3, rank)), 0) for rank in range(3)
    ]
    assert sorted(row for share in shares for batch in share for row in batch) == list(range(500))


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    batches = TokenBatches(some_lengths(), 200, seed=1)
    first = epoch(batches, 0)
    second = epoch(batches, 1)
    assert epoch(batches, 0) == first
    assert epoch(TokenBatches(some_lengths(), 200, seed=1), 1) == second
    assert epoch(TokenBatches(some_lengths(), 200, seed=2), 0) != first
    assert second != first
    assert {frozenset(batch) for batch in second} != {
        frozenset(batch) for batch in first
    }  # not only reordered


def test_batches_come_in_no_order_of_length() -> None:
    longest = [some_lengths()[batch].max() for batch in epoch(TokenBatches(some_lengths(), 200, seed=1), 0)]
    assert longest != sorted(longest)
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.5


def test_evaluation_has_one_order_longest_first() -> None:
    batches = TokenBatches(some_lengths(), 200, seed=None)
    assert epoch(batches, 0) == epoch(batches, 5)
    longest = [some_lengths()[batch].max() for batch in epoch(batches, 0)]
    assert longest == sorted(longest, reverse=True)


def test_an_epoch_can_be_entered_in_its_middle() -> None:
    batches = TokenBatches(some_lengths(), 200, seed=1)
    third, fourth = epoch(batches, 3), epoch(batches, 4)
    batches.seek(3, 4)
    assert epoch(batches, 3) == third[4:]
    assert epoch(batches, 4) == fourth, "the next one is whole again"
    assert len(batches) == len(third)


def test_a_place_in_an_epoch_is_the_same_in_every_layout() -> None:
    whole = epoch(TokenBatches(some_lengths(), 200, seed=1), 2)
    for rank in range(3):
        batches = TokenBatches(some_lengths(), 200, seed=1, layout=Layout(3, rank, 2))
        batches.seek(2, 4)
        first = epoch(batches, 2)[0]
        assert set(first) <= set(whole[4])


def test_no_process_is_left_without_a_batch_to_evaluate() -> None:
    few = [TokenBatches(some_lengths(4), 10_000, seed=None, layout=Layout(3, rank)) for rank in range(3)]
    assert sorted(row for share in few for part in share for row in part.rows.tolist()) == [0, 1, 2, 3]
    assert [len(share) for share in few] == [len(list(share)) for share in few] == [1, 1, 1]
    with pytest.raises(ValueError, match="2 items cannot be shared by 3 processes"):
        TokenBatches(some_lengths(2), 10, seed=None, layout=Layout(3))


def test_batches_are_filled_to_the_last_token_and_halved_for_processes() -> None:
    lengths = np.full((10, 2), 10)
    assert [len(batch) for batch in epoch(TokenBatches(lengths, 100, seed=1), 0)] == [10]
    shares = [TokenBatches(lengths, 100, seed=1, layout=Layout(2, rank)) for rank in range(2)]
    assert [len(batch) for share in shares for batch in epoch(share, 0)] == [5, 5]


def test_of_pairs_of_one_size_those_with_like_targets_come_together() -> None:
    lengths = np.stack([np.full(1_000, 30), np.random.default_rng(1).integers(2, 30, size=1_000)], axis=1)
    assert TokenBatches(lengths, 900, seed=1).real_token_share > 0.97


@settings(deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 100))
def test_real_token_share(lengths: NDArray[np.int64], tokens: int) -> None:
    batches = TokenBatches(lengths, tokens, seed=None)
    padded = sum(int(lengths[rows].max(axis=0).sum()) * len(rows) for _, rows, _ in batches)
    assert batches.real_token_share == pytest.approx(lengths.sum() / padded)


def test_batches_of_like_length_hold_little_padding() -> None:
    lengths = np.random.default_rng(1).normal(15, 5, size=(5_000, 1)).clip(3, 40) + np.random.default_rng(
        2
    ).integers(0, 3, size=(5_000, 2))
    assert TokenBatches(lengths.astype(np.int64), 2_000, seed=1).real_token_share > 0.93


class _Broken(Dataset[TranslationBatch]):
    def __getitem__(self, rows: object) -> TranslationBatch:
        raise RuntimeError("no such thing as time")


def test_what_breaks_while_loading_says_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="no such thing as time"):
        list(BatchLoader(_Broken(), TokenBatches(some_lengths(), 200, seed=1)))


def test_batches_for_a_gpu_are_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = TokenBatches(some_lengths(), 100, seed=1)
    module = DataModule(seed=1, num_workers=0, worker_timeout=0)
    module._splits = {"train": _Broken()}
    monkeypatch.setattr(module, "_batches", lambda *_: batches)
    monkeypatch.setattr(DataModule, "_layout", Layout())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for device, pinned in (("cuda", True), ("cpu", False)):
        strategy = SimpleNamespace(root_device=torch.device(device))
        module.trainer = SimpleNamespace(strategy=strategy)  # type: ignore[assignment]
        assert module._loader("train", seed=1).pin_memory is pinned
    module.trainer = None
    assert not module._loader("train", seed=1).pin_memory
