"""The data module of bit sequences."""

from typing import Any

import numpy as np
import pytest
import torch
from through_loaders import assert_every_item_once, shared

from data.sequences.bit_sequences import BitSequenceData
from zoo.core.bit_sequences import Copy, DynamicNGrams
from zoo.core.spec import DataSpec, VectorSpec
from zoo.tasks.memory.batch import SequenceBatch

COUNTS = [50, 12 + 2 * 3, 20 + 2 * 3]


def module(**options: Any) -> BitSequenceData:
    settings: dict[str, Any] = {
        "sequences": Copy(bits=3, shortest=1, longest=5),
        "train_sequences": 50,
        "validation_sequences": 12,
        "test_sequences": 20,
        "beyond": [7, 9],
        "sequences_beyond": 3,
        "batch_size": 4,
        "evaluation_batch_size": 8,
        "seed": 1,
    }
    return BitSequenceData(**{**settings, **options})


def ready(**options: Any) -> BitSequenceData:
    made = module(**options)
    made.prepare_data()
    made.setup("fit")
    made.setup("test")
    return made


def contents(loader: Any, epoch: int = 0) -> dict[int, list[list[float]]]:
    """The inputs of each sequence, without padding."""
    loader.batches.set_epoch(epoch)
    found = {}
    for batch in loader:
        for row, index in enumerate(batch.index.tolist()):
            found[index] = batch.inputs[row, : 2 * int(batch.size[row]) + 1].tolist()
    return found


@pytest.mark.parametrize("workers", [0, 1])
def test_every_sequence_once(workers: int) -> None:
    assert_every_item_once(ready(num_workers=workers), COUNTS)


def test_processes_share_every_split() -> None:
    shared(ready, 2, COUNTS)


def test_training_sequences_are_new_in_every_epoch_others_the_same_in_every_run() -> None:
    first, second = (contents(ready().train_dataloader(), epoch) for epoch in (0, 1))
    assert sum(first[index] == second[index] for index in first) < 10, "only the shortest can be alike"
    assert contents(ready(batch_size=7, num_workers=1).train_dataloader()) == first
    assert contents(ready(seed=2).train_dataloader()) != first
    for split in ("val_dataloader", "test_dataloader"):
        one, other = (getattr(ready(seed=seed), split)() for seed in (1, 2))
        one, other = (part[0] if isinstance(part, list) else part for part in (one, other))
        assert contents(one) == contents(other) == contents(other, 3)


def test_sizes_apart_come_behind_those_of_training() -> None:
    for loader, within in ((ready().val_dataloader(), 12), (ready().test_dataloader()[0], 20)):
        sizes, apart = {}, {}
        for batch in loader:
            sizes |= dict(zip(batch.index.tolist(), batch.size.tolist(), strict=True))
            apart |= dict(zip(batch.index.tolist(), batch.apart.tolist(), strict=True))
        assert {index for index, one in apart.items() if one} == set(range(within, within + 6))
        assert [sizes[index] for index in range(within, within + 6)] == [7] * 3 + [9] * 3
        assert {sizes[index] for index in range(within)} <= {1, 2, 3, 4, 5}


def test_what_is_behind_a_sequence_is_zero_and_does_not_count() -> None:
    batch: SequenceBatch = next(iter(ready().test_dataloader()[0]))
    assert len(set(batch.size.tolist())) > 1
    for row, size in enumerate(batch.size.tolist()):
        assert batch.scored[row].tolist() == [
            size < step <= 2 * size for step in range(batch.inputs.shape[1])
        ]
        assert (batch.inputs[row, 2 * size + 1 :] == 0).all()
        assert torch.equal(batch.targets[row, size + 1 : 2 * size + 1], batch.inputs[row, :size, :3])


def test_the_specification_says_what_a_model_reads_and_writes() -> None:
    data = ready()
    assert data.spec.name == "copy"
    assert data.spec.fields == {"inputs": VectorSpec(4), "targets": VectorSpec(3)}
    assert DataSpec.from_dict(data.spec.to_dict()) == data.spec
    assert data.report == {
        split: {"sequences": count} for split, count in zip(("train", "val", "test"), COUNTS, strict=True)
    }
    assert ready(seed=7, batch_size=3, train_sequences=5).spec == data.spec
    others = [ready(beyond=[7]), ready(sequences=Copy(bits=3, longest=6)), ready(test_sequences=21)]
    assert len({data.spec.test_hash, *(other.spec.test_hash for other in others)}) == 4
    assert ready(spec=data.spec).spec == data.spec
    with pytest.raises(ValueError, match="other data"):
        ready(sequences=Copy(bits=2), spec=data.spec)


def test_the_best_predictor_of_ngrams_is_a_baseline() -> None:
    assert module().baselines == {}
    data = ready(sequences=DynamicNGrams(order=1, shortest=100, longest=100), beyond=[])
    best = data.baselines["test"]["optimal_bits_per_sequence"]
    # A coin from Beta(1/2, 1/2) has 0.557 bits, and some more while it is unknown.
    assert 0.4 * 100 < best < 0.8 * 100
    found = []
    for batch in data.test_dataloader()[0]:
        for bits in np.concatenate([batch.inputs[:, :1, 0], batch.targets[..., 0]], 1):
            ones, bits_of_one = 0, 0.0
            for place, bit in enumerate(bits):
                chance = (ones + 0.5) / (place + 1)
                bits_of_one -= np.log2(chance if bit else 1 - chance) if place else 0
                ones += int(bit)
            found.append(bits_of_one)
    assert best == pytest.approx(np.mean(found), rel=1e-4)


def test_senseless_settings() -> None:
    for name in (
        "train_sequences",
        "validation_sequences",
        "test_sequences",
        "sequences_beyond",
        "batch_size",
    ):
        with pytest.raises(ValueError, match=f"^{name} must be at least 1, got 0"):
            module(**{name: 0})
    with pytest.raises(ValueError, match="beyond must have every size once"):
        module(beyond=[7, 7])
    with pytest.raises(ValueError, match="beyond must have sizes up to 1000, got 1001"):
        module(beyond=[1001])
    with pytest.raises(ValueError, match="beyond must be at least 1, got 0"):
        module(beyond=[0])
