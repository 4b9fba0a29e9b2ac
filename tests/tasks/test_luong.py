"""Everything in Luong et al. 2015 is one override, from training to the picture."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import zoo
from zoo.config.overrides import key_of

TINY = [
    *("data=copy", "trainer=debug", "logger=csv", "~callbacks.alignments", "decoding.beam_size=2"),
    *("data.corpus.train=64", "data.corpus.validation=8", "data.corpus.test=8", "data.batch_tokens=256"),
    *("model=seq2seq", "model/decoder=luong", "model.embedding_size=8", "model.hidden_size=8"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "override",
    [
        *(f"attention={score}" for score in ("dot", "general", "luong_concat", "location", "uniform")),
        *(f"selection=local_{kind}" for kind in ("monotonic", "predictive")),
        "model.decoder.input_feeding=false",
        "model.reverse_source=true",
        "model.dropout=0.5",
        "task.replace_unknown=true",  # the toys' vocabulary is of whole words
    ],
)
def test_it_trains_is_measured_predicts_and_draws(
    start: Callable[..., int], runs: Path, tmp_path: Path, override: str
) -> None:
    assert start(*TINY, override) == 0
    (run,) = (path.parent for path in runs.glob("*/*/status.json"))
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert {"exact_match", "alignment_accuracy", "tf_loss"} <= results["test"].keys()
    predictor = zoo.load(run)
    (translations,) = predictor.predict(["a b c"], nbest=2)
    assert translations[0].weights is not None
    assert translations[0].weights.shape == (len(translations[0].tokens), 4)
    predictor.plot("a b c", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000
    assert key_of(override) in (run / "status.json").read_text(encoding="utf-8")
