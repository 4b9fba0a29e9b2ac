"""What translation requires of a configuration."""

from collections.abc import Iterable, Iterator

from zoo.core.problems import Problem
from zoo.tasks.rules import Configured


def unknown_words_can_be_replaced(configured: Configured) -> Iterator[Problem]:
    """`replace_unknown` copies the word that attention points at."""
    if configured.config["task"].get("replace_unknown") is not True:
        return
    if not configured.reads:
        message = "true needs attention, which says the word to copy, and the model has none; leave it out"
        yield Problem("task.replace_unknown", message)
    tokenizer = configured.kind(configured.config["data"].get("tokenizer"))
    if not getattr(tokenizer, "whole_words", True):
        yield Problem(
            "task.replace_unknown",
            f"true needs a vocabulary of whole words; {tokenizer.__name__} spells rare ones "  # type: ignore[union-attr]
            "and leaves hardly any unknown; take data/tokenizer=words, or leave it out",
        )


def absent_metrics(configured: Configured, metrics: Iterable[str]) -> dict[str, str]:
    """Metrics that a configuration does not have, with the reason."""
    # Some data modules are given their corpus, others make it.
    data = configured.config["data"]
    corpus = (
        configured.build(data["corpus"], "data.corpus")
        if "corpus" in data
        else configured.build(data, "data").corpus
    )
    absent = {}
    if not corpus.columns["target"].language:
        absent["bleu_tok_lc"] = "the target text has no language"
    covered = ("number_coverage", "name_coverage")
    absent |= dict.fromkeys(covered, "a split without numbers or names has none")
    if not configured.reads:
        of_attention = [metric for metric in metrics if metric.startswith("alignment_")]
        absent |= dict.fromkeys(of_attention, "the model has no attention")
    elif "alignment" not in corpus.columns:
        absent["alignment_accuracy"] = "the data does not know the true alignment"
    return absent
