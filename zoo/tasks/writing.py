"""Writing: what tasks have in common whose networks write a text one token at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NotRequired, Protocol, TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from zoo.attention import Baseline, Reinforce, Selection, reward_to_go
from zoo.core.batch import Padded
from zoo.core.spec import TextSpec
from zoo.core.text import TextCodec
from zoo.decoding import Greedy, Hypothesis, Step
from zoo.kernels import linear_cross_entropy
from zoo.kernels.noise import of_items
from zoo.tasks.rules import Configured
from zoo.tasks.task import Task

Search = Callable[..., list[list[Hypothesis]]]


class Writer(Protocol):
    """What a writing task asks of a network; `zoo/networks/seq2seq.py` describes each part."""

    query_size: int
    project: nn.Module
    output: nn.Linear

    def init_state(self, memory: Any) -> Any:
        """The state before the first token."""

    def step(self, tokens: Tensor, state: Any, memory: Any) -> Step:
        """One decoding step."""

    def decode(self, memory: Any, inputs: Padded) -> Any:
        """The teacher-forced pass."""

    def logits(self, features: Tensor) -> Tensor:
        """Scores of the vocabulary: `output(project(features))`."""


class ReinforceParts(TypedDict):
    """How a selection that samples learns.

    Attributes:
        baseline: completed here with the size of the decoder's state.
        entropy_weight: of the bonus for undecided readings.
        discount: a reading is rewarded with the log-likelihood of its own token and, discount times less for
            each step, of later ones. 1 is unbiased for every decoder. 0 has the least variance, and is
            unbiased where no reading is fed back (Luong's decoder without input feeding). None rewards each
            reading with the log-likelihood of the whole text, as Xu et al. 2015 (section 4.1): as unbiased as
            1, and what a single moving average can foretell.
        weight: of the whole term beside the cross-entropy; 1 where it is left out.
    """

    baseline: Callable[..., Baseline]
    entropy_weight: float
    discount: float | None
    weight: NotRequired[float]


class WritingTask(Task, abstract=True):
    """Trains by cross-entropy, validates by free-running greedy search, tests by the configured search.

    Args:
        network: what writes.
        target: the text that it writes.
        optimizer: completed here with the parameters.
        scheduler: completed here with the optimizer; None for a constant rate.
        decoding: the search at test time.
        label_smoothing: share of the probability given to all tokens alike (Szegedy et al. 2016).
        reinforce: the term for sampled readings, used only when the network samples; None leaves them to
            chance (the configuration check refuses that).
        monitor: the metric that picks the best checkpoint (and that a plateau schedule watches).

    Raises:
        ValueError: label_smoothing or discount is no share, the weight of the entropy is negative, or that of
            the whole term is not above 0.
    """

    network: Writer

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """See `Task`."""
        return configured.samples

    def __init__(
        self,
        *,
        network: nn.Module,
        target: TextSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        decoding: Search,
        label_smoothing: float,
        reinforce: ReinforceParts | None,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be at least 0 and below 1, got {label_smoothing}")
        if reinforce is not None:
            _check_reinforce(reinforce)
        self.network = network  # type: ignore[assignment]
        self.target, self.target_codec = target, TextCodec(target)
        self.decoding, self.label_smoothing = decoding, label_smoothing
        self.reinforce: Reinforce | None = None
        samples = any(isinstance(part, Selection) and part.samples for part in network.modules())
        if samples and reinforce is not None:
            baseline = reinforce["baseline"](state_size=self.network.query_size)
            self.reinforce = Reinforce(baseline=baseline, entropy_weight=reinforce["entropy_weight"])
            self.discount, self.weight = reinforce["discount"], reinforce.get("weight", 1.0)

    # Training

    def _loss(self, decoded: Any, labels: Padded) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropy per real token, and the REINFORCE term where readings are sampled; its terms by name.

        Args:
            decoded: the teacher-forced pass.
            labels: `(B, T)`, what it must predict.
        """
        total = self._cross_entropy(decoded.features, labels, self.label_smoothing)
        cross_entropy = total / labels.lengths.sum()
        terms = {"cross_entropy": cross_entropy}
        if self.reinforce is None:
            return cross_entropy, terms
        terms |= self._reinforce_terms(self.reinforce, decoded, labels)
        return cross_entropy + self.weight * terms.pop("reinforce_loss"), terms

    def _cross_entropy(self, features: Tensor, labels: Padded, label_smoothing: float = 0.0) -> Tensor:
        """The sum over all real tokens."""
        return linear_cross_entropy(
            self.network.project(features),
            self.network.output,
            labels.ids,
            padding=self.target.pad,
            label_smoothing=label_smoothing,
        )

    @torch.no_grad()
    def _log_likelihood(self, features: Tensor, labels: Padded) -> Tensor:
        """`(B, T)`, of each token; of padding 0."""
        logits = self.network.logits(features).float()
        # Rows of a matrix: over another axis than the last torch takes three times as long.
        nll = F.cross_entropy(
            logits.flatten(0, 1), labels.ids.flatten(), ignore_index=self.target.pad, reduction="none"
        )
        return -nll.view_as(labels.ids)

    def _reinforce_terms(self, reinforce: Reinforce, decoded: Any, labels: Padded) -> dict[str, Tensor]:
        """Rewards each reading with the log-likelihood of the tokens that it can still change, or of all."""
        log_likelihood, soft_reward = self._log_likelihood(decoded.features, labels), None
        if reinforce.baseline.reads_softly and decoded.soft_features is not None:
            soft_reward = self._log_likelihood(decoded.soft_features(), labels)
        terms = reinforce(
            log_prob=decoded.log_prob,
            reward=(
                log_likelihood.sum(1, keepdim=True).expand_as(log_likelihood)
                if self.discount is None
                else reward_to_go(log_likelihood, self.discount)
            ),
            state=decoded.queries,
            keep_mask=labels.keep_mask,
            entropy=decoded.entropy,
            soft_reward=soft_reward,
        )
        named: dict[str, Tensor] = terms._asdict()
        loss = per_token(named.pop("loss"), labels)
        return {"reinforce_loss": loss, **{name: term for name, term in named.items() if term is not None}}

    # Evaluation

    def _search_of(self, split: str) -> Search:
        """Greedy search for validation, which must be cheap; the configured one for tests."""
        return Greedy() if split == "val" else self.decoding

    def _keep_predictions(
        self,
        split: str,
        index: Tensor,
        inputs: Iterable[str],
        references: Iterable[list[str]],
        texts: Iterable[str],
        hypotheses: Sequence[Hypothesis],
    ) -> None:
        """Keeps what was written for each item, beside what should have been."""
        self.predictions[split] += [
            {
                "id": number,
                "input": given,
                "references": wanted,
                "prediction": text,
                "score": hypothesis.score,
                "finished": hypothesis.finished,
            }
            for number, given, wanted, text, hypothesis in zip(
                index.tolist(), inputs, references, texts, hypotheses, strict=True
            )
        ]

    # Search

    def _write(
        self,
        search: Search,
        memory: Any,
        limits: Tensor,
        *,
        weights: bool = True,
        write_unknown: bool = False,
    ) -> list[list[Hypothesis]]:
        """Searches behind a memory.

        Args:
            search: any of `zoo.decoding`.
            memory: of B items.
            limits: `(B,)`, most tokens of each, which must not depend on the batch that it is in.
            weights: False forgets at once what was attended to.
            write_unknown: whether `<unk>` may be written.
        """
        special = (self.target.pad, self.target.bos)

        def step(tokens: Tensor, state: Any, memory: tuple[Any, Tensor]) -> Step:
            remembered, items = memory
            with of_items(items):  # what is sampled in a step belongs to its item
                result: Step = self.network.step(tokens, state, remembered)
            return result if weights else result._replace(weights=None)

        return search(
            step,
            self.network.init_state(memory),
            (memory, torch.arange(len(limits), device=limits.device)),
            bos=self.target.bos,
            eos=self.target.eos,
            forbidden=special if write_unknown else (*special, self.target.unk),
            maximum_length=limits,
        )


def per_token(mean_over_sentences: Tensor, labels: Padded) -> Tensor:
    """What is a sum over each sentence's steps, on the scale of the cross-entropy beside it, per token."""
    return mean_over_sentences * len(labels.lengths) / labels.lengths.sum()


def _check_reinforce(reinforce: ReinforceParts) -> None:
    if reinforce["discount"] is not None and not 0 <= reinforce["discount"] <= 1:
        raise ValueError(f"discount must be from 0 to 1, or null, got {reinforce['discount']}")
    if reinforce["entropy_weight"] < 0:
        raise ValueError(f"entropy_weight must be at least 0, got {reinforce['entropy_weight']}")
    if not reinforce.get("weight", 1.0) > 0:
        raise ValueError(f"weight must be above 0, got {reinforce['weight']}")
