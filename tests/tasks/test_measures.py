"""What a task declares of its metrics, and what is refused when the class is made."""

from typing import Any, ClassVar

import pytest
from torchmetrics import MeanMetric

from zoo.metrics import Bleu, Measure
from zoo.metrics.measure import control_records, metric_records
from zoo.tasks.captioning.task import CaptioningTask
from zoo.tasks.recognition.task import RecognitionTask
from zoo.tasks.task import Task
from zoo.tasks.translation.task import TranslationTask


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({}, r"Odd\.metrics must have a Measure with headline=True"),
        ({"oddness": Measure(MeanMetric, better="min")}, "headline=True"),
        ({"oddness": MeanMetric}, r"Odd\.metrics\['oddness'\] must be a Measure"),
        ([], r"Odd\.metrics must map names to Measures, got \[\]"),
        ({"oddness": Measure(MeanMetric, better="min", headline=True)}, r"Odd does not say its batch_type"),
    ],
)
def test_a_task_whose_results_could_not_be_read_is_refused(declared: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        type("Odd", (Task,), {"metrics": declared})


def test_a_metric_without_a_direction_is_refused() -> None:
    with pytest.raises(TypeError, match="better"):
        Measure(MeanMetric)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="Bleu says higher_is_better=True, got better='min'"):
        Measure(Bleu, better="min")
    with pytest.raises(ValueError, match="a headline needs a direction"):
        Measure(MeanMetric, better=None, headline=True)


def test_a_subclass_of_a_task_keeps_its_metrics() -> None:
    class Own(RecognitionTask):
        metrics: ClassVar = {**RecognitionTask.metrics, "own": Measure(MeanMetric, better="max", watched=3)}

    assert Own.telling == ("error", "loss", "own")
    assert RecognitionTask.telling == ("error", "loss")


@pytest.mark.parametrize("monitor", ["val/bleo", "val/alignment_entropy", "bleu", "test/bleu"])
def test_a_monitor_that_nothing_declares_has_no_mode(monitor: str) -> None:
    with pytest.raises(ValueError, match=monitor):
        TranslationTask.mode_of(monitor)


def test_a_monitor_has_the_mode_that_its_task_declares() -> None:
    assert [TranslationTask.mode_of(f"val/{name}") for name in ("bleu", "tf_loss")] == ["max", "min"]
    with pytest.raises(ValueError, match=r"val/bleo is not measured: .*; did you mean val/bleu\?"):
        TranslationTask.mode_of("val/bleo")


@pytest.mark.parametrize(
    ("measured", "headline", "shown"),
    [
        (("bleu", "chrf", "exact_match", "bleu_tok_lc"), "bleu_tok_lc", ["bleu", "bleu_tok_lc", "chrf"]),
        (("bleu", "chrf", "exact_match"), "exact_match", ["exact_match"]),
    ],
)
def test_the_headline_decides_what_stands_beside_it(
    measured: tuple[str, ...], headline: str, shown: list[str]
) -> None:
    records = metric_records(TranslationTask.metrics, measured)
    assert records.keys() == set(measured)
    assert [name for name, one in records.items() if one.headline] == [headline]
    assert [name for name, one in records.items() if one.role != "detail"] == shown


def test_a_control_names_its_metrics() -> None:
    records = control_records(CaptioningTask.controls, {"cider_d", "constant_cider_d", "pointing_uniform"})
    assert {name: one.metrics for name, one in records.items()} == {
        "uniform": {"pointing_accuracy": "pointing_uniform"},
        "constant": {"cider_d": "constant_cider_d"},
    }


def test_a_score_of_items_is_a_declaration() -> None:
    with pytest.raises(TypeError, match=r"items must be an ItemScore.*got 'bleu'"):
        Measure(Bleu, better="max", items="bleu")  # type: ignore[arg-type]


def test_a_metric_that_is_absent_has_no_mode() -> None:
    with pytest.raises(ValueError, match="val/bleu is not measured: there is no text"):
        TranslationTask.mode_of("val/bleu", {"bleu": "there is no text"})


@pytest.mark.parametrize(
    ("key", "value"), [("better", "up"), ("role", "main"), ("digits", -1), ("digits", 10), ("digits", 2.5)]
)
def test_a_measure_that_no_report_could_read_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{key} must be"):
        Measure(MeanMetric, **{"better": "max", key: value})
