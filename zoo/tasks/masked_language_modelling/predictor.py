"""Fills masks with a trained model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from rich.table import Table

from zoo.core.text import is_blank
from zoo.figures import head_grids
from zoo.tasks.exploration import ANSWERS, Answer, Exploration, TokenReading, mechanism
from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.masked_language_modelling.filling import Filled
from zoo.tasks.predictor import check_picture, write_drawings
from zoo.tasks.text_predictor import TextPredictor

if TYPE_CHECKING:
    from zoo.tasks.masked_language_modelling.task import MaskedLanguageModelling

_SHOWN = 5
"""Candidates of each mask that a terminal shows at least."""


class MaskFiller(TextPredictor):
    """A trained model that fills the masks of a text, written `[MASK]` or `<mask>`, each by itself."""

    task: "MaskedLanguageModelling"
    doing = "filling"

    def __call__(self, text: str) -> str:
        """The text with the likeliest token at each mask."""
        return self.predict([text])[0][0].text

    @takes(SENTENCES)
    def predict(
        self,
        texts: Sequence[str],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Filled]]:
        """The texts with their masks filled, see `TextPredictor`; the k-th has each mask's k-th candidate."""
        read = [text for text in texts if not is_blank(text)]
        with self.autocast():
            found = iter(self.task.fill(read, max(nbest, _SHOWN), progress=progress))
        return [[Filled("")] if is_blank(text) else next(found)[:nbest] for text in texts]

    def columns(self, answer: Filled, nbest: int) -> list[str]:
        """The text, behind the candidates' probabilities."""
        return [" ".join(f"{one.probability:.4f}" for one in answer.words), answer.text]

    def remarks(self, answers: Sequence[Filled]) -> Iterator[str]:
        """Says what of a text is not read or not known, and that it has no mask."""
        if unread := answers[0].unread:
            yield f"longer than the model reads, so its last {unread:,} tokens do not count"
        if unknown := answers[0].unknown:
            tokens = "token is" if unknown == 1 else "tokens are"
            yield f"{unknown:,} unknown {tokens} read as <unk> and left out of the answer"
        if answers[0].text and not answers[0].words:
            yield "no mask to fill: write [MASK] in place of a word"

    def render(self, answer: Filled) -> Table | None:
        """The candidates of each mask with their probabilities."""
        if not answer.candidates:
            return None
        table = Table()
        for number in range(1, len(answer.candidates) + 1):
            table.add_column(f"mask {number}")
            table.add_column("probability", justify="right")
        for row in zip(*answer.candidates, strict=True):
            table.add_row(*(text for one in row for text in (one.token, f"{one.probability:.4f}")))
        return table

    def explore(self, given: str) -> Exploration:
        """The text with its masks filled, what each token read in all heads, and each mask's candidates."""
        answers = self.predict([given], nbest=ANSWERS)[0]
        shown = [
            Answer(one.text, note=", ".join(f"{word.token} {word.probability:.3f}" for word in one.words))
            for one in answers
        ]
        if is_blank(given):
            return Exploration(shown, notes=["the text is empty"])
        with self.autocast():
            maps = self.task.attention_maps(given)
        of_masks = iter(answers[0].candidates)
        likely = [
            [Answer(one.token, one.probability) for one in next(of_masks)[:ANSWERS]] if is_mask else []
            for is_mask in self.task.masks(given)
        ]
        name, said = "self-attention", mechanism(self.task)
        view = TokenReading(name, maps.weights, maps.queries, maps.keys, "text", "text", said, likely)
        return Exploration(shown, [view], list(self.remarks(answers[:1])))

    @staticmethod
    def draw(predictors: "Mapping[str, MaskFiller]", text: str, path: str | Path) -> list[Path]:
        """Draws all heads of each model, see `TextPredictor`; of several models, out_2.png and so on.

        Raises:
            ValueError: the text is blank, or a file cannot be written.
        """
        path = Path(path)
        (text,) = SENTENCES.checked([text], "text")
        check_picture(path)
        if is_blank(text):
            raise ValueError(f"cannot draw {path}: the text is empty")
        figures: dict[Path, Figure] = {}
        for number, (name, predictor) in enumerate(predictors.items(), start=1):
            with predictor.autocast():
                maps = predictor.task.attention_maps(text)
            file = path.with_stem(f"{path.stem}_{number}") if number > 1 else path
            (figures[file],) = head_grids({"encoder": maps}, title=name).values()
        return write_drawings(figures)
