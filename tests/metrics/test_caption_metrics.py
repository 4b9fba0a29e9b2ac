"""Scores of captions equal those of COCO's tools, in any batches and processes."""

import copy
import hashlib
import json
import math
import os
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from processes import meet
from torchmetrics import Metric

from zoo.metrics import CaptionBleu, CiderD, RougeL, caption_metrics
from zoo.metrics.caption_tokens import caption_tokens
from zoo.metrics.cider import CiderReferences

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "caption_scores.json").read_text("utf-8"))
ITEMS: list[dict[str, Any]] = RECORDED["items"]
PREDICTIONS: list[str] = [item["prediction"] for item in ITEMS]
REFERENCES: list[list[str]] = [item["references"] for item in ITEMS]
SCALES = {"cider_d": 1}
"""COCO's tools give all others as shares of 1, not of 100."""


def recorded(name: str, part: int = 0) -> float:
    return float(RECORDED["scores"][part][name] * SCALES.get(name, 100))


def value(metric: Metric, predictions: list[str], references: list[list[str]]) -> float:
    """More digits than the float32 of `compute`."""
    sums = [sum(column) for column in zip(*metric.sentence_statistics(predictions, references), strict=True)]
    return float(metric.score(sums))


@pytest.mark.parametrize("item", ITEMS, ids=range(len(ITEMS)))
def test_tokens_are_those_of_the_official_tokeniser(item: dict[str, Any]) -> None:
    found = [" ".join(caption_tokens(text)) for text in (item["prediction"], *item["references"])]
    assert found == item["tokens"]


@pytest.mark.real_data
def test_tokens_of_flickr8k_are_those_of_the_official_tokeniser() -> None:
    path = Path(os.environ["ZOO_DATA_DIR"]) / "flickr8k" / "Flickr8k_text" / "Flickr8k.token.txt"
    captions = [line.partition("\t")[2] for line in path.read_text("utf-8").splitlines()]
    assert len(captions) == 40460
    tokens = "".join(" ".join(caption_tokens(caption)) + "\n" for caption in captions)
    assert hashlib.sha256(tokens.encode()).hexdigest() == RECORDED["flickr8k_tokens_sha256"]


@pytest.mark.parametrize(("text", "official"), RECORDED["known_differences"].items())
def test_known_differences_are_still_different(text: str, official: str) -> None:
    assert " ".join(caption_tokens(text)) != official


@pytest.mark.parametrize("part", range(len(RECORDED["scores"])))
@pytest.mark.parametrize("name", ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider_d"])
def test_scores_are_those_of_the_official_tools(name: str, part: int) -> None:
    chosen = slice(RECORDED["scores"][part]["first"], RECORDED["scores"][part]["last"] + 1)
    predictions, references = PREDICTIONS[chosen], REFERENCES[chosen]
    metric = caption_metrics()[name]
    assert value(metric, predictions, references) == pytest.approx(recorded(name, part), abs=1e-6)
    metric.update(predictions, references)
    assert float(metric.compute()) == pytest.approx(recorded(name, part), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("name", "metric"), [("rouge_l", RougeL()), ("cider_d", CiderD())])
def test_every_image_has_its_official_score(name: str, metric: RougeL | CiderD) -> None:
    scores = [value for value, _ in metric.sentence_statistics(PREDICTIONS, REFERENCES)]
    assert [score / 2**32 for score in scores] == pytest.approx([item[name] for item in ITEMS], abs=1e-6)


@pytest.mark.parametrize("name", caption_metrics())
def test_any_batches_and_processes_equal_the_whole(name: str) -> None:
    whole, batches, first, second = (caption_metrics()[name] for _ in range(4))
    whole.update(PREDICTIONS, REFERENCES)
    for start, stop in pairwise([0, 1, 1, 8, 30, len(ITEMS)]):  # one of them empty
        batches.update(PREDICTIONS[start:stop], REFERENCES[start:stop])
    assert batches.compute() == whole.compute()

    first.update(PREDICTIONS[17:], REFERENCES[17:])
    second.update(PREDICTIONS[:17], REFERENCES[:17])
    first.merge_state(second)
    assert first.compute() == whole.compute()


@pytest.mark.parametrize("first", [5, 0], ids=["both", "one has no image"])
@pytest.mark.parametrize("name", caption_metrics())
def test_processes_that_meet(name: str, first: int) -> None:
    """What torchmetrics does to states under two processes, without those."""
    mine, others, whole = (caption_metrics()[name].to("cpu") for _ in range(3))
    mine.update(PREDICTIONS[:first], REFERENCES[:first])
    others.update(PREDICTIONS[first:], REFERENCES[first:])
    whole.update(PREDICTIONS, REFERENCES)
    meet(mine, others)
    assert mine.compute() == whole.compute()


@pytest.mark.parametrize("name", caption_metrics())
def test_a_reset_metric_and_its_copies_begin_anew(name: str) -> None:
    metric = caption_metrics()[name]
    metric.update(PREDICTIONS, REFERENCES)
    expected = metric.compute()
    for fresh in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric):
        fresh.reset()
        fresh.update(PREDICTIONS, REFERENCES)
        assert fresh.compute() == expected


@pytest.mark.parametrize("name", caption_metrics())
def test_no_captions_are_nan_and_empty_ones_score_zero(name: str) -> None:
    metric = caption_metrics()[name]
    metric.update([], [])
    assert math.isnan(float(metric.compute()))
    metric.reset()
    metric.update(["", ""], [["a dog"], ["two cats"]])
    assert float(metric.compute()) == pytest.approx(0.0, abs=1e-3)  # 1e-15 / 1e-9, in per cent


def test_only_the_brevity_penalty_is_left_out() -> None:
    short, references = ["a dog runs"], [["a dog runs over the green grass"]]
    with_penalty, without = CaptionBleu(3), CaptionBleu(3, brevity_penalty=False)
    assert value(without, short, references) == pytest.approx(100.0, abs=1e-5)
    assert value(with_penalty, short, references) == pytest.approx(100 * math.exp(1 - 7 / 3), abs=1e-5)
    with pytest.raises(ValueError, match="order must be from 1 to 4, got 5"):
        CaptionBleu(5)


def test_the_references_of_a_split_are_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    begin = CiderReferences.__init__

    def counted(self: CiderReferences, references: Any) -> None:
        made.append(len(references))
        begin(self, references)

    monkeypatch.setattr(CiderReferences, "__init__", counted)
    references = [[f"a dog number {number}", "a dog"] for number in range(7)]
    for said in ("a dog", "a cat", "number 3"):
        metric = CiderD()
        metric.update([said] * 7, references)
        metric.compute()
    assert made == [7]


@pytest.mark.parametrize("name", caption_metrics())
def test_bad_references(name: str) -> None:
    metric = caption_metrics()[name]
    with pytest.raises(ValueError, match="2 predictions but 1 lists of references"):
        metric.update(["a", "b"], [["a"]])
    with pytest.raises(TypeError, match="number 1 is a string: 'b'"):
        metric.update(["a", "b"], [["a"], "b"])
    with pytest.raises(ValueError, match="prediction 0 has no reference"):
        metric.update(["a"], [[]])


def test_signatures() -> None:
    """Each says what makes it another score than those of the same kind."""
    signatures = {name: metric.signature for name, metric in caption_metrics().items()}
    assert len(set(signatures.values())) == len(signatures)
    assert all(text.endswith("|tok:coco|case:lc|version:1") for text in signatures.values())
    assert signatures["bleu_3"].startswith("n:3|bp:closest|")
    assert signatures["bleu_3_nobp"].startswith("n:3|bp:none|")
    assert signatures["rouge_l"].startswith("beta:1.2|")
    assert signatures["cider_d"].startswith("n:4|sigma:6|df:split|")
