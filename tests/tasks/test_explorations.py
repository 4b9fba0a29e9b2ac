"""What each predictor shows of one input."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import (
    draw_picture,
    make_answerer,
    make_captioner,
    make_matcher,
    make_player,
    make_recogniser,
    make_run,
    transformer,
)
from text_classifiers import flat, hierarchical, make_task
from torch import nn

import zoo
from zoo.networks.pooling import Mean
from zoo.tasks.classification.predictor import Classifier
from zoo.tasks.exploration import (
    Exploration,
    Glimpses,
    MemoryReading,
    PictureReading,
    Shading,
    TokenReading,
    candidates,
    heads_of,
    mechanism,
)
from zoo.tasks.inputs import SENTENCES, takes
from zoo.tasks.predictor import Predictor


def check(exploration: Exploration) -> None:
    """Refuses readings whose labels or weights do not fit."""
    for view in exploration.views:
        if not isinstance(view, TokenReading):
            continue
        assert view.weights.shape[2:] == (len(view.queries), len(view.keys)), view.name
        assert view.weights.min() >= 0
        assert view.weights.max() <= 1
        assert len(view.candidates) in (0, len(view.queries))


def names(exploration: Exploration) -> list[str]:
    return [view.name for view in exploration.views]


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return zoo.load(make_run(tmp_path_factory.mktemp("recurrent")))


def test_a_recurrent_translator_shows_what_each_step_read(recurrent: Any) -> None:
    found = recurrent.explore("abc fed")
    check(found)
    best = recurrent.predict(["abc fed"])[0][0]
    (view,) = found.views
    assert found.answers[0].text == best.text
    assert len(found.answers) == 5
    torch.testing.assert_close(view.weights[0, 0], best.weights)
    assert (view.queries, view.keys) == (best.tokens, best.source_tokens)
    assert view.mechanism == "score additive, selection soft"


def test_candidates_hold_the_token_that_was_written(recurrent: Any) -> None:
    (view,) = recurrent.explore("abc fed").views
    for token, likely in zip(view.queries, view.candidates, strict=True):
        assert token in [one.text for one in likely]
        probabilities = [one.probability for one in likely]
        assert probabilities == sorted(probabilities, reverse=True)


def test_candidates_end_with_an_unlikely_token() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    (likely,) = candidates(logits, [0], "abcdefg".__getitem__)
    assert [one.text for one in likely] == ["g", "f", "e", "d", "a"]
    assert likely[0].probability == pytest.approx(float(logits.softmax(-1)[0, 6]))


def test_a_transformer_shows_all_heads_of_three_kinds(tmp_path: Path) -> None:
    predictor = zoo.load(make_run(tmp_path, model=transformer()))
    found = predictor.explore("abc fed")
    check(found)
    assert names(found) == ["cross-attention", "encoder self-attention", "decoder self-attention"]
    assert [tuple(view.weights.shape[:2]) for view in found.views] == [(2, 2), (1, 2), (2, 2)]
    assert all(view.mechanism == "score scaled dot, selection soft" for view in found.views)
    cross, encoder, decoder = found.views
    assert (cross.keys, cross.queries) == (encoder.queries, decoder.queries)
    assert decoder.keys[0] == "<s>"
    assert not decoder.weights.triu(1).any(), "nothing that is written later is read"
    assert cross.candidates
    assert not encoder.candidates


def test_a_model_without_attention_says_so(tmp_path: Path) -> None:
    found = zoo.load(make_run(tmp_path, decoder="FixedVectorDecoder")).explore("abc")
    assert not found.views
    assert "no attention" in found.notes[-1]
    assert found.answers[0].text


def test_a_text_that_is_too_long_is_said_to_be_cut(recurrent: Any) -> None:
    found = recurrent.explore("abc " * 20)
    check(found)
    assert len(found.views[0].keys) == 40
    assert "longer than the model reads" in found.notes[0]


def test_a_predictor_of_ones_own_shows_its_answers(recurrent: Any) -> None:
    class Shouting(Predictor):
        @takes(SENTENCES)
        def predict(self, texts: list[str], nbest: int = 1) -> list[list[str]]:
            return [[text.upper(), text.title()][:nbest] for text in texts]

    shouting = Shouting(recurrent.checkpoint, recurrent.task, device="cpu", precision="32-true")
    found = shouting.explore("hello")
    assert [one.text for one in found.answers] == ["HELLO", "Hello"]
    assert not found.views
    assert found.notes


def test_the_mechanism_of_a_part(tmp_path: Path) -> None:
    network = zoo.load(make_run(tmp_path, model=transformer())).task.network
    assert mechanism(network, "nowhere") == ""


def classifier(network: nn.Module) -> Classifier:
    return Classifier(None, make_task(network), device="cpu", precision="32-true")  # type: ignore[arg-type]


def test_a_classifier_shades_words_and_sentences() -> None:
    (view,) = classifier(flat()).explore("a good film").views
    assert isinstance(view, Shading)
    assert view.text.sentences[0].words == ["a", " good", " film"]
    found = classifier(hierarchical()).explore("the film was long . it was good .")
    (view,) = found.views
    assert isinstance(view, Shading)
    assert view.name == "attention to words and sentences"
    assert view.mechanism == "score dot, selection soft"
    weights = [one.weight for one in view.text.sentences]
    assert sum(filter(None, weights)) == pytest.approx(1)
    assert sum(one.probability or 0 for one in found.answers) == pytest.approx(1)


def test_a_classifier_without_attention_says_so() -> None:
    found = classifier(flat(Mean)).explore("a good film")
    assert not found.views
    assert "no attention" in found.notes[-1]


@pytest.mark.parametrize(("kind", "views"), [("reads", 1), ("abcnn3", 1), ("bcnn", 0), ("degrees", 1)])
def test_a_matcher_shows_matrices_over_both_texts(tmp_path: Path, kind: str, views: int) -> None:
    found = zoo.load(make_matcher(tmp_path, kind=kind)).explore(("a red square", "the blue circle of a"))
    check(found)
    assert len(found.views) >= views
    assert bool(found.views) == bool(views)
    for view in found.views:
        assert list(view.keys) == ["the", "blue", "circle", "of", "a", "</s>"]
        assert len(view.queries) in (1, 4)
        euclidean, additive = "score euclidean, no selection", "score additive, selection soft"
        assert view.mechanism == (euclidean if kind == "abcnn3" else additive)
    assert (found.answers[0].probability is None) == (kind == "degrees")


def test_heads_of_networks_with_marks_of_their_own(recurrent: Any) -> None:
    """Tokens of the vocabulary have its names, others those of the network."""

    class Marked(nn.Module):
        mark_names = ("<start>", "<end>")

        def attention_maps(self, text: Any) -> Any:
            size = recurrent.task.source_codec.spec.size
            ids = torch.tensor([[size, *text, size + 1]])
            return {"heads": [torch.rand(1, 2, ids.shape[1], ids.shape[1])] * 3}, ids

    codec = recurrent.task.source_codec
    (found,) = heads_of(SimpleModel(Marked()), codec, codec.encode(["ab"])[0][:2])
    assert found.queries == ["<start>", "a", "b", "<end>"]
    assert found.weights.shape == (3, 2, 4, 4)
    assert heads_of(SimpleModel(nn.Identity()), codec) == []


class SimpleModel(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network


def test_a_recogniser_shows_its_glimpses(tmp_path: Path) -> None:
    predictor, picture = zoo.load(make_recogniser(tmp_path / "run")), draw_picture(tmp_path / "a.png")
    found = predictor.explore(picture)
    (view,) = found.views
    assert isinstance(view, Glimpses)
    assert view.mechanism == "learned policy"
    assert view.image.shape == (1, 12, 16)
    assert len(view.locations) == len(view.glimpses) > 1
    assert [one.text for one in found.answers] == [one.label for one in predictor.predict([picture], 5)[0]]
    again = predictor.explore(picture).views[0]
    assert torch.equal(again.locations, view.locations)


def test_a_captioner_shows_where_each_word_looked(tmp_path: Path) -> None:
    predictor = zoo.load(make_captioner(tmp_path / "run"))
    picture = draw_picture(tmp_path / "a.png", mode="RGB")
    found = predictor.explore(picture)
    (view,) = found.views
    assert isinstance(view, PictureReading)
    assert len(view.words) == len(view.weights) == len(view.candidates)
    assert view.weights.flatten(1).sum(1) == pytest.approx(1, abs=1e-5)
    for word, likely in zip(view.words, view.candidates, strict=True):
        assert word in [one.text for one in likely]
    assert found.answers[0].text == predictor(picture)


def test_a_machine_shows_its_memory_over_time(tmp_path: Path) -> None:
    predictor = zoo.load(make_answerer(tmp_path))
    (answered,) = predictor.play(3, length=4)
    found = predictor.explore(3, length=4)
    (view,) = found.views
    assert isinstance(view, MemoryReading)
    names = ["input", "wanted", "answer", "read head 1", "write head 1"]
    assert [one.name for one in view.strips] == names
    assert {len(one.values) for one in view.strips} == {len(answered.inputs)}
    assert torch.equal(view.strips[3].values, answered.read_weights[:, 0])
    assert view.mechanism == "score cosine, selection content and location"
    assert "bits wrong" in found.answers[0].text


def test_a_player_shows_its_glimpses_of_each_ball(tmp_path: Path) -> None:
    predictor = zoo.load(make_player(tmp_path))
    found = predictor.explore(2)
    assert len(found.views) == len(found.answers) == len(predictor.play(2)) > 0
    assert all(isinstance(view, Glimpses) for view in found.views)
    assert found.answers[0].text.startswith("ball 1: ")
