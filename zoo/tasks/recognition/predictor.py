"""Recognises pictures with a trained model."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from zoo.core.image import as_float
from zoo.figures import glimpse_sheet
from zoo.tasks.inputs import PICTURES, takes
from zoo.tasks.picture_predictor import TOGETHER, PicturePredictor
from zoo.tasks.predictor import check_picture, draw, run_name, same_places

if TYPE_CHECKING:
    from zoo.tasks.recognition.task import RecognitionTask

MOST_DRAWN = 16
"""Paths that a drawing has room for."""


class Recognition(NamedTuple):
    """What a picture may show.

    Attributes:
        label: a class.
        probability: that the model gives it.
    """

    label: str
    probability: float


class Recogniser(PicturePredictor):
    """A trained model, ready to recognise. A policy that learned looks at the most likely places."""

    task: "RecognitionTask"

    def __call__(self, picture: str | Path) -> str:
        """What a picture shows most likely."""
        return self.predict([picture])[0][0].label

    @takes(PICTURES)
    def predict(self, pictures: Sequence[str | Path], nbest: int = 1) -> list[list[Recognition]]:
        """Recognises pictures, of any size and colours: they are made like those that were trained on.

        Args:
            pictures: files.
            nbest: how many classes of each, at most all.

        Returns:
            Each picture's classes, the most likely first.

        Raises:
            TypeError: something else than a list of paths is given.
            ValueError: a file is no picture; none is recognised then.
        """
        found = []
        for images in self.read(pictures).split(TOGETHER) if pictures else ():
            device = self.task.device
            with torch.no_grad(), self.autocast(), same_places(len(images), device):
                logits = self.task.network.recognise(as_float(images).to(device)).logits[:, 0]
            probabilities, classes = logits.float().softmax(-1).sort(-1, descending=True)
            found += [
                [
                    Recognition(self.task.classes[label], probability)
                    for label, probability in zip(labels[:nbest], values[:nbest], strict=True)
                ]
                for labels, values in zip(classes.tolist(), probabilities.tolist(), strict=True)
            ]
        return found

    def plot(self, picture: str | Path, path: str | Path) -> None:
        """Draws where the model looks in a picture.

        Args:
            picture: a file.
            path: the drawing; its ending says the format.

        Raises:
            ValueError: the model sees whole images, or a file cannot be read or written.
        """
        plot_glimpses({run_name(self.checkpoint.path): self}, [picture], path)

    def columns(self, answer: Recognition, nbest: int) -> list[str]:
        """The class and its probability."""
        return [answer.label, f"{answer.probability:.4f}"]

    @staticmethod
    def draw(
        predictors: Mapping[str, Any],
        pictures: Sequence[str | Path],
        answers: Mapping[str, list[list[Recognition]]],
        path: str | Path,
    ) -> None:
        """Draws where several models look in the same pictures, see `plot_glimpses`."""
        plot_glimpses(predictors, pictures, path)


def plot_glimpses(
    recognisers: Mapping[str, Recogniser], pictures: Sequence[str | Path], path: str | Path
) -> None:
    """Draws where several models look in the same pictures.

    Args:
        recognisers: the models by the names that stand over their paths.
        pictures: files.
        path: the drawing; its ending says the format.

    Raises:
        ValueError: a model sees whole images, the paths are more than 16 or of different lengths, or a file
            cannot be read or written.
    """
    pictures = PICTURES.checked(pictures, "pictures")
    check_picture(path, *pictures)
    if (paths := len(recognisers) * len(pictures)) > MOST_DRAWN:
        raise ValueError(
            f"cannot draw {path}: it has room for {MOST_DRAWN} paths of glimpses, not for {paths}"
        )
    for name, recogniser in recognisers.items():
        if recogniser.task.policy is None:
            raise ValueError(f"cannot draw {path}: the model of {name} sees whole images, without glimpses")
    groups = {}
    for name, recogniser in recognisers.items():
        with recogniser.autocast(), same_places(len(pictures), recogniser.task.device):
            groups[name] = recogniser.task.paths(as_float(recogniser.read(pictures)))
    draw(path, partial(glimpse_sheet, groups))
