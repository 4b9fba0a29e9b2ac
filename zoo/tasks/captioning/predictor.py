"""Writes captions with a trained model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.core.files import write_where_asked
from zoo.core.image import as_float, read_for_drawing
from zoo.figures import caption_sheet, captioned, render
from zoo.tasks.captioning.caption import Caption
from zoo.tasks.inputs import PICTURES, takes
from zoo.tasks.picture_predictor import TOGETHER, PicturePredictor
from zoo.tasks.predictor import check_picture, run_name, searching

if TYPE_CHECKING:
    from zoo.tasks.captioning.task import CaptioningTask

MOST_DRAWN = 16
"""Captions that a drawing has room for."""


class Captioner(PicturePredictor):
    """A trained model, ready to write captions."""

    task: "CaptioningTask"

    def __call__(self, picture: str | Path) -> str:
        """The best caption of a picture."""
        return self.predict([picture])[0][0].text

    @takes(PICTURES)
    def predict(self, pictures: Sequence[str | Path], nbest: int = 1) -> list[list[Caption]]:
        """Writes captions of pictures with the search that the run was tested with.

        Args:
            pictures: files, of any size and colours: they are made like those that were trained on.
            nbest: how many captions of each; a run whose search finds fewer gets them by beam search.

        Returns:
            Each picture's captions, best first.

        Raises:
            TypeError: something else than a list of paths is given.
            ValueError: a file is no picture; none gets a caption then.
        """
        found: list[list[Caption]] = []
        for images in self.read(pictures).split(TOGETHER):
            with self.autocast():
                found += self.task.caption(as_float(images), searching(self.task.decoding, nbest))
        return [captions[:nbest] for captions in found]

    def columns(self, answer: Caption, nbest: int) -> list[str]:
        """The text; before it its score, where there are several."""
        return [*([f"{answer.score:.4f}"] if nbest > 1 else []), answer.text]

    def remark(self, answer: Caption) -> str:
        """Whether something is missing."""
        if not answer.finished:
            return "cut off at the length limit"
        return "" if answer.text else "says nothing"

    def plot(self, picture: str | Path, path: str | Path) -> None:
        """Draws what the model looks at while it writes the caption of a picture.

        Args:
            picture: a file.
            path: the drawing; its ending says the format.

        Raises:
            ValueError: the model has no attention, or a file cannot be read or written.
        """
        (picture,) = PICTURES.checked([picture], "picture")
        check_picture(path, picture)
        name = run_name(self.checkpoint.path)
        self.draw({name: self}, [picture], {name: self.predict([picture])}, path)

    @staticmethod
    def draw(
        predictors: Mapping[str, Any],
        pictures: Sequence[str | Path],
        answers: Mapping[str, list[list[Caption]]],
        path: str | Path,
    ) -> None:
        """Draws each picture with what every model looks at, see `PicturePredictor`.

        Raises:
            ValueError: a model has no attention, there are more than 16 captions, or a file cannot be read or
                written.
        """
        path = Path(path)
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
        write_where_asked(path, render(caption_sheet(drawn), path.suffix[1:].lower()))
