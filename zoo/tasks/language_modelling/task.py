"""Language modelling: the network predicts each token of running text from those before it."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torchmetrics import MeanMetric

from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec
from zoo.decoding import Hypothesis
from zoo.kernels import linear_cross_entropy
from zoo.metrics import Measure, Perplexity
from zoo.networks.language_model import LanguageModel, Modelled, begun_anew
from zoo.tasks.exploration import Answer, TokenReading, candidates, mechanism, self_readings
from zoo.tasks.language_modelling.batch import TextBatch
from zoo.tasks.language_modelling.predictor import TextGenerator
from zoo.tasks.language_modelling.rules import (
    absent_metrics,
    one_token_after_another,
    state_reads_the_text_in_order,
)
from zoo.tasks.language_modelling.scores import LOSS_ITEMS, BitsPerCharacter, LanguageScores
from zoo.tasks.rules import Configured
from zoo.tasks.task import Task
from zoo.tasks.writing import Search

_SCORES_AT_ONCE = 2**24
"""The most scores of the vocabulary that evaluation holds at a time."""


class LanguageModelling(Task):
    """Trains by the cross-entropy of each token.

    The state of a network that has one is carried on from a window to the next, without a gradient
    (truncated backpropagation through time), and begins anew where the text does. Checkpoints hold it, so
    that a training which is taken up in the middle of an epoch goes on as if it had never stopped; under
    several processes the first window after that begins without.

    Args:
        network: built for `spec`.
        spec: the text.
        optimizer: see `Task`.
        scheduler: see `Task`.
        decoding: how a text is continued.
        monitor: see `Task`.
    """

    batch_type = TextBatch
    noun, unit = "documents", "tokens"
    predictor = TextGenerator
    rules = (state_reads_the_text_in_order, one_token_after_another)
    metrics: ClassVar = {
        "bits_per_character": Measure(BitsPerCharacter, better="min", digits=3, headline=True, watched=2),
        "perplexity": Measure(Perplexity, better="min", digits=2, headline=True, watched=3),
        "loss": Measure(Perplexity, better="min", digits=4, role="support", watched=1, items=LOSS_ITEMS),
        "accuracy": Measure(MeanMetric, better="max", digits=4, role="support", watched=4, share=True),
    }

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return absent_metrics(configured)

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """See `Task`: nothing is sampled."""
        return False

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        decoding: Search,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        self.network: LanguageModel = network  # type: ignore[assignment]
        self.text = spec.text("text")
        self.codec = TextCodec(self.text)
        self.decoding = decoding
        self.by_position: dict[str, list[float]] = {}
        """By split, the mean loss at each place of a window."""
        self._states: dict[str, Any] = {}  # of the windows that were read last, by what they were read for
        self._part = ""

    # Training

    def training_step(self, batch: TextBatch, batch_idx: int) -> Tensor:
        """See `Task`; each part of a batch has a state of its own."""
        parts = 1 if self._trainer is None else self.trainer.accumulate_grad_batches
        self._part = f"train{batch_idx % parts}"
        return super().training_step(batch, batch_idx)

    def loss_of(self, batch: TextBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`: the mean cross-entropy of the predicted tokens, in nats."""
        hidden = self._read(self._part, batch).hidden
        total = linear_cross_entropy(hidden, self.network.output, batch.targets, padding=self.text.pad)
        loss = total / (batch.targets != self.text.pad).sum()
        return loss, {"cross_entropy": loss}

    def _read(self, part: str, batch: TextBatch) -> Modelled:
        """Reads windows; where the network carries a state, from where the windows before ended."""
        if not self.network.carries:
            return self.network(batch.tokens)
        read = self.network(batch.tokens, self._state_before(part, batch))
        self._states[part] = tree_map(Tensor.detach, read.state)
        return read

    def _state_before(self, part: str, batch: TextBatch) -> Any:
        """The state in which windows begin; None where all begin anew."""
        held, rows = self._states.get(part), len(batch.tokens)
        if held is None:
            return None
        leaves, shape = tree_flatten(held)
        if len(leaves[0]) < rows:  # the end of the text was narrower, and now it begins anew
            return None
        if isinstance(held, list):  # from a checkpoint: how it is nested, the network knows
            shape = tree_flatten(self.network.init_state(1))[1]
        own = [leaf[:rows].to(batch.tokens.device) for leaf in leaves]
        return begun_anew(tree_unflatten(own, shape), batch.carried)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds the states of training windows as plain lists."""
        states = {part: state for part, state in self._states.items() if part.startswith("train")}
        checkpoint["carried_states"] = {
            part: [leaf.clone() for leaf in tree_flatten(state)[0]] for part, state in states.items()
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes up the states; other processes than the first do not find theirs."""
        if self._trainer is None or self.trainer.world_size == 1:
            self._states = {part: list(one) for part, one in checkpoint.get("carried_states", {}).items()}

    # Evaluation

    def new_scores(self, split: str) -> LanguageScores:
        """See `Task`."""
        return LanguageScores(self.text, self._reading)

    @property
    def _reading(self) -> str:
        reading: str = self.trainer.datamodule.reading  # type: ignore[attr-defined]
        return f"{reading}, state carried on" if self.network.carries else reading

    def on_validation_epoch_start(self) -> None:
        """See `Task`; the text begins anew."""
        super().on_validation_epoch_start()
        self._states.pop("val", None)

    def on_test_epoch_start(self) -> None:
        """See `Task`; the texts begin anew."""
        super().on_test_epoch_start()
        for split in self.test_splits:
            self._states.pop(split, None)

    def _evaluate(self, split: str, batch: TextBatch) -> None:
        nll, hits = self._measured(self._read(split, batch).hidden, batch.targets)
        real = batch.targets != self.text.pad
        texts = [self.codec.decode(row[kept].tolist()) for row, kept in zip(batch.targets, real, strict=True)]
        cast(LanguageScores, self.scores[split]).update(nll, hits, real, sum(map(len, texts)))
        self._keep_predictions(
            split,
            batch.index,
            input=texts,
            references=[[] for _ in texts],
            prediction=[""] * len(texts),
            score=(-nll.cpu().double().sum(1)).tolist(),
            tokens=real.sum(1).tolist(),
            finished=[True] * len(texts),
        )

    def _measured(self, hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each target in nats, 0 of padding, and whether it is the most probable token."""
        flat, labels = hidden.flatten(0, 1), targets.flatten()
        losses, hits = [], []
        rows = max(1, _SCORES_AT_ONCE // self.text.size)
        for start in range(0, len(labels), rows):
            scores = self.network.output(flat[start : start + rows]).float()
            wanted = labels[start : start + rows]
            losses.append(F.cross_entropy(scores, wanted, ignore_index=self.text.pad, reduction="none"))
            hits.append((scores.argmax(-1) == wanted) & (wanted != self.text.pad))
        return torch.cat(losses).view_as(targets), torch.cat(hits).view_as(targets)

    def _finish(self, split: str) -> dict[str, Tensor]:
        """See `Task`; keeps the losses by position, too."""
        places = cast(LanguageScores, self.scores[split]).by_position.compute().tolist()
        self.by_position[split] = [loss for loss in places if loss == loss]  # a nan where nothing stands
        return super()._finish(split)

    def details(self) -> dict[str, Any]:
        """See `Task`; of the test split the loss at each place of a window."""
        losses = self.by_position.get("test")
        return {"loss_by_position": [round(loss, 4) for loss in losses]} if losses else {}

    # Use

    def continued(self, ids: Sequence[int], search: Search, length: int) -> list[Hypothesis]:
        """Continuations of a text, best first.

        Args:
            ids: the text, at least one token.
            search: how they are found.
            length: the most tokens of each.
        """
        with torch.no_grad():
            return search(
                lambda tokens, state, memory: self.network.step(tokens, state),
                self.state_behind(ids[:-1]),
                (),
                bos=ids[-1],
                eos=self.end,
                forbidden=self.never,
                maximum_length=torch.tensor([length], device=self.device),
            )[0]

    @torch.no_grad()
    def state_behind(self, ids: Sequence[int]) -> Any:
        """The state behind some tokens, of which those are read that the model can still see."""
        state = self.network.init_state(1)
        if context := self.network.context:
            ids = ids[max(0, len(ids) - context) :]
        for token in ids:
            state = self.network.step(torch.tensor([[token]], device=self.device), state).state
        return state

    @torch.no_grad()
    def readings(self, ids: Sequence[int]) -> tuple[list[TokenReading], list[list[Answer]]]:
        """What each token of a text read, and what might follow it, the token that does among it.

        Args:
            ids: of the text, at most `context` of them.

        Returns:
            A view for each kind of attention, and the candidates behind each token.
        """
        tokens = torch.tensor([ids], device=self.device)
        logits = self.network.output(self.network(tokens).hidden[0])
        following = [*ids[1:], int(logits[-1].argmax())]
        likely = candidates(logits, following, lambda one: self.codec.decode([one]))
        find = getattr(self.network, "attention_maps", None)
        shown = [self.codec.decode([one]) for one in ids]
        views = [] if find is None else self_readings(find(tokens), shown, mechanism(self))
        return [view._replace(candidates=likely, candidates_name="may follow") for view in views], likely

    def text_behind(self, before: Sequence[int], ids: Sequence[int]) -> str:
        """The text of `ids` where they stand behind others."""
        return self.codec.decode([*before, *ids])[len(self.codec.decode(before)) :]

    def room_behind(self, ids: Sequence[int]) -> int | None:
        """How many tokens may follow a text; None where its beginning makes room for more."""
        context = self.network.context
        if context is None or getattr(self.network, "slides", True):
            return None
        return max(0, context + 1 - len(ids))  # nothing is read behind the last

    @property
    def end(self) -> int:
        """The token that ends a text; an id that there is not where no token does."""
        return -1 if self.text.end is None else self.text.end

    @property
    def never(self) -> list[int]:
        """Special tokens that no continuation has."""
        return [number for number in self.text.special.values() if number != self.end]

    @torch.no_grad()
    def score(self, texts: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of each token but the first of texts, in nats; of each from its own context.

        A network without a state reads a long text in windows that overlap by half.

        Args:
            texts: ids.
        """
        return [self._score_one(ids) for ids in texts]

    def _score_one(self, ids: Sequence[int]) -> list[float]:
        tokens = torch.tensor([ids], dtype=torch.int64, device=self.device)
        context = self.network.context or self.text.maximum_length
        found: list[float] = []
        state, start = None, 0
        while len(found) < len(ids) - 1:
            window = tokens[:, start : start + context + 1]
            read = self.network(window[:, :-1], state)
            nll, _ = self._measured(read.hidden, window[:, 1:])
            found += (-nll[0, len(found) - start :]).tolist()
            if self.network.carries:
                start, state = start + context, read.state
            else:
                start += max(1, context // 2)
        return found
