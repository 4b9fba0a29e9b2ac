"""The metrics that each task shows first, and proposes in place of a monitor that does not move."""

from pathlib import Path

import pytest
import yaml

from zoo.metrics import CaptionMatch, caption_metrics
from zoo.tasks.captioning.task import CaptioningTask
from zoo.tasks.classification.task import ClassificationTask
from zoo.tasks.recognition.task import RecognitionTask
from zoo.tasks.task import Task
from zoo.tasks.tracking.task import TrackingTask
from zoo.tasks.translation.task import TranslationTask

TASKS = {
    "captioning": CaptioningTask,
    "classification": ClassificationTask,
    "recognition": RecognitionTask,
    "tracking": TrackingTask,
    "translation": TranslationTask,
}
CONF = Path(__file__).parents[2] / "conf" / "task"


@pytest.mark.parametrize("name", TASKS)
def test_they_are_measured_and_the_default_monitor_is_the_first(name: str) -> None:
    task: type[Task] = TASKS[name]
    monitor = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))["task"]["monitor"]
    assert monitor == f"val/{task.telling[0]}"


def scores(caption: str, references: list[str]) -> dict[str, float]:
    metrics = {**caption_metrics(), "exact_match": CaptionMatch()}
    for metric in metrics.values():
        metric.update([caption], [references])
    return {name: float(metric.compute()) for name, metric in metrics.items()}


def moving(before: dict[str, float], after: dict[str, float]) -> list[str]:
    return [name for name in CaptioningTask.telling if abs(after.get(name, 0) - before.get(name, 0)) > 1e-6]


def test_one_picture_has_no_rare_words_but_a_metric_that_moves() -> None:
    """As in COCO's tools CIDEr-D of one picture is 0: each of its words is in all of one image."""
    truth = "a brown dog runs over the grass"
    poor, right = (scores(said, [truth]) for said in ("a cat", truth))
    assert poor["cider_d"] == right["cider_d"] == 0
    assert moving(poor, right)[0] == "rouge_l"


def test_captions_of_punctuation_have_no_words_but_a_metric_that_moves() -> None:
    truth = "! ? ."
    poor, other, right = (scores(said, [truth]) for said in ("a cat", "a brown dog", truth))
    assert poor["cider_d"] == right["cider_d"] == 0
    assert moving(poor, right)[0] == "rouge_l"
    assert moving(poor, other) == [], "as long as words are said, only the last metric can move"
    assert CaptioningTask.telling[-1] == "tf_perplexity"
