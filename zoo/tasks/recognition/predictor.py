"""Recognises pictures with a trained model."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.image import as_float
from zoo.figures import glimpse_sheet
from zoo.tasks.exploration import ANSWERS, Answer, Exploration, Glimpses, words_of
from zoo.tasks.inputs import PICTURES
from zoo.tasks.picture_predictor import PicturePredictor
from zoo.tasks.predictor import check_picture, draw, same_places

if TYPE_CHECKING:
    from zoo.tasks.recognition.task import RecognitionTask

MOST_DRAWN = 16
"""The most paths of glimpses in a drawing."""


class Recognition(NamedTuple):
    """A class that a picture may show, and the probability that the model gives it."""

    label: str
    probability: float


class Recogniser(PicturePredictor):
    """A trained model that recognises pictures. A learned policy looks at the most likely places."""

    task: "RecognitionTask"

    def __call__(self, picture: str | Path) -> str:
        """The most likely class of a picture."""
        best: Recognition = self.predict([picture])[0][0]
        return best.label

    def answer(self, images: Tensor, nbest: int) -> list[list[Recognition]]:
        """See `PicturePredictor`."""
        device = self.task.device
        with torch.no_grad(), same_places(len(images), device):
            logits = self.task.network.recognise(images.to(device)).logits[:, 0]
        probabilities, classes = logits.float().softmax(-1).sort(-1, descending=True)
        return [
            [
                Recognition(self.task.classes[label], value)
                for label, value in zip(labels, values, strict=True)
            ]
            for labels, values in zip(classes.tolist(), probabilities.tolist(), strict=True)
        ]

    def columns(self, answer: Recognition, nbest: int) -> list[str]:
        """The class and its probability."""
        return [answer.label, f"{answer.probability:.4f}"]

    def explore(self, given: str | Path) -> Exploration:
        """The likeliest classes, and the path of glimpses."""
        answers = self.predict([given], nbest=ANSWERS)[0]
        shown = [Answer(one.label, one.probability) for one in answers]
        if self.task.policy is None:
            return Exploration(shown, notes=["the model sees the whole image, without glimpses"])
        with torch.no_grad(), self.autocast(), same_places(1, self.task.device):
            (path,) = self.task.paths(as_float(self.read([given])))
        view = Glimpses("glimpses", path.image, path.locations, path.glimpses, words_of(self.task.policy))
        return Exploration(shown, [view])

    @staticmethod
    def draw(
        predictors: Mapping[str, Any],
        pictures: Sequence[str | Path],
        answers: Mapping[str, list[list[Recognition]]],
        path: str | Path,
    ) -> None:
        """Draws the paths of glimpses, see `PicturePredictor`.

        Raises:
            ValueError: a model sees whole images, the paths are more than 16 or of different lengths, or a
                file cannot be read or written.
        """
        pictures = PICTURES.checked(pictures, "pictures")
        check_picture(path, *pictures)
        if (paths := len(predictors) * len(pictures)) > MOST_DRAWN:
            raise ValueError(
                f"cannot draw {path}: it has room for {MOST_DRAWN} paths of glimpses, not for {paths}"
            )
        for name, recogniser in predictors.items():
            if recogniser.task.policy is None:
                raise ValueError(
                    f"cannot draw {path}: the model of {name} sees whole images, without glimpses"
                )
        groups = {}
        for name, recogniser in predictors.items():
            with recogniser.autocast(), same_places(len(pictures), recogniser.task.device):
                groups[name] = recogniser.task.paths(as_float(recogniser.read(pictures)))
        draw(path, partial(glimpse_sheet, groups))
