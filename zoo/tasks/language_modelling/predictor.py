"""Continues texts with a trained model, and scores them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from zoo.decoding import Greedy, Sample
from zoo.decoding.sample import draw, filtered
from zoo.decoding.step import Step
from zoo.tasks.inputs import SENTENCES, check_whole_number, takes
from zoo.tasks.predictor import Predictor

if TYPE_CHECKING:
    from zoo.tasks.language_modelling.task import LanguageModelling

LENGTH = 200
"""Tokens of a continuation, where nothing else is asked for."""


class Continuation(NamedTuple):
    """How a text may go on.

    Attributes:
        prompt: the text.
        text: what follows it.
        log_prob: the log-probability of the continuation, in nats.
        finished: whether it ends because the model ends the text there.
    """

    prompt: str
    text: str
    log_prob: float
    finished: bool


class Score(NamedTuple):
    """How probable a text is.

    Attributes:
        log_prob: of all its tokens but the first, given those before them, in nats.
        tokens: how many these are.
    """

    log_prob: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """Per token; NaN of a text of one token."""
        return float(torch.exp(torch.tensor(-self.log_prob / self.tokens))) if self.tokens else float("nan")


class TextGenerator(Predictor):
    """A trained language model."""

    task: "LanguageModelling"
    doing = "continuing"

    def __call__(self, text: str) -> str:
        """A text with its continuation."""
        best = self.predict([text])[0][0]
        return best.prompt + best.text

    @takes(SENTENCES)
    def predict(
        self,
        texts: Sequence[str],
        nbest: int = 1,
        *,
        length: int = LENGTH,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Continuation]]:
        """Continuations of each text, the most probable first; each text for itself, so no batch matters.

        Args:
            texts: raw texts; a blank one is continued, too, where it has a token.
            nbest: how many of each, drawn at random; greedy search gives one.
            length: tokens of a continuation, fewer where the model ends the text.
            temperature: divides the log-probabilities; 0 always takes the most probable token. None, as for
                the following: as configured by `decoding`.
            top_k: how many most probable tokens are drawn from.
            top_p: which probability the tokens that are drawn from have together.
            seed: of the draws.
            progress: called after each text with 1.

        Raises:
            ValueError: a number is out of range, or a text has no token.
        """
        check_whole_number("length", length, least=1)
        search = self._search(nbest, temperature, top_k, top_p, seed)
        answers = []
        for text in texts:
            ids = self._ids(text)
            with torch.no_grad(), self.autocast():
                state, memory = self.read(ids[:-1]), ()
                found = search(
                    self._step,
                    state,
                    memory,
                    bos=ids[-1],
                    eos=self._end,
                    forbidden=self._forbidden,
                    maximum_length=torch.tensor([length], device=self.task.device),
                )[0]
            answers.append(
                [
                    Continuation(text, self._continued(ids, one.ids), one.log_prob, one.finished)
                    for one in found[:nbest]
                ]
            )
            if progress is not None:
                progress(1)
        return answers

    def stream(
        self,
        text: str,
        *,
        length: int = LENGTH,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
    ) -> Iterator[str]:
        """The continuation of one text piece by piece, as it is written; arguments as for `predict`."""
        check_whole_number("length", length, least=1)
        search = self._search(1, temperature, top_k, top_p, seed)
        ids, shown = self._ids(text), ""
        written: list[int] = []
        never = torch.tensor(self._forbidden, dtype=torch.int64, device=self.task.device)
        uniform = torch.Generator().manual_seed(getattr(search, "seed", 0))
        state, token = self.read(ids[:-1]), ids[-1]
        while len(written) < length:
            with torch.no_grad(), self.autocast():
                step = self._step(torch.tensor([[token]], device=self.task.device), state, ())
            state, log_probs = step.state, step.log_probs[0, 0].index_fill(0, never, float("-inf"))
            if isinstance(search, Sample):
                probabilities = filtered(
                    log_probs, temperature=search.temperature, top_k=search.top_k, top_p=search.top_p
                )
                token = int(draw(probabilities, torch.rand((), generator=uniform).to(probabilities.device)))
            else:
                token = int(log_probs.argmax())
            if token == self._end:
                return
            written.append(token)
            whole = self._continued(ids, written)
            if not whole.endswith("�"):  # a character of several bytes is not whole yet
                yield whole[len(shown) :]
                shown = whole

    @torch.no_grad()
    def score(self, texts: Sequence[str]) -> list[Score]:
        """How probable each text is.

        Raises:
            ValueError: a text has no token.
        """
        found = []
        for text in SENTENCES.checked(texts, "texts"):
            with self.autocast():
                (log_probs,) = self.task.score([self._ids(text)])
            found.append(Score(sum(log_probs), len(log_probs)))
        return found

    def columns(self, answer: Continuation, nbest: int) -> list[str]:
        """The text with its continuation; before it, of several, the log-probability."""
        whole = answer.prompt + answer.text
        return [f"{answer.log_prob:.2f}", whole] if nbest > 1 else [whole]

    def read(self, ids: Sequence[int]) -> Any:
        """The state behind some tokens, of which those count that the model can still see."""
        state = self.task.network.init_state(1)
        if context := self.task.network.context:
            ids = ids[max(0, len(ids) - context) :]
        with torch.no_grad(), self.autocast():
            for token in ids:
                state = self._step(torch.tensor([[token]], device=self.task.device), state, ()).state
        return state

    def _step(self, tokens: Tensor, state: Any, memory: Any) -> Step:
        return self.task.network.step(tokens, state)

    def _search(
        self,
        nbest: int,
        temperature: float | None,
        top_k: int | None,
        top_p: float | None,
        seed: int | None,
    ) -> Greedy | Sample:
        configured = self.task.decoding
        if temperature == 0 or (temperature is None and not isinstance(configured, Sample)):
            if nbest > 1:
                raise ValueError(f"greedy search gives one continuation, got nbest={nbest}: give temperature")
            return Greedy()
        base = configured if isinstance(configured, Sample) else Sample()
        return Sample(
            temperature=base.temperature if temperature is None else temperature,
            top_k=base.top_k if top_k is None else top_k,
            top_p=base.top_p if top_p is None else top_p,
            samples=nbest,
            seed=base.seed if seed is None else seed,
        )

    def _ids(self, text: str) -> list[int]:
        """The ids of a text, without those that would end it."""
        (ids,) = self.task.codec.encode([text])
        while ids and ids[-1] == self._end:
            ids.pop()
        if not ids:
            raise ValueError(f"a text must have a token to go on from, got {text!r}")
        return ids

    def _continued(self, ids: Sequence[int], written: Sequence[int]) -> str:
        """The text of what was written behind some ids."""
        before = self.task.codec.decode(ids)
        return self.task.codec.decode([*ids, *written])[len(before) :]

    @property
    def _end(self) -> int:
        """The token that ends a text; an id that there is not where no token does."""
        end = self.task.text.end
        return -1 if end is None else end

    @property
    def _forbidden(self) -> list[int]:
        special = self.task.text.special
        return [number for name, number in special.items() if number != self._end]
