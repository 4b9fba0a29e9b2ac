"""What captioning requires of a configuration."""

from collections.abc import Iterable, Iterator

from zoo.core.problems import Problem
from zoo.tasks.rules import Configured


def words_that_point_are_whole(configured: Configured) -> Iterator[Problem]:
    """`pointing_accuracy` compares the attention of a token with the box of a word."""
    tokenizer = configured.kind(configured.config["data"].get("tokenizer"))
    if _knows_places(configured) and configured.reads and not getattr(tokenizer, "whole_words", True):
        yield Problem(
            "data.tokenizer",
            f"{tokenizer.__name__} makes pieces of words, but pointing_accuracy asks at what each whole"  # type: ignore[union-attr]
            " word looks; take data/tokenizer=words",
        )


def absent_metrics(configured: Configured, metrics: Iterable[str]) -> dict[str, str]:
    """Metrics of pointing, which need attention and data that knows what words name, with the reason."""
    pointing = [metric for metric in metrics if metric.startswith("pointing_")]
    if not configured.reads:
        return dict.fromkeys(pointing, "the model has no attention")
    if not _knows_places(configured):
        return dict.fromkeys(pointing, "the data does not know where an image shows what words name")
    return {}


def _knows_places(configured: Configured) -> bool:
    captions = configured.kind(configured.config["data"].get("captions"))
    return bool(getattr(captions, "knows_truths", False))
