"""Pointing: a loop over words and cells says the same; the controls are what they claim to be."""

import itertools
import random
from typing import NamedTuple

import pytest
import torch
from processes import meet
from torch import Tensor

from zoo.core.batch import Box, TrueCaptions
from zoo.metrics import Pointing

NAMES = ("accuracy", "uniform", "centre", "random", "counted")


class Example(NamedTuple):
    words: list[str]
    weights: Tensor
    truth: TrueCaptions


def examples(seed: int, height: int = 3, width: int = 4, images: int = 9) -> list[Example]:
    """Some that are no true caption, words that name nothing, maps with ties and without weight."""
    generator = random.Random(seed)

    def box() -> Box:
        left, right = sorted(generator.random() for _ in range(2))
        top, bottom = sorted(generator.random() for _ in range(2))
        return (left, top, right, bottom)

    made = []
    for _ in range(images):
        words = [generator.choice("abc") for _ in range(generator.randint(1, 5))]
        boxes = [generator.choice([None, box(), box()]) for _ in words]
        weights = torch.tensor(
            [
                [[generator.choice([0.0, 0.3, 0.6]) for _ in range(width)] for _ in range(height)]
                for _ in range(len(words) + 1)
            ]
        )
        said = words if generator.random() < 0.8 else [*words[:-1], "z"]
        made.append(Example(said, weights, TrueCaptions({" ".join(words): boxes, "other": [box()]})))
    return made


def centres(weights: Tensor) -> list[tuple[float, float]]:
    """Of all cells of a map, row by row."""
    height, width = weights.shape
    return [((x + 0.5) / width, (y + 0.5) / height) for y in range(height) for x in range(width)]


def inside(box: Box, point: tuple[float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def hit(weights: Tensor, box: Box) -> float:
    """The chance that a peak, drawn among those that tie, is in the box."""
    flat = weights.flatten().tolist()
    tied = [point for point, weight in zip(centres(weights), flat, strict=True) if weight == max(flat) > 0]
    return sum(inside(box, point) for point in tied) / len(tied) if tied else 0.0


def expected(seen: list[Example]) -> dict[str, float]:
    named: list[tuple[int, Tensor, Box]] = [
        (number, weights, box)
        for number, example in enumerate(seen)
        for weights, box in zip(
            example.weights, example.truth.boxes.get(" ".join(example.words), []), strict=False
        )
        if box is not None
    ]
    others = [
        hit(theirs, box)
        for (mine, _, box), (number, theirs, _) in itertools.product(named, repeat=2)
        if mine != number
    ]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    return {
        "pointing_accuracy": mean([hit(weights, box) for _, weights, box in named]),
        "pointing_uniform": mean([hit(torch.ones_like(weights), box) for _, weights, box in named]),
        "pointing_centre": mean([inside(box, (0.5, 0.5)) for _, _, box in named]),
        "pointing_random": mean(others),
        "pointing_counted": mean([" ".join(example.words) in example.truth.boxes for example in seen]),
    }


def values(metric: Pointing) -> dict[str, float]:
    return {name: float(value) for name, value in metric.compute().items()}


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_share_of_words_whose_peak_is_inside(seed: int) -> None:
    seen = examples(seed)
    whole, first, second = Pointing(), Pointing(), Pointing()
    for number, example in enumerate(seen):
        whole.update(*example)
        (first if number % 3 else second).update(*example)
    assert values(whole) == pytest.approx(expected(seen), abs=1e-6)
    first.merge_state(second)
    assert values(first) == pytest.approx(expected(seen), abs=1e-6)


@pytest.mark.parametrize("share", [[3], []], ids=["of no true caption", "no image"])
def test_a_process_that_points_at_nothing(share: list[int]) -> None:
    seen = examples(5)
    seen[3] = seen[3]._replace(words=["z"])
    its, other = Pointing().to("cpu"), Pointing().to("cpu")
    for number, example in enumerate(seen):
        (its if number in share else other).update(*example)
    meet(other, its)
    assert values(other) == pytest.approx(expected(seen), abs=1e-6)


def test_nothing_counts_without_maps_or_without_truths() -> None:
    metric = Pointing()
    metric.update(["b"], None, TrueCaptions({"b": [None]}))
    metric.update(["b"], torch.ones(1, 2, 2), None)
    assert all(value.isnan() for value in metric.compute().values())


def test_one_cell_of_a_grid_that_is_no_square() -> None:
    weights = torch.zeros(2, 2, 4)
    weights[0, 1, 3] = 1.0  # below, on the right: its centre is (7/8, 3/4)
    metric = Pointing()
    metric.update(["ball"], weights, TrueCaptions({"ball": [(0.8, 0.7, 0.9, 0.8)]}))
    assert float(metric.compute()["pointing_accuracy"]) == 1.0
    metric.update(["ball"], weights, TrueCaptions({"ball": [(0.7, 0.8, 0.8, 0.9)]}))
    assert float(metric.compute()["pointing_accuracy"]) == 0.5


def test_a_map_without_weight_is_wrong() -> None:
    metric = Pointing()
    metric.update(["all"], torch.zeros(1, 2, 2), TrueCaptions({"all": [(0.0, 0.0, 1.0, 1.0)]}))
    assert float(metric.compute()["pointing_accuracy"]) == 0.0
    assert float(metric.compute()["pointing_uniform"]) == 1.0


def test_nothing_to_point_at_is_nan() -> None:
    metric = Pointing()
    metric.update(["a"], torch.ones(1, 2, 2), TrueCaptions({"b": [None]}))
    metric.update(["b"], torch.ones(1, 2, 2), TrueCaptions({"b": [None]}))
    found = metric.compute()
    assert float(found.pop("pointing_counted")) == 0.5
    assert all(value.isnan() for value in found.values())
    metric.update(["b"], torch.ones(1, 2, 2), TrueCaptions({"b": [(0.0, 0.0, 1.0, 1.0)]}))
    found = metric.compute()
    assert found.pop("pointing_random").isnan()  # there is no other image
    assert float(found["pointing_accuracy"]) == 1.0


def test_more_words_than_maps_are_refused() -> None:
    with pytest.raises(ValueError, match="2 words but maps of 1"):
        Pointing().update(["a", "b"], torch.ones(1, 2, 2), TrueCaptions({}))


def test_names() -> None:
    metric = Pointing()
    metric.update(["b"], torch.ones(1, 2, 2), TrueCaptions({"b": [(0.0, 0.0, 1.0, 1.0)]}))
    assert set(metric.compute()) == {f"pointing_{name}" for name in NAMES}
