"""Scores that follow from sums over single items, by the names that results.json has for them."""

from collections.abc import Callable
from functools import partial
from typing import cast

from zoo.metrics.captions import CaptionMatch, caption_metrics
from zoo.metrics.error import WrongAnswers
from zoo.metrics.text import SummedScore, text_metrics


def _text(name: str, language: str) -> SummedScore:
    if name not in (metrics := text_metrics(language)):
        raise ValueError(
            f"{name} needs the language of the text, which no results say: give --language de, ..."
        )
    return cast(SummedScore, metrics[name])


def _caption(name: str, language: str) -> SummedScore:
    return cast(SummedScore, caption_metrics()[name])


ITEM_SCORES: dict[str, Callable[[str], SummedScore]] = {
    **{name: partial(_text, name) for name in ("bleu", "bleu_tok_lc", "chrf", "exact_match")},
    **{name: partial(_caption, name) for name in caption_metrics()},
    "caption_match": lambda language: CaptionMatch(),
    "wrong_answers": lambda language: WrongAnswers(),
}
"""Each makes a score from the language of the text; ValueError where one needs it and it is empty."""
