"""What matching requires of a configuration."""

from collections.abc import Iterator

from zoo.core.problems import Problem
from zoo.core.spec import DegreeSpec, LabelSpec
from zoo.tasks.rules import Configured


def overlap_is_read(configured: Configured) -> Iterator[Problem]:
    """Counts of shared words stand beside what some networks know of a pair."""
    model = configured.kind(configured.config["model"])
    if configured.config["data"].get("overlap") is True and not getattr(model, "reads_overlap", False):
        name = getattr(model, "__name__", "the model")
        yield Problem("data.overlap", f"true changes nothing: {name} does not read it; leave it out")


def absent_metrics(configured: Configured) -> dict[str, str]:
    """Metrics that a configuration does not have, with the reason."""
    data = configured.build(configured.config["data"], "data")
    columns, fields = data.corpus.columns, data.placeholder()
    absent: dict[str, str] = {}
    if isinstance(fields.get("degree"), DegreeSpec):
        of_labels = ("accuracy", "f1", "macro_f1")
        absent |= dict.fromkeys(of_labels, "the data has degrees, not labels")
    else:
        of_degrees = ("pearson", "spearman", "mse")
        absent |= dict.fromkeys(of_degrees, "the data has labels, not degrees")
    label = fields.get("label")
    if isinstance(label, LabelSpec) and len(label.classes) > 2:
        absent["f1"] = "it is of two classes, and the data has more"
    if "group" not in columns:
        absent |= dict.fromkeys(("map", "mrr"), "the data ranks nothing: it has no groups")
    of_attention = ("alignment_accuracy", "pointing_accuracy")
    if not configured.reads:
        absent |= dict.fromkeys(of_attention, "the model has no attention")
    elif "alignment" not in columns:
        absent |= dict.fromkeys(of_attention, "the data does not know the true alignment")
    else:
        reader = configured.kind(configured.config["model"].get("reader"))
        once = getattr(reader, "reads_once", False)
        absent |= (
            {"alignment_accuracy": "the model reads the text once, not for each word"}
            if once
            else {"pointing_accuracy": "the model has weights for each word: take val/alignment_accuracy"}
        )
    return absent


def unused_settings(configured: Configured) -> dict[str, str]:
    """Settings that change nothing in a configuration, with the reason."""
    return {} if configured.reads else {"task.reinforce": "the model has no attention"}
