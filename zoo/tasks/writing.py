"""What tasks have in common whose networks write a text token by token."""

from collections.abc import Callable, Sequence
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
from zoo.tasks.exploration import Answer, candidates
from zoo.tasks.policy_gradient import check_reinforce, named_terms
from zoo.tasks.rules import Configured
from zoo.tasks.task import Task

Search = Callable[..., list[list[Hypothesis]]]


class Writer(Protocol):
    """The network of a writing task; `zoo/networks/seq2seq.py` describes each part."""

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
        entropy_weight: of the entropy bonus.
        discount: a reading is rewarded with the log-likelihood of its own token and of later ones, each step
            discounted. 1 is unbiased. 0 has the least variance, and is unbiased where no reading is fed back
            (Luong's decoder without input feeding). None rewards each reading with the log-likelihood of the
            whole text, as Xu et al. 2015 (section 4.1), which a single moving average can predict.
        weight: of the term in the loss; 1 where it is left out.
    """

    baseline: Callable[..., Baseline]
    entropy_weight: float
    discount: float | None
    weight: NotRequired[float]


class WritingTask(Task, abstract=True):
    """Trains by cross-entropy, validates by free-running greedy search, tests by the configured search.

    Args:
        network: the model.
        target: the text that it writes.
        optimizer: see `Task`.
        scheduler: see `Task`.
        decoding: the search at test time.
        label_smoothing: the probability that is spread over all tokens (Szegedy et al. 2016).
        reinforce: the REINFORCE term, used where the network samples readings; without it they do not learn
            (the configuration check refuses that).
        monitor: see `Task`.

    Raises:
        ValueError: a number is out of range.
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
            check_reinforce(reinforce)
        self.network = network  # type: ignore[assignment]
        self.target, self.target_codec = target, TextCodec(target)
        self._special = (target.pad, target.bos)  # never written; nor is <unk>, unless it is asked for
        self.decoding, self.label_smoothing = decoding, label_smoothing
        self.reinforce: Reinforce | None = None
        samples = any(isinstance(part, Selection) and part.samples for part in network.modules())
        if samples and reinforce is not None:
            baseline = reinforce["baseline"](state_size=self.network.query_size)
            self.reinforce = Reinforce(baseline=baseline, entropy_weight=reinforce["entropy_weight"])
            self.discount, self.weight = reinforce["discount"], reinforce.get("weight", 1.0)

    # Training

    def _loss(self, decoded: Any, labels: Padded) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss per real token and its terms: cross-entropy, and REINFORCE where readings are sampled.

        Args:
            decoded: the teacher-forced pass.
            labels: `(B, T)`, the tokens to predict.
        """
        total = self._cross_entropy(decoded.features, labels, self.label_smoothing)
        cross_entropy = total / labels.lengths.sum()
        terms = {"cross_entropy": cross_entropy}
        if self.reinforce is None:
            return cross_entropy, terms
        terms |= self._reinforce_terms(self.reinforce, decoded, labels)
        return cross_entropy + self.weight * terms.pop("reinforce_loss"), terms

    def _cross_entropy(self, features: Tensor, labels: Padded, label_smoothing: float = 0.0) -> Tensor:
        """The cross-entropy, summed over all real tokens."""
        return linear_cross_entropy(
            self.network.project(features),
            self.network.output,
            labels.ids,
            padding=self.target.pad,
            label_smoothing=label_smoothing,
        )

    def _log_likelihood(self, features: Tensor, labels: Padded, forbidden: Sequence[int] = ()) -> Tensor:
        """The log-likelihood of each token, `(B, T)`; of padding 0. Forbidden tokens have no probability."""
        logits = self.network.logits(features).float()
        if forbidden:
            logits = logits.index_fill(-1, torch.tensor(forbidden, device=logits.device), -torch.inf)
        # Rows of a matrix: over another axis than the last torch takes three times as long.
        nll = F.cross_entropy(
            logits.flatten(0, 1), labels.ids.flatten(), ignore_index=self.target.pad, reduction="none"
        )
        return -nll.view_as(labels.ids)

    def _reinforce_terms(self, reinforce: Reinforce, decoded: Any, labels: Padded) -> dict[str, Tensor]:
        """The terms of REINFORCE by name, see `ReinforceParts`."""
        with torch.no_grad():  # rewards
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
        named = named_terms(terms._asdict())
        return {"reinforce_loss": per_token(named.pop("loss"), labels), **named}

    # Evaluation

    def _candidates(self, decoded: Any, ids: Sequence[int]) -> list[list[Answer]]:
        """What might have stood in the place of each token of a text, of one item's teacher-forced pass."""
        logits = self.network.logits(decoded.features[0])
        return candidates(logits, ids, lambda one: self.target_codec.tokens([one])[0])

    def _search_of(self, split: str) -> Search:
        """Greedy search for validation, which must be cheap; the configured one for tests."""
        return Greedy() if split == "val" else self.decoding

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
        """The texts of B items, best first.

        Args:
            search: any of `zoo.decoding`.
            memory: of the items.
            limits: `(B,)`, the longest text of each in tokens, which must not depend on the batch.
            weights: False drops attention weights at once.
            write_unknown: whether `<unk>` may be written.
        """

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
            forbidden=self._special if write_unknown else (*self._special, self.target.unk),
            maximum_length=limits,
        )


def per_token(mean_over_sentences: Tensor, labels: Padded) -> Tensor:
    """A loss that is summed over each sentence's steps, on the scale of a cross-entropy per token."""
    return mean_over_sentences * len(labels.lengths) / labels.lengths.sum()
