"""The matching task: its losses, its rewards, its metrics, and the toy whose alignment is known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from quiet import quiet_trainer
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor, nn

from data.text.columns import Column, Degree, Group, Label, Text
from data.text.corpus import Corpus
from data.text.counterparts import Counterparts
from data.text.matching import MatchingData
from data.text.vocabulary import Words
from zoo.attention import Additive, Euclidean, Hard, LearnedBaseline, Selection, Soft
from zoo.core.batch import Padded
from zoo.metrics.ranking import expected_by_chance
from zoo.networks.abcnn import ABCNN, Matched
from zoo.networks.attentive_matching import AttentiveMatching, AttentiveReader, ImpatientReader, Reader
from zoo.networks.recurrent import GRU
from zoo.tasks.matching.maps import pair_maps
from zoo.tasks.matching.pair_figures import PairFigures
from zoo.tasks.matching.task import MatchingTask

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(list("abcdefg"), RNG.integers(1, 6))) for _ in range(60)]


@dataclass(kw_only=True)
class Pairs(Corpus):
    """Pairs of short texts with any answers."""

    answer: Column
    answers: list[Any]
    groups: list[int] = field(default_factory=list)
    name: str = "pairs"

    @property
    def columns(self) -> dict[str, Column]:
        kind = "degree" if isinstance(self.answer, Degree) else "label"
        grouped = {"group": Group()} if self.groups else {}
        return {"left": Text(), "right": Text(), kind: self.answer, **grouped}

    def fingerprint(self) -> str:
        return repr(self)

    def load(self) -> dict[str, list[tuple[Any, ...]]]:
        columns: list[list[Any]] = [TEXTS, TEXTS[::-1], self.answers]
        rows = list(zip(*columns, *([self.groups] if self.groups else []), strict=True))
        return {"train": rows[:20], "val": rows[20:30], "test": rows[30:]}


def set_up(folder: Path, corpus: Corpus, **options: Any) -> MatchingData:
    data = MatchingData(
        corpus=corpus,
        tokenizer=Words(joint=True),
        **{"batch_tokens": 256, "maximum_length": 12, **options},
        seed=1,
        cache_dir=folder,
    )
    data.prepare_data()
    data.setup()
    return data


def reading(
    reader: type[Reader] = AttentiveReader, selection: Callable[..., Selection] = Soft, size: int = 8
) -> Callable[..., nn.Module]:
    return partial(
        AttentiveMatching,
        recurrent=GRU,
        reader=reader,
        attention={"score": Additive, "selection": selection},
        embedding_size=size,
        embedding_range=1.7,
        hidden_size=2 * size,
        dropout=0.0,
    )


CONVOLUTIONS = partial(ABCNN, embedding_size=8, filters=6, width=3, layers=1, dropout=0.0)


def make_task(
    data: MatchingData, network: Callable[..., nn.Module] | None = None, **changes: Any
) -> MatchingTask:
    torch.manual_seed(0)
    parts: dict[str, Any] = {
        "optimizer": partial(torch.optim.Adam, lr=0.01),
        "scheduler": None,
        "reinforce": {"baseline": LearnedBaseline, "entropy_weight": 0.01},
        "monitor": "val/accuracy",
    }
    built = (network or reading())(spec=data.spec)
    return MatchingTask(network=built, spec=data.spec, **(parts | changes))


class Scripted(nn.Module):
    """Says of each pair what is written down for it, by the number that is its first token's place."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits, self.done = logits, 0
        self.embed = nn.Embedding(1, 1)  # every text network has one, for word vectors

    def forward(self, left: Padded, right: Padded) -> Matched:
        first = self.done
        self.done += len(left.ids)
        return Matched(self.logits[first : self.done])


def outcome(tmp_path: Path, data: MatchingData, logits: Tensor) -> tuple[dict[str, float], MatchingTask]:
    """The test of a network that says these logits of the test items, in the order of their batches."""
    order = torch.cat([batch.index for loader in data.test_dataloader() for batch in loader])
    task = make_task(data)
    task.network = Scripted(logits[order])
    (measured,) = quiet_trainer(tmp_path).test(task, datamodule=data, verbose=False)
    return {name.removeprefix("test/"): value for name, value in measured.items()}, task


class TestMetrics:
    def test_of_labels(self, tmp_path: Path) -> None:
        labels = RNG.choice(["no", "yes"], 60, p=[0.7, 0.3]).tolist()
        data = set_up(tmp_path, Pairs(answer=Label(), answers=labels))
        logits = torch.from_numpy(RNG.normal(size=(30, 2))).float()
        measured, task = outcome(tmp_path, data, logits)
        found = [("no", "yes")[row] for row in logits.argmax(-1).tolist()]
        true = labels[30:]
        assert measured["accuracy"] == pytest.approx(accuracy_score(true, found))
        assert measured["f1"] == pytest.approx(f1_score(true, found, pos_label="yes"))
        assert measured["macro_f1"] == pytest.approx(f1_score(true, found, average="macro"))
        nll = -logits.double().log_softmax(-1)[range(30), [int(one == "yes") for one in true]]
        assert measured["loss"] == pytest.approx(float(nll.mean()))
        assert not {"map", "mrr", "pearson", "alignment_accuracy", "pointing_accuracy"} & measured.keys()
        rows = task.predictions["test"]
        assert [row["prediction"] for row in rows] == found
        assert [row["references"] for row in rows] == [[one] for one in true]
        assert rows[3]["input"] == f"{TEXTS[33]}\t{TEXTS[::-1][33]}"
        assert data.baselines["test"]["majority_accuracy"] == true.count("no") / 30

    def test_of_three_classes_there_is_no_binary_f1(self, tmp_path: Path) -> None:
        labels = RNG.choice(["a", "b", "c"], 60).tolist()
        data = set_up(tmp_path, Pairs(answer=Label(), answers=labels))
        measured, _ = outcome(tmp_path, data, torch.from_numpy(RNG.normal(size=(30, 3))).float())
        assert measured.keys() == {"accuracy", "macro_f1", "loss"}

    def test_of_degrees(self, tmp_path: Path) -> None:
        degrees = RNG.uniform(1, 5, 60).round(1).tolist()
        data = set_up(tmp_path, Pairs(answer=Degree(1.0, 5.0), answers=degrees))
        logits = torch.from_numpy(RNG.normal(size=(30, 1))).float()
        measured, task = outcome(tmp_path, data, logits)
        found = 1 + 4 / (1 + np.exp(-logits[:, 0].double().numpy()))
        true = np.array(degrees[30:])
        assert measured.keys() == {"pearson", "spearman", "mse", "loss"}
        assert measured["pearson"] == pytest.approx(pearsonr(found, true)[0], abs=1e-5)
        assert measured["spearman"] == pytest.approx(spearmanr(found, true)[0], abs=1e-5)
        assert measured["mse"] == measured["loss"] == pytest.approx(np.mean((found - true) ** 2), rel=1e-5)
        assert float(task.predictions["test"][0]["prediction"]) == pytest.approx(found[0], abs=1e-4)
        mean = np.mean((true - np.mean(degrees[:20])) ** 2)
        assert data.baselines["test"]["mean_mse"] == pytest.approx(mean)

    def test_of_rankings(self, tmp_path: Path) -> None:
        """The last class is the right answer, and its log-odds rank, not its probability."""
        labels = RNG.choice(["no", "yes"], 60, p=[0.7, 0.3]).tolist()
        labels[20] = "yes"  # in val, which otherwise could not be ranked
        groups = RNG.integers(6, size=60).tolist()
        data = set_up(tmp_path, Pairs(answer=Label(("no", "yes")), answers=labels, groups=groups))
        logits = torch.from_numpy(RNG.normal(size=(30, 2))).float() * 30  # probabilities of many are 1
        measured, task = outcome(tmp_path, data, logits)
        odds = (logits[:, 1] - logits[:, 0]).tolist()
        questions, precisions, reciprocals = [], [], []
        for group in sorted(set(groups[30:])):
            own = [row for row in range(30) if groups[30 + row] == group]
            questions.append([labels[30 + row] == "yes" for row in own])
            ranked = [labels[30 + row] == "yes" for row in sorted(own, key=lambda row: -odds[row])]
            if any(ranked):
                hits = [rank for rank, right in enumerate(ranked, start=1) if right]
                precisions.append(np.mean([(place + 1) / rank for place, rank in enumerate(hits)]))
                reciprocals.append(1 / hits[0])
        assert measured["map"] == pytest.approx(np.mean(precisions), abs=1e-6)
        assert measured["mrr"] == pytest.approx(np.mean(reciprocals), abs=1e-6)
        task.trainer.datamodule = data  # type: ignore[attr-defined]
        controls = task.control_scores(data)["test"]
        assert controls["chance_map"] == pytest.approx(expected_by_chance(questions)["map"])
        assert {"majority_accuracy", "order_map", "order_mrr", "chance_mrr"} <= controls.keys()
        assert task.signatures.keys() == {"map", "mrr"}
        assert task.predictions["test"][5]["group"] == groups[35]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> MatchingData:
    corpus = Counterparts(seed=1, train=3000, validation=100, test=100)
    return set_up(tmp_path_factory.mktemp("toy"), corpus, batch_tokens=512)


class TestLoss:
    def test_of_labels(self, toy: MatchingData) -> None:
        task, batch = make_task(toy), toy.batch("train", range(7))
        loss, terms = task.loss_of(batch)
        logits = task.network(batch.left, batch.right).logits.double()
        expected = -logits.log_softmax(-1)[range(7), batch.answers].mean()
        assert float(loss) == float(terms["cross_entropy"]) == pytest.approx(float(expected), rel=1e-5)

    @pytest.mark.parametrize("reader", [AttentiveReader, ImpatientReader])
    def test_sampled_readings_are_rewarded_with_the_log_probability_of_the_class(
        self, toy: MatchingData, reader: type[Reader]
    ) -> None:
        task = make_task(toy, reading(reader, Hard)).train()
        batch = toy.batch("train", range(7))
        seen: dict[str, Any] = {}
        assert task.reinforce is not None
        task.reinforce.register_forward_pre_hook(
            lambda _, args, kwargs: seen.update(kwargs), with_kwargs=True
        )
        torch.manual_seed(3)
        loss, terms = task.loss_of(batch)
        torch.manual_seed(3)
        nll = -task.network(batch.left, batch.right).logits.log_softmax(-1)[range(7), batch.answers]
        readings = 1 if reader is AttentiveReader else batch.left.ids.shape[1]
        torch.testing.assert_close(seen["reward"], -nll.detach().unsqueeze(1).expand(7, readings))
        assert not seen["reward"].requires_grad
        real = batch.left.keep_mask if readings > 1 else torch.ones(7, 1, dtype=torch.bool)
        assert torch.equal(seen["keep_mask"], real)
        assert {"cross_entropy", "reinforce", "reward", "entropy", "baseline_mse"} <= terms.keys()
        assert float(loss) != float(terms["cross_entropy"])
        loss.backward()
        assert all(one.grad is not None and one.grad.any() for one in task.network.reader.parameters())  # type: ignore[union-attr]

    def test_of_one_class_nothing_can_be_learned(self, tmp_path: Path) -> None:
        data = set_up(tmp_path, Pairs(answer=Label(), answers=["a"] * 60))
        with pytest.raises(ValueError, match="one class"):
            make_task(data)


class TestMaps:
    def test_columns_of_a_wide_convolution_lie_over_their_words(self, toy: MatchingData) -> None:
        """A column that has seen words i - 1 to i + 1 stands at word i."""
        task, batch = (
            make_task(toy, partial(CONVOLUTIONS, pooling_match=Euclidean)),
            toy.batch("val", range(3)),
        )
        matched = task.network(batch.left, batch.right)
        (found,) = pair_maps(matched, batch.left, batch.right)
        (matrix,) = matched.matrices  # type: ignore[attr-defined]
        assert found.weights.shape == (3, batch.left.ids.shape[1], batch.right.ids.shape[1])
        torch.testing.assert_close(found.weights, matrix[:, 1:-1, 1:-1])

    def test_negative_scores_may_be_the_largest(self, toy: MatchingData) -> None:
        """Padding has the score 0, which does not count."""
        left, right = (
            Padded(torch.zeros(1, 1).long(), torch.tensor([1])),
            Padded(torch.zeros(1, 4).long(), torch.tensor([2])),
        )
        matrix = torch.tensor([[[-2.0, -1.0, 0.0, 0.0]]])
        (found,) = pair_maps(Matched(torch.zeros(1, 2), (matrix,)), left, right)
        scores = make_task(toy).new_scores("test")
        scores.update_alignment(found, torch.tensor([[1]]))
        assert float(scores.alignment.compute()) == 1

    def test_pointing_asks_where_something_belongs_together(self, toy: MatchingData) -> None:
        task = make_task(toy)
        scores, batch = task.new_scores("test"), toy.batch("test", range(40))
        (found,) = pair_maps(task.network(batch.left, batch.right), batch.left, batch.right)
        scores.update_alignment(found, batch.alignment)
        known = [row for row in range(40) if (batch.alignment[row] >= 0).any()]
        hits = [int(found.weights[row, 0].argmax()) in batch.alignment[row].tolist() for row in known]
        assert 0 < len(known) < 40
        assert float(scores.compute()["pointing_accuracy"]) == pytest.approx(np.mean(hits))


@pytest.mark.slow
def test_the_toy_is_learned_and_the_right_word_is_looked_at(toy: MatchingData, tmp_path: Path) -> None:
    task = make_task(toy, reading(size=16))
    quiet_trainer(tmp_path, max_epochs=6, check_val_every_n_epoch=6).fit(task, datamodule=toy)
    measured = task.trainer.callback_metrics
    assert float(measured["val/accuracy"]) > 0.98
    assert float(measured["val/pointing_accuracy"]) > 0.9


@pytest.mark.parametrize(
    "network",
    [
        CONVOLUTIONS,
        partial(CONVOLUTIONS, input_match=Euclidean),
        partial(CONVOLUTIONS, pooling_match=Euclidean),
        reading(),
        reading(ImpatientReader),
    ],
    ids=["bcnn", "abcnn1", "abcnn2", "attentive", "impatient"],
)
def test_a_batch_is_learned_by_heart(toy: MatchingData, network: Callable[..., nn.Module]) -> None:
    task, batch = make_task(toy, network), toy.batch("train", range(16))
    optimizer = torch.optim.Adam(task.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        loss, _ = task.loss_of(batch)
        if loss < 0.1:
            break
        loss.backward()
        optimizer.step()
    assert loss < 0.1


@pytest.mark.parametrize("all_right", [False, True])
def test_right_and_wrong_pairs_are_drawn_apart_and_the_same_ones_under_every_model(
    toy: MatchingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, all_right: bool
) -> None:
    if all_right:
        monkeypatch.setattr(MatchingTask, "is_right", lambda *_: True)
    callback = PairFigures(folder=tmp_path, pairs=2)
    quiet_trainer(tmp_path, callbacks=[callback]).test(make_task(toy), datamodule=toy, verbose=False)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    sheets = {"pairs_test", "pairs_right_test"} | (set() if all_right else {"pairs_wrong_test"})
    assert names == {f"{sheet}.{kind}" for sheet in sheets for kind in ("png", "json")}, "and what they show"
