"""Vectors that somebody else has learned: for each token of the vocabulary, in the network, and reported."""

import logging
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from data.text.classification import ClassificationData
from data.text.columns import Column, Label, Text
from data.text.corpus import Corpus
from data.text.rows import RowBatch
from data.text.vector_data import VectorTextData
from data.text.vocabulary import Tokens, Words
from zoo.core.text import TextCodec
from zoo.tasks.word_vectors import begin_with_vectors

KNOWN = {"a": [1.0, 2.0], "b": [3.0, 6.0], "Cat": [5.0, 4.0], "cat": [0.0, 1.0], ",": [2.0, 2.0]}
SPLITS = {
    "train": [("a b , dog", "x"), ("Cat CAT a", "y")],
    "val": [("a dog", "x"), ("b", "y")],
    "test": [("b dog unseen", "x"), ("Cat", "y")],
}


class Few(Corpus):
    """Few texts."""

    name = "few"
    columns: ClassVar[Mapping[str, Column]] = {"text": Text(), "label": Label()}  # type: ignore[assignment]

    def fingerprint(self) -> str:
        return "few"

    def load(self) -> Mapping[str, Any]:
        return SPLITS


class Pairs(Few):
    """Few pairs."""

    name = "pairs"
    columns: ClassVar[Mapping[str, Column]] = {"left": Text(), "right": Text()}  # type: ignore[assignment]

    def load(self) -> Mapping[str, Any]:
        return {split: [(text, f"{text} b") for text, _ in rows] for split, rows in SPLITS.items()}


class PairData(VectorTextData):
    """Pairs, as they come."""

    needs: ClassVar = {}

    @staticmethod
    def collate(rows: RowBatch) -> RowBatch:
        return rows


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in KNOWN.items()))
    return str(path)


def ready(cache: Path, file: str | None, corpus: Corpus | None = None, **options: Any) -> VectorTextData:
    settings: dict[str, Any] = {"tokenizer": Tokens(special=("pad", "unk")), "batch_tokens": 50, "seed": 1}
    kind = PairData if isinstance(corpus, Pairs) else ClassificationData
    data = kind(
        **settings
        | {"corpus": corpus or Few(), "cache_dir": cache, "maximum_length": 9, "vectors": file}
        | options
    )
    data.check_training_files()
    data.prepare_data()
    data.setup()
    return data


def by_token(data: VectorTextData, name: str = "text") -> dict[str, list[float]]:
    assert data.vectors is not None
    spec = data.spec.text(name)
    return dict(zip(TextCodec(spec).tokens(range(spec.size)), data.vectors.tolist(), strict=True))


def test_each_token_has_the_vector_of_its_word(tmp_path: Path, file: str) -> None:
    found = by_token(ready(tmp_path, file))
    assert {word: found[word] for word in ("a", "b", ",", "Cat")} == {
        word: KNOWN[word] for word in ("a", "b", ",", "Cat")
    }
    assert found["CAT"] == KNOWN["cat"], "the word in small letters"
    assert found["<pad>"] == [0, 0]
    known = np.array([found[word] for word in ("a", "b", ",", "Cat", "CAT")])
    width = 3**0.5 * known.std(0)
    for word in ("dog", "<unk>"):
        assert (np.abs(np.array(found[word]) - known.mean(0)) <= width).all()


def test_a_blank_before_a_word_does_not_matter(tmp_path: Path, file: str) -> None:
    found = by_token(ready(tmp_path, file, tokenizer=Words()))
    assert found["a"] == KNOWN["a"]


def test_words_without_a_vector_vary_as_the_others_do(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    numbers = generator.normal([1, -2], [0.5, 3], (500, 2))
    path = tmp_path / "v.txt"
    path.write_text("".join(f"w{n} {x} {y}\n" for n, (x, y) in enumerate(numbers)))

    class Many(Few):
        name = "many"

        def load(self) -> Mapping[str, Any]:
            words = " ".join(f"w{n}" for n in range(2500))
            return {split: [(f"{words} {split}", "x"), (split, "y")] for split in SPLITS}

    data = ready(tmp_path, str(path), Many(), batch_tokens=5000, maximum_length=3000)
    drawn = np.array(
        [vector for word, vector in by_token(data).items() if word[0] == "w" and int(word[1:]) >= 500]
    )
    np.testing.assert_allclose(drawn.mean(0), numbers.mean(0), atol=0.2)
    np.testing.assert_allclose(drawn.std(0), numbers.std(0), rtol=0.05)


def test_the_seed_draws_vectors(tmp_path: Path, file: str) -> None:
    one, again, other = (ready(tmp_path, file, seed=seed).vectors for seed in (1, 1, 2))
    assert one is not None
    assert again is not None
    assert other is not None
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_coverage_is_reported(tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture) -> None:
    data = ready(tmp_path, file)
    with caplog.at_level(logging.INFO):
        assert data.vectors is not None
    shares = {split: data.report[split]["with_vector"] for split in SPLITS}
    assert shares == pytest.approx({"train": 6 / 7, "val": 2 / 3, "test": 2 / 4})
    assert "5 of 6 words" in caplog.text


def test_a_pair_has_one_vocabulary(tmp_path: Path, file: str) -> None:
    with pytest.raises(ValueError, match=r"left and right.*joint=true"):
        ready(tmp_path, file, Pairs())
    data = ready(tmp_path, file, Pairs(), tokenizer=Tokens(special=("pad", "unk"), joint=True))
    assert by_token(data, "right")["b"] == KNOWN["b"]
    assert data.report["val"]["with_vector"] == pytest.approx(6 / 8), "of the tokens of both sides"


def test_a_missing_file_is_found_before_a_training_alone(tmp_path: Path, file: str) -> None:
    data = ready(tmp_path, file)
    Path(file).rename(tmp_path / "vector.txt")
    data.check_files()
    with pytest.raises(FileNotFoundError, match=r"did you mean .*vector\.txt"):
        data.check_training_files()


def test_a_folder_is_no_file_of_vectors(tmp_path: Path, file: str) -> None:
    with pytest.raises(FileNotFoundError, match="is no file"):
        ready(tmp_path, str(Path(file).parent)).check_training_files()


@pytest.mark.parametrize(
    ("content", "named"), [("a 1 2\nb 1\n", "line 2"), ("z 1 2\n", "none of the 8 tokens")]
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match=named):
        assert ready(tmp_path, str(path)).vectors is not None


def test_frozen_vectors_need_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tune_vectors"):
        ready(tmp_path, None, tune_vectors=False)


class Network(nn.Module):
    """Embeds tokens."""

    def __init__(self, tokens: int, size: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, size, padding_idx=0)


def trainer(data: object, checkpoint: str | None = None, fn: str = "fit") -> Any:
    return SimpleNamespace(datamodule=data, ckpt_path=checkpoint, state=SimpleNamespace(fn=fn))


@pytest.mark.parametrize("tune", [True, False])
def test_a_network_begins_with_the_vectors(tmp_path: Path, file: str, tune: bool) -> None:
    data = ready(tmp_path, file, tune_vectors=tune)
    network = Network(8, 2)
    begin_with_vectors(network, trainer(data))
    assert data.vectors is not None
    assert torch.equal(network.embed.weight, data.vectors)
    assert network.embed.weight.requires_grad == tune


@pytest.mark.parametrize("stage", [("last.ckpt", "fit"), (None, "test")])
def test_a_resumed_training_and_a_test_read_no_file(
    tmp_path: Path, file: str, stage: tuple[str | None, str]
) -> None:
    data = ready(tmp_path, file, tune_vectors=False)
    Path(file).unlink()
    network = Network(8, 2)
    before = network.embed.weight.clone()
    begin_with_vectors(network, trainer(data, *stage))
    assert torch.equal(network.embed.weight, before)
    assert not network.embed.weight.requires_grad, "what was frozen stays so"


def test_without_vectors_nothing_changes(tmp_path: Path) -> None:
    network = Network(8, 2)
    before = network.embed.weight.clone()
    for data in (ready(tmp_path, None), object()):
        begin_with_vectors(network, trainer(data))
    assert torch.equal(network.embed.weight, before)
    assert network.embed.weight.requires_grad


def test_another_size_is_refused_with_both_numbers(tmp_path: Path, file: str) -> None:
    with pytest.raises(ValueError, match=r"2 numbers.*embedding_size=3"):
        begin_with_vectors(Network(8, 3), trainer(ready(tmp_path, file)))
