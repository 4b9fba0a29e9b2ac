"""Memory: the network reads sequences of bit vectors and answers them (Graves et al. 2014, section 4)."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, cast

import torch
import torch.nn.functional as F
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from zoo.core.bit_sequences import BitSequence
from zoo.core.spec import DataSpec
from zoo.metrics import Control, Measure
from zoo.tasks.memory.answered import Answered
from zoo.tasks.memory.batch import SequenceBatch
from zoo.tasks.memory.predictor import SequenceAnswerer
from zoo.tasks.memory.scores import BITS_ITEMS, EXACT_ITEMS, MeanBySize, MemoryScores
from zoo.tasks.task import Task


class Answer(Protocol):
    """What a network says of sequences."""

    @property
    def logits(self) -> Tensor:
        """`(B, T, O)`, log-odds of each bit."""

    @property
    def trace(self) -> Any:
        """See `zoo.networks.sequences.Trace`; None of a network that attends to nothing."""


class MemoryNetwork(Protocol):
    """The network of the task."""

    def __call__(self, inputs: Tensor) -> Answer:
        """Answers `(B, T, C)`; the answer to a step depends on no later one."""


class MemoryTask(Task):
    """Trains by the cross-entropy of bits, a mean over all bits that count.

    `bits_per_sequence` is the paper's measure: the cross-entropy of all bits of a sequence, in bits, summed.

    Args:
        network: built for `spec`.
        spec: the widths of `inputs` and `targets`.
        optimizer: see `Task`.
        scheduler: see `Task`.
        monitor: see `Task`.
    """

    batch_type = SequenceBatch
    noun, unit = "sequences", "sequences"
    predictor = SequenceAnswerer
    metrics: ClassVar = {
        "bits_per_sequence": Measure(MeanBySize, better="min", headline=True, watched=1, items=BITS_ITEMS),
        "wrong_bits": Measure(MeanBySize, better="min", digits=4, watched=2, share=True),
        "exact_sequences": Measure(MeanBySize, better="max", items=EXACT_ITEMS, share=True),
    }
    controls: ClassVar = {"optimal": Control("the best predictor that there is")}

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        self.network: MemoryNetwork = network
        self.spec = spec

    def loss_of(self, batch: SequenceBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`: nats per bit."""
        logits = self.network(batch.inputs).logits.float()
        losses = F.binary_cross_entropy_with_logits(logits, batch.targets, reduction="none")
        counted = batch.scored.unsqueeze(-1)
        loss = torch.where(counted, losses, 0.0).sum() / (counted.sum() * losses.shape[-1])
        return loss, {"cross_entropy": loss}

    # Evaluation

    def new_scores(self, split: str) -> MemoryScores:
        """See `Task`."""
        return MemoryScores()

    def _evaluate(self, split: str, batch: SequenceBatch) -> None:
        scores = cast(MemoryScores, self.scores[split])
        logits = self.network(batch.inputs).logits.float()
        losses = F.binary_cross_entropy_with_logits(logits, batch.targets, reduction="none")
        found, counted = logits > 0, batch.scored.unsqueeze(-1)
        wrong = ((found != (batch.targets > 0.5)) & counted).sum((1, 2)).float()
        bits = torch.where(counted, losses, 0.0).sum((1, 2)) / math.log(2)
        answered = (batch.scored.sum(1) * losses.shape[-1]).float()
        group, ones = torch.where(batch.apart, batch.size, 0), torch.ones_like(bits)
        scores.bits_per_sequence.update(bits, ones, group)
        scores.wrong_bits.update(wrong / answered, answered, group)
        scores.exact_sequences.update((wrong == 0).float(), ones, group)
        self._keep_predictions(
            split,
            batch.index,
            input=batch.names,
            references=[[text] for text in _texts(batch.targets > 0.5, batch.scored)],
            prediction=_texts(found, batch.scored),
            score=(-bits).tolist(),
            finished=[True] * len(batch.index),
            bits=bits.tolist(),
            exact=(wrong == 0).tolist(),
            size=batch.size.tolist(),
            apart=batch.apart.tolist(),
        )

    # Prediction

    def answer(self, item: BitSequence) -> Answered:
        """The answer to one sequence."""
        inputs, targets, scored = (torch.from_numpy(part)[None] for part in item)
        nothing = torch.zeros(1, dtype=torch.int64)
        return self.answers(
            SequenceBatch(nothing, inputs, targets, scored, nothing, nothing.bool(), ["sequence"])
        )[0]

    @torch.no_grad()
    def answers(self, batch: SequenceBatch) -> list[Answered]:
        """The answer to each sequence of a batch, in its own steps."""
        moved = move_data_to_device(batch, self.device)
        found = self.network(moved.inputs)
        probabilities = torch.where(moved.scored.unsqueeze(-1), found.logits.float().sigmoid(), 0.0).cpu()
        reads, writes, over_steps = None, None, False
        if (trace := found.trace) is not None:
            reads, writes = (weights.float().cpu() for weights in (trace.read_weights, trace.write_weights))
            over_steps = trace.over_steps
        answered = []
        for row, scored in enumerate(batch.scored.cpu()):
            steps = int(scored.nonzero().max()) + 1  # an answer ends a sequence
            places = steps if over_steps else None
            answered.append(
                Answered(
                    batch.inputs[row, :steps].float().cpu(),
                    batch.targets[row, :steps].float().cpu(),
                    probabilities[row, :steps],
                    scored[:steps],
                    None if reads is None else reads[row, :steps, :, :places],
                    None if writes is None else writes[row, :steps, :, :places],
                    over_steps=over_steps,
                )
            )
        return answered


def _texts(bits: Tensor, scored: Tensor) -> list[str]:
    """The bits of the steps that count, `(B, T, O)`: a word of zeros and ones for each step."""
    return [
        " ".join("".join("1" if bit else "0" for bit in step) for step in of_one[counted].tolist())
        for of_one, counted in zip(bits.cpu(), scored.cpu(), strict=True)
    ]
