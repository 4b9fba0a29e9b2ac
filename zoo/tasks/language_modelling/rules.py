"""What the task requires of a configuration."""

from collections.abc import Iterator

from zoo.core.problems import Problem
from zoo.decoding import Greedy, Sample
from zoo.tasks.rules import Configured


def state_reads_the_text_in_order(configured: Configured) -> Iterator[Problem]:
    """A state that is carried on has read all text before: windows must be neighbours that do not overlap."""
    data, model = configured.config["data"], configured.kind(configured.config["model"])
    if not getattr(model, "carries", False):
        return
    name = getattr(model, "__name__", "the model")
    if data.get("shuffled"):
        yield Problem(
            "data.shuffled", f"must be false: {name} carries its state on from a window to the next"
        )
    if data.get("stride") not in (None, data.get("maximum_length")):
        yield Problem(
            "data.stride",
            f"must be null: {name} carries its state on, and would read overlapping text twice",
        )


def one_token_after_another(configured: Configured) -> Iterator[Problem]:
    """A continuation is written as it is found, piece by piece, which a beam cannot be."""
    kind = configured.kind(configured.config.get("decoding"))
    if kind not in (Greedy, Sample):
        yield Problem(
            "decoding",
            "must be greedy or sample: a language model writes token by token, got"
            f" {getattr(kind, '__name__', kind)}",
        )


def absent_metrics(configured: Configured) -> dict[str, str]:
    """Metrics that a configuration does not have, with the reason."""
    data = configured.build(configured.config["data"], "data")
    if data.tokenizer.whole_words:
        return {"bits_per_character": "words may be unknown, so that their characters are, too"}
    return {}
