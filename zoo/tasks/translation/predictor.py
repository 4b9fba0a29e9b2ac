"""Translates with a trained model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core.text import is_blank
from zoo.figures import alignment_sheet, head_grids
from zoo.tasks.exploration import ANSWERS, Answer, Exploration, TokenReading, mechanism
from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.predictor import check_picture, search_for, write_drawings
from zoo.tasks.text_predictor import TextPredictor
from zoo.tasks.translation.translation import Translation

if TYPE_CHECKING:
    from zoo.tasks.translation.task import TranslationTask

_BLANK = Translation(text="", score=0.0, finished=True, source_tokens=[], tokens=[], weights=None)
"""The translation of a blank text; a model would invent one."""

_READ, _WRITTEN = "source", "translation"
_KINDS = {
    "cross": ("cross-attention", _WRITTEN, _READ, ("decoder", "memory_attention")),
    "encoder": ("encoder self-attention", _READ, _READ, ("encoder", "attention")),
    "decoder": (
        "decoder self-attention",
        _WRITTEN,
        "translation so far",
        ("decoder", "self_attention"),
    ),
}
"""Of `TranslationTask.attention_maps`: the name, what reads, what is read, and the names of modules."""


class Translator(TextPredictor):
    """A trained model that translates sentences, with the search that its run was tested with.

    Where more translations are asked for than that search finds, beam search finds them.
    """

    task: "TranslationTask"
    doing = "translating"

    def __call__(self, text: str) -> str:
        """The best translation of a sentence."""
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
        """The translations of each sentence, best first, see `TextPredictor`."""
        sentences = [text for text in texts if not is_blank(text)]
        search = search_for(self.task.decoding, nbest)
        with self.autocast():
            found = iter(self.task.translate(sentences, search, weights=weights, progress=progress))
        return [[_BLANK] if is_blank(text) else next(found)[:nbest] for text in texts]

    def columns(self, answer: Translation, nbest: int) -> list[str]:
        """The text, after its score where there are several."""
        return [*([f"{answer.score:.4f}"] if nbest > 1 else []), answer.text]

    def remarks(self, answers: Sequence[Translation]) -> Iterator[str]:
        """Says that a sentence is longer than the model reads, and that translations are cut off."""
        if unread := answers[0].unread:
            read = len(answers[0].source_tokens)
            yield f"longer than the model reads, so only {read} of {read + unread:,} tokens count"
        for translation in answers:
            if not translation.finished:
                yield "cut off at the length limit"

    def explore(self, given: str) -> Exploration:
        """The best translations, what each token of the best one read, and what might have stood there."""
        answers = self.predict([given], nbest=ANSWERS)[0]
        best = answers[0]
        shown = [Answer(one.text, note=f"score {one.score:.3f}") for one in answers]
        if not best.tokens:
            return Exploration(shown, notes=["the text is empty"])
        with self.autocast():
            (maps,) = self.task.attention_maps([given], [best])
            likely = self.task.candidates(given, best)
        views = [
            TokenReading(
                name=name,
                weights=maps[kind].weights,
                queries=maps[kind].queries,
                keys=maps[kind].keys,
                query_name=query_name,
                key_name=key_name,
                mechanism=mechanism(self.task, *where),
                candidates=likely if query_name == _WRITTEN else (),
            )
            for kind, (name, query_name, key_name, where) in _KINDS.items()
            if kind in maps
        ]
        if not views and best.weights is not None:
            of_steps = best.weights[None, None]
            said = mechanism(self.task, "decoder", "attention")
            views = [
                TokenReading(
                    "attention", of_steps, best.tokens, best.source_tokens, _WRITTEN, _READ, said, likely
                )
            ]
        notes = [*self.remarks(answers[:1]), *([] if views else ["the model has no attention to show"])]
        return Exploration(shown, views, notes)

    @staticmethod
    def draw(predictors: "Mapping[str, Translator]", text: str, path: str | Path) -> list[Path]:
        """Draws alignments side by side and all heads of models that have several, see `TextPredictor`.

        The heads of out.png stand in out_encoder.png, out_decoder.png and out_cross.png, those of several
        models with a number, as out_2_encoder.png.

        Raises:
            ValueError: the text is blank, a model has no attention, or a file cannot be written.
        """
        path = Path(path)
        (text,) = SENTENCES.checked([text], "text")
        check_picture(path)
        if is_blank(text):
            raise ValueError(f"cannot draw {path}: the sentence is empty")
        best = [predictor.predict([text])[0][0] for predictor in predictors.values()]
        for name, translation in zip(predictors, best, strict=True):
            if translation.weights is None:
                raise ValueError(f"cannot draw {path}: the model of {name} has no attention")
        figures = {path: alignment_sheet(best, list(predictors))}
        for number, (name, translation) in enumerate(zip(predictors, best, strict=True), start=1):
            with predictors[name].autocast():
                (maps,) = predictors[name].task.attention_maps([text], [translation])
            which = f"{number}_" if len(predictors) > 1 else ""
            for kind, figure in head_grids(maps, title=name).items():
                figures[path.with_stem(f"{path.stem}_{which}{kind}")] = figure
        return write_drawings(figures)
