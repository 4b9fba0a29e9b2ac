"""`either=(...),(...)`: what may stand in the parentheses, and which jobs it makes."""

from pathlib import Path

import pytest

from zoo.config import resolvers
from zoo.config.alternatives import parted
from zoo.config.compose import compose_jobs
from zoo.core.problems import ConfigError

CONF = Path(__file__).parents[2] / "conf"


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        (
            "(attention=dot,model.layers=1),(attention=cosine)",
            [["attention=dot", "model.layers=1"], ["attention=cosine"]],
        ),
        ("(attention=dot model.layers=1,2)", [["attention=dot", "model.layers=1,2"]]),
        (" ( a=1 , b=2 ) , (c=3) ", [["a=1", "b=2"], ["c=3"]]),
        ("(a=[1,2],b={x:1,y:2})", [["a=[1,2]", "b={x:1,y:2}"]]),
        (
            "(a=int(interval(1,4)),b=tag(log,interval(1,4)))",
            [["a=int(interval(1,4))", "b=tag(log,interval(1,4))"]],
        ),
        ("(a='x), b=2',b=3)", [["a='x), b=2'", "b=3"]]),
        (r"(a=x\),b=3)", [[r"a=x\)", "b=3"]]),
        (
            "(model/decoder=none,~model.decoder.input_feeding,+a.b=1)",
            [["model/decoder=none", "~model.decoder.input_feeding", "+a.b=1"]],
        ),
    ],
)
def test_settings_within_parentheses(text: str, alternatives: list[list[str]]) -> None:
    assert parted(["seed=1", f"either={text}"]) == (["seed=1"], [alternatives])


@pytest.mark.parametrize(
    "text",
    [
        *("", "a=1", "()", "(a=1", "(a=1))", "(a=1)(b=2)", "(a=1),", "(dot)", "(a=1,2", "(a=[1)", "(a='1)"),
        *("(a=1,a=2)", "(a=1,+a=2)", "(seed=2)", "(sweep=policy_matrix)", "(either=(a=1))"),
    ],
)
def test_what_cannot_be_meant_is_refused_once(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parted(["seed=1", f"either={text}"])
    assert [problem.key for problem in error.value.problems] == [f"either={text}"]


def test_two_of_them_must_not_set_the_same() -> None:
    with pytest.raises(ConfigError) as error:
        parted(["either=(a=1),(a=2)", "either=(b=1),(a=3)"])
    assert [problem.key for problem in error.value.problems] == ["either=(b=1),(a=3)"]


def test_jobs_are_the_alternatives_times_the_rest_and_equal_ones_are_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    resolvers.register()
    only = "either=(selection=soft,hard),(selection=local_monotonic,selection.window=1,2),(selection=soft)"
    jobs = compose_jobs(CONF, ["data=reverse", only, "seed=1,2"], True)
    cells = set()
    for job in jobs:
        selection = job.config["selection"]
        name = selection["_target_"].rpartition(".")[2]
        cells.add((name, selection.get("window"), job.config["seed"]))
    selections = [("Soft", None), ("Hard", None), ("LocalMonotonic", 1), ("LocalMonotonic", 2)]
    assert len(jobs) == 8
    assert cells == {(*selection, seed) for selection in selections for seed in (1, 2)}
    assert "2 of 10 jobs would be equal to others" in caplog.text


def test_two_names_of_one_mechanism_are_two_jobs() -> None:
    resolvers.register()
    jobs = compose_jobs(CONF, ["data=reverse", "attention=additive,luong_concat"], True)
    first, second = (job.config["attention"] for job in jobs)
    assert first == second


@pytest.mark.parametrize(
    ("line", "key", "multirun"),
    [
        (["either=(seed=1),(seed=2)"], "either=(seed=1),(seed=2)", False),
        (["either=(attention=dot),(attention=dto)"], "attention=dto", True),
        (["sweep=policy_matrix", "either=(policy=random),(seed=2)"], "policy", True),
    ],
)
def test_the_problem_is_said_of_what_was_typed(line: list[str], key: str, multirun: bool) -> None:
    resolvers.register()
    with pytest.raises(ConfigError) as error:
        compose_jobs(CONF, line, multirun)
    assert [problem.key for problem in error.value.problems] == [key]
