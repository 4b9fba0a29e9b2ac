"""What trained models have in common that are given texts."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.predictor import Predictor


class TextPredictor(Predictor):
    """A trained model that is given texts.

    Attributes:
        doing: what it does meanwhile, e.g. `translating`.
    """

    doing: ClassVar[str]

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
        """What the model makes of each text, the best first.

        Args:
            texts: raw texts.
            nbest: how many answers to each.
            weights: whether answers keep what was attended to, which for many texts is a lot.
            progress: is told after each batch how many texts that were.
        """

    @abstractmethod
    def columns(self, answer: Any, nbest: int) -> list[str]:
        """One of the `nbest` answers for a line of a table."""

    def remarks(self, answers: Sequence[Any]) -> Iterator[str]:
        """What must be said beside the answers to a text; mostly nothing."""
        yield from ()

    @staticmethod
    @abstractmethod
    def draw(predictors: Mapping[str, Any], text: str, path: str | Path) -> list[Path]:
        """Draws what several models of this kind attend to in the same text.

        Args:
            predictors: the models by the names that stand over their panels.
            text: a raw text.
            path: the picture; its ending says the format.

        Returns:
            The pictures: that one, and perhaps others beside it.

        Raises:
            ValueError: there is nothing to draw, or a file cannot be written.
        """
