"""Classifies texts with a trained model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.style import Style
from rich.text import Text

from zoo.core.short_repr import short_repr
from zoo.core.text import is_blank
from zoo.figures import ShadedText, shaded_sheet
from zoo.tasks.exploration import ANSWERS, Answer, Exploration, Shading, View, mechanism
from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.predictor import check_picture, draw
from zoo.tasks.text_predictor import TextPredictor

if TYPE_CHECKING:
    from zoo.tasks.classification.task import ClassificationTask

_LIGHT, _DARK = (255, 255, 255), (33, 113, 181)
"""The backgrounds of a word without weight and of the one with the most, in red, green and blue."""

_FAINTEST = 0.05
"""A lighter shade than that stays the terminal's own background."""


class Classification(NamedTuple):
    """A class that a text may belong to.

    Attributes:
        label: its name.
        probability: what the model gives it.
        text: the words and how much each counted; None where that was not asked for.
        unread: how many tokens of the text the model did not read, because it is too long.
    """

    label: str
    probability: float
    text: ShadedText | None = None
    unread: int = 0

    def __repr__(self) -> str:
        return short_repr(self)


class Classifier(TextPredictor):
    """A trained model that classifies texts, or documents, which it cuts into sentences."""

    task: "ClassificationTask"
    doing = "classifying"

    def __call__(self, text: str) -> str:
        """The most likely class of a text; none of a blank one."""
        return self.predict([text], weights=False)[0][0].label

    @takes(SENTENCES)
    def predict(
        self,
        texts: Sequence[str],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Classification]]:
        """The most likely classes of each text, best first, see `TextPredictor`."""
        with self.autocast():
            found = iter(
                self.task.classify(
                    [text for text in texts if not is_blank(text)], weights=weights, progress=progress
                )
            )
        return [[Classification("", 0.0)] if is_blank(text) else next(found)[:nbest] for text in texts]

    def columns(self, answer: Classification, nbest: int) -> list[str]:
        """The class and its probability."""
        return [answer.label, f"{answer.probability:.4f}"]

    def remarks(self, answers: Sequence[Classification]) -> Iterator[str]:
        """Says that a text is longer than the model reads."""
        if unread := answers[0].unread:
            yield f"longer than the model reads, so its last {unread:,} tokens do not count"

    def render(self, answer: Classification) -> Text | None:
        """The words of the text, shaded by weight; of documents each sentence on a line, after its weight."""
        if answer.text is None or not attends(answer.text):
            return None
        shown = Text()
        for sentence, shades in zip(answer.text.sentences, answer.text.shades(), strict=True):
            if sentence.weight is not None:
                shown.append(f"{'' if not shown else chr(10)}{sentence.weight:5.2f} ")
            for word, shade in zip(sentence.words, shades, strict=True):
                blank, word = word[: len(word) - len(word.lstrip())], word.lstrip()
                shown.append(blank).append(word, style=_style(shade) if shade >= _FAINTEST else "")
        return shown

    def explore(self, given: str) -> Exploration:
        """The likeliest classes, the words shaded by weight, and all heads of a model that has several."""
        answers = self.predict([given], nbest=ANSWERS)[0]
        shown = [Answer(one.label, one.probability) for one in answers]
        best = answers[0]
        if best.text is None:
            return Exploration(shown, notes=["the text is empty"])
        views: list[View] = []
        if attends(best.text):
            over_sentences = any(one.weight is not None for one in best.text.sentences)
            name = "attention to words" + (" and sentences" if over_sentences else "")
            views.append(Shading(name, best.text, mechanism(self.task)))
        with self.autocast():
            views += self.task.heads(given)
        notes = [*self.remarks(answers), *([] if views else ["the model has no attention to show"])]
        return Exploration(shown, views, notes)

    @staticmethod
    def draw(predictors: "Mapping[str, Classifier]", text: str, path: str | Path) -> list[Path]:
        """Draws the text once for each model, its words shaded by weight, see `TextPredictor`.

        Raises:
            ValueError: the text is blank, a model has no attention, or the file cannot be written.
        """
        (text,) = SENTENCES.checked([text], "text")
        check_picture(path)
        if is_blank(text):
            raise ValueError(f"cannot draw {path}: the text is empty")
        columns = {}
        for name, predictor in predictors.items():
            best = predictor.predict([text])[0][0]
            if best.text is None or not attends(best.text):
                raise ValueError(f"cannot draw {path}: the model of {name} has no attention")
            columns[name] = [noted(best)]
        draw(path, partial(shaded_sheet, columns))
        return [Path(path)]


def noted(answer: Classification, true: str | None = None) -> ShadedText:
    """The text of an answer, under the class, the largest weights, and how much is not read.

    Args:
        answer: with its text.
        true: the true class, where it is known.
    """
    assert answer.text is not None  # weights were asked for
    said = f"{answer.label} ({answer.probability:.2f})"
    notes = [said if true is None else f"{said}, true: {true}", answer.text.scale]
    if answer.unread:
        notes.append(f"too long: {answer.unread:,} tokens behind these are not read")
    return answer.text._replace(notes=notes)


def attends(text: ShadedText) -> bool:
    """Whether anything of a text has a weight."""
    return any(one.weight is not None or one.weights is not None for one in text.sentences)


def _style(shade: float) -> Style:
    """Of a word: its background, and letters that are legible on it."""
    red, green, blue = (
        round(light + shade * (dark - light)) for light, dark in zip(_LIGHT, _DARK, strict=True)
    )
    letters = "white" if shade > 0.6 else "black"
    return Style(color=letters, bgcolor=Color.from_rgb(red, green, blue))
