"""Continues texts with a trained model, and scores them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch

from zoo.core.text import WRITTEN_MASK
from zoo.decoding import Greedy, Sample
from zoo.decoding.sample import draw as draw_token
from zoo.decoding.sample import filtered
from zoo.tasks.exploration import Answer, Exploration
from zoo.tasks.inputs import SENTENCES, check_whole_number, takes
from zoo.tasks.predictor import Predictor, check_picture, write_drawings

if TYPE_CHECKING:
    from zoo.tasks.language_modelling.task import LanguageModelling

LENGTH = 200
"""Tokens of a continuation, where nothing else is asked for."""


_CONTINUED = 20
"""Tokens of a continuation that `explore` shows."""


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
    reads_blanks = True

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
            ValueError: a number is out of range, a text has no token, or a context that does not slide ends
                before the continuation.
        """
        check_whole_number("length", length, least=1)
        search = self._search(nbest, temperature, top_k, top_p, seed)
        answers = []
        read = [self._ids(text) for text in texts]
        for ids in read:
            self._require_room(ids, length)
        for text, ids in zip(texts, read, strict=True):
            with self.autocast():
                found = self.task.continued(ids, search, length)
            answers.append(
                [
                    Continuation(text, self.task.text_behind(ids, one.ids), one.log_prob, one.finished)
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
        self._require_room(ids, length)
        written: list[int] = []
        whole = ""
        never = torch.tensor(self.task.never, dtype=torch.int64, device=self.task.device)
        uniform = torch.Generator().manual_seed(getattr(search, "seed", 0))
        with self.autocast():
            state, token = self.task.state_behind(ids[:-1]), ids[-1]
        while len(written) < length:
            with torch.no_grad(), self.autocast():
                step = self.task.network.step(torch.tensor([[token]], device=self.task.device), state)
            state, log_probs = step.state, step.log_probs[0, 0].index_fill(0, never, float("-inf"))
            if isinstance(search, Sample):
                probabilities = filtered(
                    log_probs, temperature=search.temperature, top_k=search.top_k, top_p=search.top_p
                )
                token = int(
                    draw_token(probabilities, torch.rand((), generator=uniform).to(probabilities.device))
                )
            else:
                token = int(log_probs.argmax())
            if token == self.task.end:
                break
            written.append(token)
            whole = self.task.text_behind(ids, written)
            if not whole.endswith("�"):  # a character of several bytes is not whole yet
                yield whole[len(shown) :]
                shown = whole
        if len(whole) > len(shown):  # it ends within a character
            yield whole[len(shown) :]

    def explore(self, given: str) -> Exploration:
        """A text with a short continuation, what each token read, and what might follow it.

        Of a text that is longer than the model sees at once, its end.
        """
        (given,) = SENTENCES.checked([given], "given")
        context, ids = self.task.network.context, self._ids(given)
        read = ids[-context:] if context else ids
        length = min(_CONTINUED, context - len(read)) if context else _CONTINUED
        whole, answers, notes = list(read), [], []
        if len(read) < len(ids):
            notes.append(f"longer than the model sees at once: the last {len(read):,} tokens are shown")
        with self.autocast():
            if length:
                found = self.task.continued(read, self._search(1, None, None, None, None), length)[0]
                text = self.task.text_behind(ids, found.ids)
                answers.append(Answer(given + text, note=f"log-probability {found.log_prob:.2f}"))
                whole += [one for one in found.ids if one != self.task.end]
            views, likely = self.task.readings(whole)
        answers += [one._replace(note="as the next token") for one in likely[len(read) - 1]]
        notes += [] if views else ["the model has no attention to show"]
        return Exploration(answers, views, notes)

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

    def plot(self, text: str, path: str | Path) -> list[Path]:
        """Draws what each head attends to in the beginning of a text, see `draw`."""
        return self.draw({self.name: self}, text, path)

    @staticmethod
    def draw(predictors: Mapping[str, "TextGenerator"], text: str, path: str | Path) -> list[Path]:
        """Draws what each head of several models attends to in the beginning of a text.

        Args:
            predictors: the models, by the names that stand in titles.
            text: a raw text.
            path: the first drawing; others lie beside it, with the names of model and attention.

        Returns:
            The drawings.

        Raises:
            ValueError: no model has attention to draw, or a file cannot be written.
        """
        from zoo.tasks.language_modelling.figures import heads_of

        check_picture(path)
        figures = {
            f"{name}_{kind}": figure
            for name, one in predictors.items()
            for kind, figure in heads_of(one.task, one._ids(text), title=name).items()
        }
        if not figures:
            raise ValueError(f"cannot draw {path}: {', '.join(predictors)} has no attention to draw")
        path = Path(path)
        files = [path, *(path.with_stem(f"{path.stem}_{name}") for name in list(figures)[1:])]
        return write_drawings(dict(zip(files, figures.values(), strict=True)))

    def remarks(self, answers: Sequence[Continuation]) -> Iterator[str]:
        """See `remarks_on`, of the text that is continued."""
        yield from self.remarks_on(answers[0].prompt)

    def remarks_on(self, text: str) -> Iterator[str]:
        """Says that the vocabulary lacks tokens of a text, or that it has a mask, which is none here."""
        if WRITTEN_MASK.search(text):
            yield "a language model continues a text and fills no masks: [MASK] is read as characters"
        ids = self._ids(text)
        if unknown := ids.count(self.task.text.special.get("unk", -1)):
            yield f"{unknown:,} of {len(ids):,} tokens are unknown: the model reads <unk> in their place"

    def columns(self, answer: Continuation, nbest: int) -> list[str]:
        """The text with its continuation; before it, of several, the log-probability."""
        whole = answer.prompt + answer.text
        return [f"{answer.log_prob:.2f}", whole] if nbest > 1 else [whole]

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

    def _require_room(self, ids: Sequence[int], length: int) -> None:
        room = self.task.room_behind(ids)
        if room is not None and length > room:
            allowed = f"give at most {room}" if room else "the text is too long"
            raise ValueError(
                f"length={length} tokens behind a text of {len(ids)} are more than the model's context of"
                f" {self.task.network.context}, which does not slide (model.slides=false): {allowed}"
            )

    def _ids(self, text: str) -> list[int]:
        """The ids of a text, without those that would end it."""
        (ids,) = self.task.codec.encode([text])
        while ids and ids[-1] == self.task.end:
            ids.pop()
        if not ids:
            raise ValueError(f"a text must have a token to go on from, got {text!r}")
        return ids
