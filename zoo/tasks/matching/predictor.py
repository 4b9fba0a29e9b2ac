"""Matches texts with a trained model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.core.text import is_blank
from zoo.figures import alignment_sheet
from zoo.figures.cells import TITLE_COLUMNS
from zoo.figures.labels import shortened
from zoo.tasks.exploration import ANSWERS, Answer, Exploration, TokenReading, View, mechanism
from zoo.tasks.inputs import PAIRS, takes
from zoo.tasks.matching.match import DrawnMap, Match
from zoo.tasks.predictor import Predictor, check_picture, write_drawings

if TYPE_CHECKING:
    from zoo.tasks.matching.task import MatchingTask

_SIDES = ("left text", "right text")

_SHORTEST = 16
"""Columns of a run's name in a title, at least: it begins with the time, which tells runs apart."""

_BLANK = Match("", None, None)
"""The answer to a pair of which a text is blank."""


class Matcher(Predictor):
    """A trained model that says how two texts stand to each other."""

    task: "MatchingTask"
    doing = "matching"

    def __call__(self, left: str, right: str) -> str:
        """The likeliest class of a pair, or its degree as a text."""
        best: Match = self.predict([(left, right)])[0][0]
        return best.label

    @takes(PAIRS)
    def predict(
        self,
        pairs: Sequence[tuple[str, str]],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Match]]:
        """The classes of each pair, the likeliest first; of degrees there is one.

        Args:
            pairs: raw texts, left and right; where one is blank, so is the answer.
            nbest: how many classes of each.
            weights: whether answers keep matrices over words.
            progress: called after each batch with its number of pairs.

        Raises:
            TypeError: something else than a list of pairs is given.
            ValueError: a text is not UTF-8, or `nbest` is below 1.
        """
        read = [(left, right) for left, right in pairs if not (is_blank(left) or is_blank(right))]
        with self.autocast():
            found = iter(self.task.match(read, weights=weights, progress=progress))
        return [
            [_BLANK] if is_blank(left) or is_blank(right) else next(found)[:nbest] for left, right in pairs
        ]

    def columns(self, answer: Match, nbest: int) -> list[str]:
        """The class and its probability, or the degree."""
        return [answer.label, *([] if answer.probability is None else [f"{answer.probability:.4f}"])]

    def remarks(self, answers: Sequence[Match]) -> Iterator[str]:
        """Says that texts are longer than the model reads."""
        if unread := answers[0].unread:
            yield f"longer than the model reads, so the last {unread:,} tokens do not count"

    def explore(self, given: tuple[str, str]) -> Exploration:
        """The classes, or the degree, the matrices over the words, and all heads of a model with several."""
        answers = self.predict([given], nbest=ANSWERS)[0]
        shown = [Answer(one.label, one.probability) for one in answers]
        said = mechanism(self.task)
        views: list[View] = [
            TokenReading(
                one.what,
                one.weights[None, None],
                one.tokens,
                one.source_tokens,
                "left text",
                "right text",
                said,
            )
            for one in answers[0].maps
        ]
        if not any(map(is_blank, given)):
            with self.autocast():
                views += self.task.heads(given)
        notes = [*self.remarks(answers), *([] if views else ["the model has no attention to show"])]
        return Exploration(shown, views, notes)

    def plot(self, pair: tuple[str, str], path: str | Path) -> list[Path]:
        """Draws what the model looks at in a pair, see `draw`."""
        return self.draw({self.name: self}, pair, path)

    @staticmethod
    def draw(predictors: Mapping[str, Any], pair: tuple[str, str], path: str | Path) -> list[Path]:
        """Draws the matrices of several models over the words of one pair, side by side.

        Args:
            predictors: the models by the names that stand over their panels.
            pair: raw texts.
            path: the drawing; its ending is the format.

        Returns:
            The drawing.

        Raises:
            ValueError: a text is blank, a model has no attention, or the file cannot be written.
        """
        path = Path(path)
        (pair,) = PAIRS.checked([pair], "pair")
        check_picture(path)
        if any(map(is_blank, pair)):
            raise ValueError(f"cannot draw {path}: a text is empty")
        panels: list[DrawnMap] = []
        titles = []
        for name, predictor in predictors.items():
            best: Match = predictor.predict([pair])[0][0]
            if not best.maps:
                raise ValueError(f"cannot draw {path}: the model of {name} has no attention")
            panels += best.maps
            titles += [titled(name, f"{said(best)}, {one.what}") for one in best.maps]
        return write_drawings({path: alignment_sheet(panels, titles, axes=("left text", "right text"))})


def titled(name: str, rest: str) -> str:
    """What stands above a panel: of a long name of a run its beginning, so that the rest is legible."""
    return f"{shortened(name, max(TITLE_COLUMNS - len(rest) - 2, _SHORTEST))}: {rest}"


def said(answer: Match) -> str:
    """An answer in a few words, for titles."""
    return answer.label if answer.probability is None else f"{answer.label} ({answer.probability:.2f})"
