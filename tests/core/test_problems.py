"""Which key was meant by one that does not exist."""

import pytest

from zoo.core.problems import elsewhere

TREE = {
    "seed": 1,
    "data": {"seed": 1, "corpus": {"target": "de", "seed": 2}, "size": 3},
    "model": {"decoder": {"attention": {"score": "${attention}"}}, "size": 9, "layers": 2},
    "attention": {"hidden_size": 5},
    "optimizer": {"lr": 1.0},
}


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("data.target", ["data.corpus.target"]),
        ("data.corpus.goal.target", ["data.corpus.target"]),
        ("trget", ["data.corpus.target"]),
        ("lr", ["optimizer.lr"]),
        ("size", ["data.size", "model.size"]),
        ("model.seed", ["seed", "data.seed", "data.corpus.seed"]),
        ("decoder.attention", ["model.decoder.attention"]),
        ("model.attention.hidden_size", ["attention.hidden_size"]),
        ("model.layer", []),  # its neighbour is as like it: that is said anyway
        ("data.seed.of", []),
        ("nothing", []),
        ("rate", []),
    ],
)
def test_the_whole_tree_is_searched(key: str, meant: list[str]) -> None:
    assert elsewhere(key, TREE) == meant


def test_a_key_that_exists_is_not_its_own_neighbour() -> None:
    assert elsewhere("data.seed", TREE) == ["data.corpus.seed"]
    assert elsewhere("optimizer.lr", TREE) == []
    assert elsewhere("key", "no tree") == []
