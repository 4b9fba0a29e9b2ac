"""Classification: its loss, its scores, what it says of weights, and that it learns."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from quiet import quiet_trainer
from sklearn.metrics import f1_score
from text_classifiers import (
    DOCUMENTS,
    NETWORKS,
    TEXT,
    TEXTS,
    attention,
    batch,
    convolutional,
    flat,
    hierarchical,
    make_task,
    needles,
    of_single_words,
)
from torch import Tensor

from zoo.attention import GumbelHard, Hard
from zoo.core.spec import DataSpec, LabelSpec
from zoo.kernels.noise import keyed
from zoo.networks.pooling import LearnedQuery, Max, Mean
from zoo.tasks.classification import text_figures
from zoo.tasks.classification.readings import Weights, choices_of, pointing, readings_of, weights_of
from zoo.tasks.classification.scores import BINS, ClassificationScores
from zoo.tasks.classification.text_figures import TextFigures


def made_up(count: int = 300, classes: int = 4) -> tuple[Tensor, Tensor]:
    """Log-probabilities of answers that are right more often than not, and the labels; no class 3."""
    generator = torch.Generator().manual_seed(7)
    labels = torch.randint(classes - 1, (count,), generator=generator)
    logits = 2 * torch.randn(count, classes, generator=generator) + 1.5 * F.one_hot(labels, classes)
    logits[:, 3] -= 100
    return logits.log_softmax(-1), labels


class TestScores:
    def measured(self) -> dict[str, float]:
        scores = ClassificationScores(4)
        for log_probs, labels in zip(*(part.split(70) for part in made_up()), strict=True):
            scores.update(log_probs, labels)
        return {name: float(value) for name, value in scores.finish().items()}

    def test_calibration_error_is_that_of_guo_2017(self) -> None:
        log_probs, labels = made_up()
        confidence, found = log_probs.double().exp().max(-1)
        right = (found == labels).double()
        expected = 0.0
        for place in range(BINS):
            inside = [
                number
                for number, one in enumerate(confidence.tolist())
                if place / BINS < one <= (place + 1) / BINS
            ]
            if inside:
                gap = right[inside].mean() - confidence[inside].mean()
                expected += len(inside) / len(labels) * abs(float(gap))
        assert self.measured()["calibration_error"] == pytest.approx(expected, rel=1e-4)

    def test_the_others_are_what_their_names_say(self) -> None:
        log_probs, labels = made_up()
        found, values = log_probs.argmax(-1), self.measured()
        assert values["accuracy"] == pytest.approx(float((found == labels).double().mean()))
        assert values["macro_f1"] == pytest.approx(f1_score(labels, found, average="macro"))
        nll = [-float(row[label]) for row, label in zip(log_probs.double(), labels, strict=True)]
        assert values["loss"] == pytest.approx(sum(nll) / len(nll))
        assert not any("pointing" in name for name in values)

    def test_a_place_that_was_cut_off_does_not_count(self) -> None:
        scores = ClassificationScores(4)
        scores.update(*made_up(3))
        weights = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
        scores.update_pointing(Weights(weights, None), torch.tensor([[0], [1], [-1]]))
        values = scores.finish()
        assert values["pointing_accuracy"] == 0.5
        assert "word_pointing" not in values

    def test_documents_point_at_a_sentence_and_a_word_in_it(self) -> None:
        scores = ClassificationScores(4)
        words = torch.tensor([[[0.9, 0.1], [0.2, 0.8]]]).repeat(3, 1, 1)
        sentences = torch.tensor([[0.3, 0.7]]).repeat(3, 1)
        place = torch.tensor([[1, 1], [0, 0], [0, 1]])
        scores.update(*made_up(3))
        scores.update_pointing(Weights(words, sentences), place)
        values = {name: float(value) for name, value in scores.finish().items()}
        assert values["pointing_accuracy"] == pytest.approx(1 / 3)
        assert values["sentence_pointing"] == pytest.approx(1 / 3)
        assert values["word_pointing"] == pytest.approx(2 / 3)
        scores.update(*made_up(3))
        scores.update_pointing(Weights(None, sentences), place)
        values = {name: float(value) for name, value in scores.finish().items()}
        assert values["pointing_accuracy"] == values["sentence_pointing"] == pytest.approx(1 / 3)
        assert "word_pointing" not in values

    def test_a_loss_that_is_no_number_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Else the value of the validation before would stand in its place."""
        scores = ClassificationScores(4)
        scores.update(*made_up(3))
        monkeypatch.setattr(scores.loss, "compute", lambda: torch.tensor(torch.nan))
        assert scores.compute()["loss"].isnan()

    def test_words_that_tie_share_a_hit(self) -> None:
        weights = torch.tensor([[0.4, 0.4, 0.2], [0.0, 0.0, 0.0], [0.1, 0.8, 0.1]])
        assert pointing(weights, torch.tensor([1, 0, 2])).tolist() == [0.5, 0.0, 0.0]


class TestWeights:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_a_text_has_the_same_ones_alone(self, name: str) -> None:
        task = make_task(NETWORKS[name]()).eval()  # type: ignore[operator]
        raw: list[Any] = DOCUMENTS if task.reader.reads_documents else TEXTS
        together = [answers[0] for answers in task.classify(raw)]
        for one, answer in zip(raw, together, strict=True):
            ((best, *_),) = task.classify([one])
            assert best.probability == pytest.approx(answer.probability, rel=1e-4)
            assert [sentence.words for sentence in best.text.sentences] == [
                sentence.words for sentence in answer.text.sentences
            ]
            for alone, beside in zip(best.text.sentences, answer.text.sentences, strict=True):
                assert alone.weights == pytest.approx(beside.weights, abs=1e-5)
                assert alone.weight == pytest.approx(beside.weight, abs=1e-5)

    def test_they_are_those_of_the_words(self) -> None:
        task = make_task(hierarchical()).eval()
        for (answer, *_), raw in zip(task.classify(DOCUMENTS), DOCUMENTS, strict=True):
            shown = answer.text.sentences
            assert ["".join(one.words).strip() for one in shown] == raw
            assert sum(one.weight for one in shown) == pytest.approx(1)
            assert all(sum(one.weights) == pytest.approx(1) for one in shown)

    def test_a_filter_shares_its_weight_among_the_words_that_it_reads(self) -> None:
        task = make_task(convolutional()).eval()
        given = batch(task)
        classified = task.network(given.text)
        found = weights_of(classified, given.text).words
        for row, length in enumerate(given.text.lengths.tolist()):  # type: ignore[union-attr]
            for word in range(length):
                shares = []
                for width, reading in zip((1, 3), classified.readings, strict=True):
                    places = range(word, word + width)  # where the filter stands on the word
                    weights = reading.attended.weights[row, 0]  # type: ignore[index]
                    shares.append(sum(float(weights[place]) for place in places) / width)
                assert float(found[row, word]) == pytest.approx(sum(shares) / 2, rel=1e-4)  # type: ignore[index]

    def test_controls_have_none(self) -> None:
        task = make_task(hierarchical(Mean, attention())).eval()
        ((answer, *_),) = task.classify(DOCUMENTS[:1])
        assert [one.weights for one in answer.text.sentences] == [None, None]
        assert sum(one.weight for one in answer.text.sentences) == pytest.approx(1)
        task = make_task(flat(Max)).eval()
        ((answer, *_),) = task.classify(TEXTS[:1])
        assert answer.text.sentences[0].weights is None


class TestLoss:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_without_samples_it_is_the_cross_entropy(self, name: str) -> None:
        task = make_task(NETWORKS[name]())  # type: ignore[operator]
        given = batch(task)
        loss, terms = task.loss_of(given)
        expected = F.cross_entropy(task.network(given.text).logits, given.labels)
        assert terms.keys() == {"cross_entropy"}
        torch.testing.assert_close(loss, expected)

    def test_hops_that_read_the_same_cost(self) -> None:
        task = make_task(flat(attention(query=partial(LearnedQuery, hops=3))), penalty=0.7)
        given = batch(task)
        (reading,) = task.network(given.text).readings
        penalty = 0.0
        for weights in reading.attended.weights:
            penalty += float((weights @ weights.mT - torch.eye(3)).square().sum()) / 4
        loss, terms = task.loss_of(given)
        assert float(terms["redundancy"]) == pytest.approx(penalty, rel=1e-4)
        assert float(loss) == pytest.approx(float(terms["cross_entropy"]) + 0.7 * penalty, rel=1e-4)

    def test_of_documents_the_penalty_is_a_mean_over_sentences_and_documents(self) -> None:
        task = make_task(hierarchical(), penalty=1.0)
        given = batch(task)
        classified = task.network(given.text)
        penalties = [
            float((weights @ weights.mT - 1).square().sum())
            for reading in readings_of(classified)
            for weights in reading.attended.weights
        ]
        _, terms = task.loss_of(given)
        assert len(penalties) == 8 + 4
        assert float(terms["redundancy"]) == pytest.approx(sum(penalties) / 12, rel=1e-4)

    @pytest.mark.parametrize("name", ["flat", "convolutional"])
    def test_samples_are_rewarded_with_the_log_probability_of_the_class(self, name: str) -> None:
        network = flat(attention(Hard)) if name == "flat" else convolutional(Hard)
        task = make_task(network)
        given = batch(task)
        loss = task.training_step(given, 0)
        with keyed(given.index, task._seed, 0):
            classified = task.network(given.text)
        reinforce = mse = entropy = cross_entropy = 0.0
        for row in range(4):
            reward = float(classified.logits[row].log_softmax(-1)[given.labels[row]])
            cross_entropy -= reward / 4
            for reading in classified.readings:
                attended = reading.attended
                expected = float(task.reinforce.baseline.linear(reading.queries[row, 0]))  # type: ignore[operator, union-attr]
                reinforce -= float(attended.log_prob[row, 0]) * (reward - expected) / 4  # type: ignore[index]
                mse += (reward - expected) ** 2 / 4
                entropy += float(attended.entropy[row, 0]) / 4  # type: ignore[index]
        assert float(task.terms["reinforce"]) == pytest.approx(reinforce, rel=1e-4)
        assert float(task.terms["baseline_mse"]) == pytest.approx(mse, rel=1e-4)
        assert float(task.terms["entropy"]) == pytest.approx(entropy, rel=1e-4)
        expected = cross_entropy + 0.5 * (reinforce + mse - 0.1 * entropy)
        assert loss.item() == pytest.approx(expected, rel=1e-4)

    def test_a_sentences_sample_belongs_to_its_document(self) -> None:
        task = make_task(hierarchical(attention(Hard), attention(Hard))).train()
        given = batch(task)
        classified = task.network(given.text)
        choices = choices_of(classified, given.text)
        assert choices is not None
        of_words = torch.cat([reading.attended.log_prob for reading in classified.readings])[:, 0]  # type: ignore[misc]
        for row, document in enumerate(DOCUMENTS):
            places = given.text.places[row, : len(document)]  # type: ignore[union-attr]
            real = choices.keep_mask[row]
            assert int(real.sum()) == len(document) + 1
            own = [*of_words[places].tolist(), float(classified.over_sentences.attended.log_prob[row, 0])]  # type: ignore[union-attr, index]
            assert choices.log_prob[row][real].tolist() == pytest.approx(own)

    def test_samples_of_a_document_do_not_depend_on_the_others(self) -> None:
        """Alone its sentences lie in other groups."""
        task = make_task(hierarchical(attention(Hard), attention(Hard))).train()

        def log_probs(raws: list[Any], index: list[int]) -> list[list[float]]:
            text = task.reader.batch([task.reader.encode(raw) for raw in raws])
            with keyed(torch.tensor(index), 5):
                choices = choices_of(task.network(text), text)
            assert choices is not None
            rows = zip(choices.log_prob, choices.keep_mask, strict=True)
            return [row[real].tolist() for row, real in rows]

        together = log_probs(DOCUMENTS, [0, 1, 2, 3])
        for number, raw in enumerate(DOCUMENTS):
            (alone,) = log_probs([raw], [number])
            assert alone == pytest.approx(together[number], rel=1e-4)
        twice = log_probs([["boring and bad ."] * 4], [0])[0]
        assert len(set(twice)) > 2, "equal sentences have samples of their own"

    @pytest.mark.parametrize(
        ("words", "sentences", "count"),
        [
            (attention(Hard), Mean, 3),
            (Mean, attention(Hard), 1),
            (attention(Hard), attention(), 3),
            (attention(), attention(Hard), 1),
        ],
    )
    def test_either_level_may_sample_alone(self, words: Any, sentences: Any, count: int) -> None:
        task = make_task(hierarchical(words, sentences)).train()
        given = batch(task)
        choices = choices_of(task.network(given.text), given.text)
        assert choices is not None
        assert choices.log_prob.shape == (4, count)
        assert "reinforce" in task.loss_of(given)[1]

    def test_no_gradient_but_that_of_the_reward_reaches_the_score(self) -> None:
        task = make_task(flat(attention(Hard)), reinforce=None).train()
        task.loss_of(batch(task))[0].backward()
        assert task.network.words.pooling.query.u.grad is None  # type: ignore[union-attr]
        task = make_task(flat(attention(Hard))).train()
        task.loss_of(batch(task))[0].backward()
        assert task.network.words.pooling.query.u.grad.any()  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"penalty": -1.0}, "penalty must be at least 0"),
            ({"train_items": -1}, "train_items must be at least 0"),
            (
                {"reinforce": {"baseline": None, "entropy_weight": 0.0, "weight": 0.0}},
                "weight must be above 0",
            ),
            (
                {"data": DataSpec("one", {**TEXT.fields, "label": LabelSpec(("only",))})},
                "has one class, only",
            ),
        ],
    )
    def test_bad_arguments_are_refused(self, changes: dict[str, Any], reason: str) -> None:
        with pytest.raises(ValueError, match=reason):
            make_task(flat(), **changes)


class TestLearning:
    @pytest.mark.sampled(5)
    @pytest.mark.parametrize("name", NETWORKS)
    @pytest.mark.parametrize("selection", [None, GumbelHard, Hard])
    def test_overfits_one_batch(self, name: str, selection: Any) -> None:
        sampled = () if selection is None else (attention(selection),)
        network = {
            "flat": lambda: flat(*sampled),
            "hierarchical": lambda: hierarchical(*sampled * 2),
            "convolutional": lambda: convolutional(*(() if selection is None else (selection,))),
        }[name]()
        task = make_task(network).train()
        given, optimizer = batch(task), torch.optim.Adam(task.parameters(), 3e-2)
        for step in range(40):
            optimizer.zero_grad()
            with keyed(given.index, 1, step):
                loss, _ = task.loss_of(given)
            loss.backward()
            optimizer.step()
        logits = task.eval().network(given.text).logits
        assert logits.argmax(-1).tolist() == given.labels.tolist()

    def test_hard_attention_finds_the_needle_by_rewards(self, tmp_path: Path) -> None:
        """A reading of one word: an answer that is right is one that was read at the right place."""
        data = needles(tmp_path)
        task = make_task(of_single_words(data.spec), data.spec, train_items=100)
        trainer = quiet_trainer(tmp_path, max_epochs=6, check_val_every_n_epoch=6)
        trainer.fit(task, datamodule=data)
        values = {name: float(value) for name, value in trainer.callback_metrics.items()}
        assert values["val/accuracy"] > 0.9
        assert values["val/pointing_accuracy"] > 0.8
        (tested,) = trainer.test(task, datamodule=data, verbose=False)
        assert tested["test/train_accuracy"] > 0.9
        assert tested["test/accuracy_gap"] == pytest.approx(
            tested["test/train_accuracy"] - tested["test/accuracy"]
        )

    def test_predictions_say_what_was_answered(self, tmp_path: Path) -> None:
        data = needles(tmp_path, documents=True, train=50)
        task = make_task(hierarchical(data=data.spec), data.spec)
        trainer = quiet_trainer(tmp_path)
        (tested,) = trainer.test(task, datamodule=data, verbose=False)
        items = task.predictions["test"]
        assert [item["id"] for item in items] == list(range(10))
        right = [item["prediction"] in item["references"] for item in items]
        assert tested["test/accuracy"] == pytest.approx(sum(right) / 10)
        raw = data.batch("test", range(10)).raw
        answers = [found[0] for found in task.eval().classify(raw)]
        for item, sentences, answer in zip(items, raw, answers, strict=True):
            assert item["input"] == " ".join(sentences)
            assert item["prediction"] == answer.label
            assert item["probability"] == pytest.approx(answer.probability, rel=1e-4)
        assert "test/train_accuracy" not in tested


def test_the_same_texts_and_right_and_wrong_ones_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheets: list[dict[str, Any]] = []
    monkeypatch.setattr(text_figures, "shaded_sheet", lambda groups, title: sheets.append(groups) or Figure())
    data = needles(tmp_path, documents=True, train=50)
    task = make_task(hierarchical(data=data.spec), data.spec)
    trainer = quiet_trainer(tmp_path, callbacks=[TextFigures(folder=tmp_path, texts=2)])
    trainer.test(task, datamodule=data, verbose=False)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {"texts_test.png", "texts_right_and_wrong_test.png"}
    same, apart = sheets
    assert [len(texts) for texts in same.values()] == [2]
    assert apart.keys() <= {"right", "wrong"}
    for heading, texts in apart.items():
        for text in texts:
            answer, true = text.notes[0].split(", true: ")
            assert (answer.partition(" (")[0] == true) is (heading == "right")


def test_what_does_not_attend_is_not_drawn(tmp_path: Path) -> None:
    data = needles(tmp_path, train=50)
    callback = TextFigures(folder=tmp_path, texts=2)
    quiet_trainer(tmp_path, callbacks=[callback]).test(
        make_task(flat(Mean, data.spec), data.spec), datamodule=data, verbose=False
    )
    assert not list(tmp_path.glob("figures/*.png"))
