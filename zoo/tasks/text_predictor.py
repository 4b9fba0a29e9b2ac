"""Trained models whose input is texts."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.predictor import Predictor


class TextPredictor(Predictor):
    """A trained model that answers texts."""

    @takes(SENTENCES)
    @abstractmethod
    def predict(
        self,
        texts: Sequence[str],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Any]]:
        """The answers to each text, best first.

        Args:
            texts: raw texts; of a blank one the answer is blank.
            nbest: how many answers to each.
            weights: whether answers keep attention weights, which need much memory for many texts.
            progress: called after each batch with its number of texts.

        Raises:
            TypeError: something else than a list of texts is given.
            ValueError: a text is not UTF-8, or `nbest` is below 1.
        """

    def plot(self, text: str, path: str | Path) -> list[Path]:
        """Draws what the model attends to in a text, see `draw`."""
        return self.draw({self.name: self}, text, path)

    @staticmethod
    @abstractmethod
    def draw(predictors: Mapping[str, Any], text: str, path: str | Path) -> list[Path]:
        """Draws what several models of this kind attend to in the same text.

        Args:
            predictors: the models by the names that stand over their panels.
            text: a raw text.
            path: the drawing; its ending is the format.

        Returns:
            The drawing, and others beside it where the model has more to show.

        Raises:
            ValueError: there is nothing to draw, or a file cannot be written.
        """
