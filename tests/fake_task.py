"""A task small enough to follow by hand."""

from collections.abc import Callable
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor

from zoo.core.batch import Padded
from zoo.tasks.head_maps import HeadMaps
from zoo.tasks.translation.batch import TranslationBatch
from zoo.tasks.translation.translation import Translation

Fit = Callable[..., pl.Trainer]

SENTENCES = [f"{'word ' * (number % 6)}{number}" for number in range(12)]
BATCHES = 4


def batch(number: int) -> TranslationBatch:
    """Three sentences: 4 + 3 + 2 tokens in 12 places on both sides; 3 + 2 + 1 are to be predicted."""
    index = torch.arange(3) + 3 * number
    side = Padded(torch.ones(3, 4, dtype=torch.int64), torch.tensor([4, 3, 2]))
    texts = [SENTENCES[place] for place in index]
    return TranslationBatch(index, side, side, texts, [text.upper() for text in texts])


class FakeTask(pl.LightningModule):
    """Halves one weight at every step; `loss_at` replaces the loss of a step, `gradient_at` its gradient."""

    noun, unit = "sentences", "tokens"

    def __init__(self, *, attention: bool = True, heads: bool = False) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0]))
        self.attention, self.heads = attention, heads
        self.loss_at: dict[int, float] = {}
        self.gradient_at: dict[int, float] = {}
        self.predictions: dict[str, list[dict[str, Any]]] = {}
        self.translated: list[list[str]] = []
        self.mapped: list[list[str]] = []

    def training_step(self, batch: TranslationBatch, number: int) -> Tensor:
        step = self.trainer.global_step + 1
        loss = self.weight.square().sum() * self.loss_at.get(step, 1.0)
        self.terms = {"loss": loss.detach()}
        self.log("train/loss", loss.detach())
        return loss

    def on_before_optimizer_step(self, optimizer: object) -> None:
        assert self.weight.grad is not None
        self.weight.grad *= self.gradient_at.get(self.trainer.global_step + 1, 1.0)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.25)

    def on_validation_epoch_start(self) -> None:
        self.predictions["val"] = []

    def validation_step(self, batch: TranslationBatch, number: int) -> None:
        self._predict("val", batch)

    def on_validation_epoch_end(self) -> None:
        self.log_dict({"val/score": float(self.trainer.global_step), "val/tf_loss": 1.5})

    def on_test_epoch_start(self) -> None:
        self.predictions["test"] = []

    def test_step(self, batch: TranslationBatch, number: int) -> None:
        self._predict("test", batch)

    def on_test_epoch_end(self) -> None:
        self.log("test/score", 0.5)

    def _predict(self, split: str, batch: TranslationBatch) -> None:
        self.predictions[split] += [
            {
                "id": int(i),
                "input": a,
                "references": [b],
                "prediction": f"<{a}>",
                "score": 0.0,
                "finished": True,
            }
            for i, a, b in zip(batch.index, batch.source_text, batch.target_text, strict=True)
        ]

    def translate(self, texts: list[str]) -> list[list[Translation]]:
        self.translated.append(texts)
        weights = torch.full((3, 2), 0.5) if self.attention else None
        return [[Translation(text, -1.0, True, ["a", "</s>"], ["x", "y", "</s>"], weights)] for text in texts]

    def attention_maps(self, texts: list[str], translations: list[Translation]) -> list[dict[str, HeadMaps]]:
        assert [translation.text for translation in translations] == texts
        self.mapped.append(texts)
        maps = {"cross": HeadMaps(torch.full((1, 2, 3, 2), 0.5), ["x", "y", "</s>"], ["a", "</s>"])}
        return [maps if self.heads else {} for _ in texts]
