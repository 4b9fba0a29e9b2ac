"""Translates with a trained model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core.files import write_where_asked
from zoo.core.text import is_blank
from zoo.figures import alignment_sheet, head_grids, render
from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.predictor import check_picture, run_name, searching
from zoo.tasks.text_predictor import TextPredictor
from zoo.tasks.translation.translation import Translation

if TYPE_CHECKING:
    from zoo.tasks.translation.task import TranslationTask


class Translator(TextPredictor):
    """A trained model, ready to translate."""

    task: "TranslationTask"

    doing = "translating"

    def __call__(self, text: str) -> str:
        """The best translation of one sentence."""
        return self.predict([text])[0][0].text

    @takes(SENTENCES)
    def predict(
        self,
        texts: Sequence[str],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Translation]]:
        """Translates sentences with the search that the run was tested with.

        Args:
            texts: raw sentences; the one translation of a blank text is empty.
            nbest: how many translations of each; a run whose search finds fewer gets them by beam search.
            weights: whether translations keep what was attended to, which for many sentences is a lot.
            progress: is told after each batch how many sentences that were.

        Returns:
            Each sentence's translations, best first.

        Raises:
            TypeError: something else than a list of texts is given.
            ValueError: a text is not UTF-8, or `nbest` is below 1.
        """
        sentences = [text for text in texts if not is_blank(text)]
        with self.autocast():
            found = iter(
                self.task.translate(
                    sentences, searching(self.task.decoding, nbest), weights=weights, progress=progress
                )
            )
        return [[_of_nothing()] if is_blank(text) else next(found)[:nbest] for text in texts]

    def plot(self, text: str, path: str | Path) -> list[Path]:
        """Draws what the model attends to while it translates a sentence.

        Args:
            text: a raw sentence.
            path: the picture; its ending says the format.

        Returns:
            The pictures: that one, and beside it those of all heads where the model has several.

        Raises:
            ValueError: the text is blank, the model has no attention, or the format is unknown.
        """
        return self.draw({run_name(self.checkpoint.path): self}, text, path)

    def columns(self, answer: Translation, nbest: int) -> list[str]:
        """The text; before it its score, where there are several."""
        return [*([f"{answer.score:.4f}"] if nbest > 1 else []), answer.text]

    def remarks(self, answers: Sequence[Translation]) -> Iterator[str]:
        """Of a sentence that is longer than the model reads, and of translations without an end."""
        if unread := answers[0].unread:
            read = len(answers[0].source_tokens)
            yield f"longer than the model reads, so only {read} of {read + unread:,} tokens count"
        for translation in answers:
            if not translation.finished:
                yield "cut off at the length limit"

    @staticmethod
    def draw(predictors: "Mapping[str, Translator]", text: str, path: str | Path) -> list[Path]:
        """Draws what several models attend to in the same sentence.

        Args:
            predictors: the models by the names that stand over their panels.
            text: a raw sentence.
            path: the picture; its ending says the format.

        Returns:
            The pictures: that one, and those of all heads of a model that has several. These lie beside it,
            for out.png in out_encoder.png, out_decoder.png and out_cross.png; of several models with a
            number, as out_2_encoder.png.

        Raises:
            ValueError: the text is blank, a model has no attention, or the picture cannot be written there.
        """
        return _plot_side_by_side(predictors, text, path)


def _of_nothing() -> Translation:
    """The translation of a blank text: no model is asked, since it would invent one."""
    return Translation(text="", score=0.0, finished=True, source_tokens=[], tokens=[], weights=None)


def _plot_side_by_side(predictors: Mapping[str, Translator], text: str, path: str | Path) -> list[Path]:
    (text,) = SENTENCES.checked([text], "text")
    check_picture(path)
    if is_blank(text):
        raise ValueError(f"cannot draw {path}: the sentence is empty")
    best = [predictor.predict([text])[0][0] for predictor in predictors.values()]
    for name, translation in zip(predictors, best, strict=True):
        if translation.weights is None:
            raise ValueError(f"cannot draw {path}: the model of {name} has no attention")
    path = Path(path)
    figures = {path: alignment_sheet(best, list(predictors))}
    for number, (name, translation) in enumerate(zip(predictors, best, strict=True), start=1):
        with predictors[name].autocast():
            (maps,) = predictors[name].task.attention_maps([text], [translation])
        which = f"{number}_" if len(predictors) > 1 else ""
        for kind, figure in head_grids(maps, title=name).items():
            figures[path.with_stem(f"{path.stem}_{which}{kind}")] = figure
    # All are drawn before the first is written: an error leaves none of them.
    contents = {file: render(figure, file.suffix[1:].lower()) for file, figure in figures.items()}
    for file, content in contents.items():
        write_where_asked(file, content)
    return list(contents)
