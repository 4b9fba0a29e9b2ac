"""What the task requires of a configuration."""

from collections.abc import Iterable

from zoo.tasks.rules import Configured, uses_attention


def absent_metrics(configured: Configured, metrics: Iterable[str]) -> dict[str, str]:
    """Metrics that validations do not have in a configuration, with the reason."""
    at_test = ("train_accuracy", "accuracy_gap")
    absent = dict.fromkeys(at_test, "it is measured with the best weights, at the test")
    of_pointing = [metric for metric in metrics if "pointing" in metric]
    if not configured.reads:
        return absent | dict.fromkeys(of_pointing, "the model has no attention")
    columns = configured.build(configured.config["data"], "data").corpus.columns
    if "place" not in columns:
        return absent | dict.fromkeys(of_pointing, "the data does not know which word decides")
    model = configured.config["model"]
    for level in ("word", "sentence"):
        if not uses_attention(model.get(f"{level}_pooling")):
            absent[f"{level}_pointing"] = f"no {level}_pooling of documents attends"
    return absent


def unused_settings(configured: Configured) -> dict[str, str]:
    """Settings that change nothing in a configuration, with the reason."""
    of_attention = ("task.reinforce", "task.penalty")
    return {} if configured.reads else dict.fromkeys(of_attention, "the model has no attention")
