"""Writes captions with a trained model."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from zoo.core.image import as_float, read_for_drawing
from zoo.figures import caption_sheet, captioned
from zoo.tasks.captioning.caption import Caption
from zoo.tasks.exploration import ANSWERS, Answer, Exploration, PictureReading, mechanism
from zoo.tasks.picture_predictor import PicturePredictor
from zoo.tasks.predictor import draw, search_for

if TYPE_CHECKING:
    from zoo.tasks.captioning.task import CaptioningTask

MOST_DRAWN = 16
"""The most captions in a drawing."""


class Captioner(PicturePredictor):
    """A trained model that writes captions, with the search that its run was tested with.

    Where more captions are asked for than that search finds, beam search finds them.
    """

    task: "CaptioningTask"

    def __call__(self, picture: str | Path) -> str:
        """The best caption of a picture."""
        best: Caption = self.predict([picture])[0][0]
        return best.text

    def answer(self, images: Tensor, nbest: int) -> list[list[Caption]]:
        """See `PicturePredictor`."""
        return self.task.caption(images, search_for(self.task.decoding, nbest))

    def columns(self, answer: Caption, nbest: int) -> list[str]:
        """The text, after its score where there are several."""
        return [*([f"{answer.score:.4f}"] if nbest > 1 else []), answer.text]

    def remarks(self, answers: Sequence[Caption]) -> Iterator[str]:
        """Says that captions are cut off or empty."""
        for answer in answers:
            if not answer.finished:
                yield "cut off at the length limit"
            elif not answer.text:
                yield "says nothing"

    def explore(self, given: str | Path) -> Exploration:
        """The best captions, where each word of the best one looked, and what might have stood there."""
        answers = self.predict([given], nbest=ANSWERS)[0]
        shown = [Answer(one.text, note=f"score {one.score:.3f}") for one in answers]
        best, notes = answers[0], list(self.remarks(answers[:1]))
        if best.weights is None:
            return Exploration(shown, notes=[*notes, "the model has no attention to show"])
        with self.autocast():
            likely = self.task.candidates(as_float(self.read([given])), best)
        image = as_float(read_for_drawing(given, self.checkpoint.spec.image()))
        said = mechanism(self.task)
        view = PictureReading("attention to the picture", image, best.weights, best.tokens, said, likely)
        return Exploration(shown, [view], notes)

    @staticmethod
    def draw(
        predictors: Mapping[str, Any],
        pictures: Sequence[str | Path],
        answers: Mapping[str, list[list[Caption]]],
        path: str | Path,
    ) -> None:
        """Draws each picture with what every model looks at for each word, see `PicturePredictor`.

        Raises:
            ValueError: a model has no attention, there are more than 16 captions, or a file cannot be read or
                written.
        """
        if (captions := len(predictors) * len(pictures)) > MOST_DRAWN:
            raise ValueError(f"cannot draw {path}: it has room for {MOST_DRAWN} captions, not for {captions}")
        drawn = []
        for number, picture in enumerate(pictures):
            for name, captioner in predictors.items():
                best = answers[name][number][0]
                if best.weights is None:
                    raise ValueError(f"cannot draw {path}: the model of {name} has no attention")
                image = as_float(read_for_drawing(picture, captioner.checkpoint.spec.image()))
                where = [Path(picture).name] if len(pictures) > 1 else []
                where += [name] if len(predictors) > 1 else []
                heading, *notes = [*([" · ".join(where)] if where else []), best.text]
                drawn.append(captioned(image, best, heading=heading, notes=notes))
        draw(path, partial(caption_sheet, drawn))
