"""Every mechanism is one word: a file in conf/attention or conf/selection names its class and defaults."""

import inspect
from pathlib import Path

import pytest
import yaml

import zoo.attention
from zoo.attention import Score, Selection

CONF = Path(__file__).parents[2] / "conf"
FILES = {
    "attention/dot": "Dot",
    "attention/scaled_dot": "ScaledDot",
    "attention/general": "General",
    "attention/additive": "Additive",
    "attention/perceptron": "Additive",
    "attention/luong_concat": "Additive",
    "attention/linear_concat": "LinearConcat",
    "attention/cosine": "Cosine",
    "attention/euclidean": "Euclidean",
    "attention/location": "Location",
    "attention/uniform": "Uniform",
    "selection/soft": "Soft",
    "selection/hard": "Hard",
    "selection/gumbel_hard": "GumbelHard",
    "selection/local_monotonic": "LocalMonotonic",
    "selection/local_predictive": "LocalPredictive",
    "selection/content_and_location": "ContentAndLocation",
    "selection/sparsemax": "Sparsemax",
    "selection/entmax": "Entmax",
    "selection/static": "Static",
}


def read(path: Path) -> dict[str, object]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for parent in content.pop("defaults", []):
        content = {**read(path.with_name(f"{parent}.yaml")), **content}
    return content


def test_no_file_and_no_mechanism_is_left_out() -> None:
    groups = ("attention", "selection")
    files = {f"{group}/{path.stem}" for group in groups for path in (CONF / group).glob("*.yaml")}
    assert files == set(FILES)
    library = (getattr(zoo.attention, name) for name in zoo.attention.__all__)
    parts = {kind for kind in library if inspect.isclass(kind) and issubclass(kind, Score | Selection)}
    assert {kind.__name__ for kind in parts} - {"Score", "Selection"} == set(FILES.values())


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_its_class_no_size_and_the_defaults(name: str) -> None:
    content = read(CONF / f"{name}.yaml")
    assert content.pop("_target_") == f"zoo.attention.{FILES[name]}"
    assert content.pop("_partial_") is True
    parameters = dict(inspect.signature(getattr(zoo.attention, FILES[name])).parameters)
    own = {key: value for key, value in parameters.items() if key not in ("query_size", "key_size", "heads")}
    assert content.keys() == own.keys()
    for key, value in content.items():
        assert own[key].default in (value, inspect.Parameter.empty), key
