"""What captions ask of their configuration."""

from collections.abc import Iterable, Iterator

from zoo.core.problems import Problem
from zoo.tasks.rules import Configured


def words_that_point_are_whole(configured: Configured) -> Iterator[Problem]:
    """There is a map for each token, and a box for each word."""
    tokenizer = configured.kind(configured.config["data"].get("tokenizer"))
    if _knows_places(configured) and configured.reads and not getattr(tokenizer, "whole_words", True):
        yield Problem(
            "data.tokenizer",
            f"{tokenizer.__name__} makes pieces of words, but pointing_accuracy asks at what each whole"  # type: ignore[union-attr]
            " word looks; take data/tokenizer=words",
        )


def absent_metrics(configured: Configured, metrics: Iterable[str]) -> dict[str, str]:
    """Metrics that captions have only where the data knows what words name, and attention looks at it."""
    pointing = [metric for metric in metrics if metric.startswith("pointing_")]
    if not configured.reads:
        return dict.fromkeys(pointing, "the model has no attention")
    if not _knows_places(configured):
        return dict.fromkeys(pointing, "the data does not know where an image shows what words name")
    return {}


def _knows_places(configured: Configured) -> bool:
    captions = configured.kind(configured.config["data"].get("captions"))
    return bool(getattr(captions, "knows_truths", False))
