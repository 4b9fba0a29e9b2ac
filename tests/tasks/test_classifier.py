"""Classifying from the checkpoint alone."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import part, save_run
from text_classifiers import CLASSES, DOCUMENT, DOCUMENTS, TEXT, TEXTS

import zoo
from zoo.figures import shaded_sheet
from zoo.tasks.classification import predictor as module
from zoo.tasks.classification.predictor import Classifier, noted


def make_classifier(folder: Path, pooling: str = "attention", *, documents: bool = False) -> Path:
    """Writes the checkpoint of an untrained model, as a training run would, and returns the folder."""
    attention = {"score": part("zoo.attention.Dot"), "selection": part("zoo.attention.Hard")}
    query = part("zoo.networks.pooling.LearnedQuery", hops=1)
    pools = part("zoo.networks.pooling.AttentionPooling", query=query, attention=attention)
    if pooling != "attention":
        pools = part(f"zoo.networks.pooling.{pooling}")
    common = {"recurrent": part("zoo.networks.recurrent.GRU"), "embedding_size": 8, "hidden_size": 8}
    model = (
        part(
            "zoo.networks.hierarchical.HierarchicalAttention",
            word_pooling=pools,
            sentence_pooling=pools,
            dropout=0.5,
            **common,
        )
        if documents
        else part("zoo.networks.lstm_attention.LSTMAttention", pooling=pools, layers=1, dropout=0.5, **common)
    )
    task = part(
        "zoo.tasks.classification.ClassificationTask",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        reinforce={"baseline": part("zoo.attention.LearnedBaseline"), "entropy_weight": 0.0, "weight": 1.0},
        penalty=0.0,
        train_items=0,
        monitor="val/accuracy",
    )
    settings = {"name": "small", "model": model, "task": task}
    return save_run(folder, settings, DOCUMENT if documents else TEXT, 0.25)


@pytest.fixture
def classifier(tmp_path: Path) -> Any:
    return zoo.load(make_classifier(tmp_path / "flat"))


def test_predictions_equal_the_networks_outputs(classifier: Classifier) -> None:
    found = classifier.predict(TEXTS, nbest=3)
    task = classifier.task
    with torch.no_grad():
        logits = task.network(task.reader.batch([task.reader.encode(text) for text in TEXTS])).logits
    for row, answers in zip(logits.softmax(-1), found, strict=True):
        expected = dict(zip(CLASSES, row.tolist(), strict=True))
        assert {one.label: one.probability for one in answers} == pytest.approx(expected)
        assert [one.probability for one in answers] == sorted(expected.values(), reverse=True)
    assert [classifier(text) for text in TEXTS] == [answers[0].label for answers in found]
    assert not task.training


def test_a_blank_text_has_no_class_and_a_long_one_is_remarked(classifier: Classifier) -> None:
    blank, long = classifier.predict([" \n", "good " * 20])
    assert blank[0].label == ""
    assert long[0].unread == 8
    assert [*classifier.remarks(blank)] == []
    assert len([*classifier.remarks(long)]) == 1
    assert [note for note in noted(long[0]).notes if "8 tokens" in note], "a drawing says it, too"


def test_a_document_is_cut_into_sentences(tmp_path: Path) -> None:
    classifier = zoo.load(make_classifier(tmp_path / "documents", documents=True))
    whole = classifier.predict(["The film was long. It was good."])[0][0]
    parts = classifier.task.classify([["The film was long.", "It was good."]])[0][0]
    assert whole == parts
    assert len(whole.text.sentences) == 2
    rows = str(classifier.render(whole)).splitlines()
    assert [row.split()[1] for row in rows] == ["The", "It"]


def test_shown_texts_are_the_words_that_were_given(classifier: Classifier) -> None:
    answer = classifier.predict(["The film  was GOOD ."])[0][0]
    shown = classifier.render(answer)
    assert str(shown) == "The film was GOOD ."
    assert any(span.style for span in shown.spans)  # type: ignore[union-attr]
    assert classifier.render(classifier.predict([""])[0][0]) is None


def test_drawings_show_the_text_under_each_model(
    classifier: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(module, "shaded_sheet", lambda groups: drawn.update(groups) or shaded_sheet(groups))
    models = {"one": classifier, "two": classifier}
    assert Classifier.draw(models, TEXTS[0], tmp_path / "texts.png") == [tmp_path / "texts.png"]
    assert (tmp_path / "texts.png").stat().st_size
    assert drawn.keys() == {"one", "two"}
    with pytest.raises(ValueError, match="text is empty"):
        Classifier.draw(models, " ", tmp_path / "blank.png")
    plain = zoo.load(make_classifier(tmp_path / "mean", "Mean"))
    with pytest.raises(ValueError, match="the model of plain has no attention"):
        Classifier.draw({"plain": plain}, TEXTS[0], tmp_path / "plain.png")
    assert not [*tmp_path.glob("*a*.png")], "nothing half written"


def test_documents_may_have_more_sentences_than_are_read(tmp_path: Path) -> None:
    classifier = zoo.load(make_classifier(tmp_path / "documents", documents=True))
    answer = classifier.task.classify([[*DOCUMENTS[0], *DOCUMENTS[2]]])[0][0]
    assert len(answer.text.sentences) == 4
    assert answer.unread == len(DOCUMENTS[2][2].split())
