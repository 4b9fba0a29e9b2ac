"""A task: is the sum of four numbers above zero?"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from torchmetrics import MeanMetric

from data.core.batching import Layout, Part, ShuffledBatches
from data.core.data_module import DataModule
from zoo.core.spec import DataSpec, VectorSpec
from zoo.metrics.measure import Measure
from zoo.tasks.inputs import Inputs, takes
from zoo.tasks.predictor import Predictor
from zoo.tasks.task import Scores, Task


class SignBatch(NamedTuple):
    index: Tensor
    numbers: Tensor
    labels: Tensor
    loss_weight: float = 1.0

    @property
    def throughput_counts(self) -> dict[str, int]:
        return {"sums": len(self.index)}

    @property
    def shape(self) -> str:
        return f"{len(self.index)} sums"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        return ("data.batch_size",)

    @staticmethod
    def contents() -> str:
        return "sums"


class Sums(Dataset[SignBatch]):
    def __init__(self, count: int, seed: int) -> None:
        self.numbers = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: Part) -> SignBatch:
        rows = torch.from_numpy(part.rows)
        numbers = self.numbers[rows]
        return SignBatch(rows, numbers, (numbers.sum(1) > 0).long(), part.loss_weight)


class SignData(DataModule):
    batch_type = SignBatch

    def __init__(
        self, *, seed: int, batch_size: int = 16, num_workers: int = 0, worker_timeout: float = 0
    ) -> None:
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        self.batch_size = batch_size

    def setup(self, stage: str | None = None) -> None:
        self._splits = {split: Sums(64, number) for number, split in enumerate(("train", "val", "test"))}
        self._spec = DataSpec("signs", {"numbers": VectorSpec(4)}, test_hash="signs", vocabulary_hash="signs")
        self.report = {split: {"sums": 64} for split in self._splits}

    def _batches(self, split: str, seed: int | None, layout: Layout) -> ShuffledBatches:
        return ShuffledBatches(64, self.batch_size, seed=seed, layout=layout)


class Linear(nn.Module):
    def __init__(self, *, spec: DataSpec) -> None:
        super().__init__()
        self.map = nn.Linear(4, 2)

    def forward(self, numbers: Tensor) -> Tensor:
        scores: Tensor = self.map(numbers)
        return scores


class SignError(MeanMetric):
    higher_is_better = False


class SignScores(Scores):
    def __init__(self) -> None:
        super().__init__()
        self.sign_error = SignError()

    def compute(self) -> dict[str, Tensor]:
        return {"sign_error": self.sign_error.compute()}


class Signs(Predictor):
    @takes(Inputs((list,), "four numbers", "[[1, 2, -3, 4]]"))
    def predict(self, sums: Sequence[list[float]]) -> list[str]:
        with torch.no_grad():
            scores = self.task.network(torch.tensor(sums, dtype=torch.float32))
        return ["above" if above else "below" for above in scores.argmax(1)]


class SignTask(Task):
    batch_type = SignBatch
    noun, unit = "sums", "sums"
    predictor = Signs
    metrics: ClassVar = {"sign_error": Measure(SignError, better="min", headline=True, watched=1)}

    def __init__(
        self, *, network: nn.Module, spec: DataSpec, optimizer: Any, scheduler: Any, monitor: str
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        self.network = network

    def new_scores(self, split: str) -> SignScores:
        return SignScores()

    def loss_of(self, batch: SignBatch) -> tuple[Tensor, dict[str, Tensor]]:
        return nn.functional.cross_entropy(self.network(batch.numbers), batch.labels), {}

    def _evaluate(self, split: str, batch: SignBatch) -> None:
        wrong = self.network(batch.numbers).argmax(1) != batch.labels
        self.scores[split].sign_error.update(wrong.float())
        self.predictions[split] += [
            {
                "id": number,
                "input": "",
                "references": [str(label)],
                "prediction": str(abs(label - miss)),
                "score": 0.0,
            }
            for number, label, miss in zip(
                batch.index.tolist(), batch.labels.tolist(), wrong.int().tolist(), strict=True
            )
        ]
