"""Trained models whose input is pictures."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo.core.image import as_float, read_image
from zoo.tasks.inputs import PICTURES, takes
from zoo.tasks.predictor import Predictor, check_picture

BATCH_SIZE = 64
"""Pictures in a batch."""


class PicturePredictor(Predictor):
    """A trained model that answers something about pictures."""

    @takes(PICTURES)
    def predict(self, pictures: Sequence[str | Path], nbest: int = 1) -> list[list[Any]]:
        """The answers to each picture, best first.

        Args:
            pictures: files, of any size and colours: they are prepared as in training.
            nbest: how many answers to each, where the model has so many.

        Raises:
            TypeError: something else than a list of paths is given.
            ValueError: a file is no picture; then none is answered.
        """
        found: list[list[Any]] = []
        for images in self.read(pictures).split(BATCH_SIZE) if pictures else ():
            with self.autocast():
                found += self.answer(as_float(images), nbest)
        return [answers[:nbest] for answers in found]

    @abstractmethod
    def answer(self, images: Tensor, nbest: int) -> list[list[Any]]:
        """At least `nbest` answers, or all that there are, to each of the images `(B, C, H, W)` in [0, 1]."""

    def plot(self, picture: str | Path, path: str | Path) -> None:
        """Draws where the model looks in a picture, see `draw`.

        Args:
            picture: a file.
            path: the drawing; its ending is the format.
        """
        (picture,) = PICTURES.checked([picture], "picture")
        check_picture(path, picture)
        self.draw({self.name: self}, [picture], {self.name: self.predict([picture])}, path)

    @staticmethod
    @abstractmethod
    def draw(
        predictors: Mapping[str, Any],
        pictures: Sequence[str | Path],
        answers: Mapping[str, list[list[Any]]],
        path: str | Path,
    ) -> None:
        """Draws where several models of this kind look in the same pictures.

        Args:
            predictors: the models by name.
            pictures: files.
            answers: by name, what `predict` returned.
            path: the drawing; its ending is the format.

        Raises:
            ValueError: there is nothing or too much to draw, or a file cannot be read or written.
        """

    def read(self, pictures: Sequence[str | Path]) -> Tensor:
        """Pictures of any size and colours as the model takes them: `(N, C, H, W)` uint8.

        Raises:
            ValueError: some are no pictures; the message names all of them.
        """
        spec = self.checkpoint.spec.image()
        images = torch.zeros(len(pictures), spec.channels, spec.height, spec.width, dtype=torch.uint8)
        wrong = []
        for number, picture in enumerate(pictures):
            try:
                images[number] = read_image(picture, spec)
            except ValueError as error:
                wrong.append(str(error))
        if wrong:
            raise ValueError("; ".join(wrong))
        return images
