"""What trained models have in common that are given pictures."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo.core.image import read_image
from zoo.tasks.inputs import PICTURES, takes
from zoo.tasks.predictor import Predictor

TOGETHER = 64
"""Pictures that are looked at together."""


class PicturePredictor(Predictor):
    """A trained model that is given pictures, ready to say what is in them."""

    @takes(PICTURES)
    @abstractmethod
    def predict(self, pictures: Sequence[str | Path], nbest: int = 1) -> list[list[Any]]:
        """What may be said of each picture, the best first."""

    @abstractmethod
    def columns(self, answer: Any, nbest: int) -> list[str]:
        """One of the `nbest` answers for a line of a table."""

    def remark(self, answer: Any) -> str:
        """What must be said beside an answer; mostly nothing."""
        return ""

    @staticmethod
    @abstractmethod
    def draw(
        predictors: Mapping[str, Any],
        pictures: Sequence[str | Path],
        answers: Mapping[str, list[list[Any]]],
        path: str | Path,
    ) -> None:
        """Draws where several models of this kind look.

        Args:
            predictors: the models by name.
            pictures: files.
            answers: by name, what `predict` gave.
            path: the drawing; its ending says the format.

        Raises:
            ValueError: there is nothing to draw, or a file cannot be read or written.
        """

    def read(self, pictures: Sequence[str | Path]) -> Tensor:
        """Pictures of any size and colours, made like those that were trained on.

        Args:
            pictures: files.

        Returns:
            `(N, C, H, W)` uint8.

        Raises:
            TypeError: something else than a list of paths is given.
            ValueError: some are no pictures; the message names all of them.
        """
        pictures = PICTURES.checked(pictures, "pictures")
        spec = self.checkpoint.spec.image()
        images, wrong = (
            torch.zeros(len(pictures), spec.channels, spec.height, spec.width, dtype=torch.uint8),
            [],
        )
        for number, picture in enumerate(pictures):
            try:
                images[number] = read_image(picture, spec)
            except ValueError as error:
                wrong.append(str(error))
        if wrong:
            raise ValueError("; ".join(wrong))
        return images
