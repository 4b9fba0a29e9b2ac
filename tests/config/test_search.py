"""What a study searches, read from a command line, and what its settings must be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from hydra import initialize_config_dir

from zoo.config.search import read_search
from zoo.config.study import study_settings
from zoo.core.problems import ConfigError
from zoo.core.reading import read_yaml

CONF = Path(__file__).parents[2] / "conf"
SWEEPER: dict[str, Any] = {
    "n_trials": 5,
    "objectives": ["monitor"],
    "sampler": {"_target_": "optuna.samplers.TPESampler", "seed": None},
    "pruner": {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": 3},
}


@pytest.fixture(autouse=True)
def hydra() -> Iterator[None]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        yield


@pytest.mark.parametrize(
    ("typed", "distribution", "typed_for_a_trial", "value"),
    [
        ("a=choice(1,2,3)", optuna.distributions.CategoricalDistribution([1, 2, 3]), "a=2", 2),
        ("a=x,'y z'", optuna.distributions.CategoricalDistribution(["x", "y z"]), "a='y z'", "y z"),
        ("+a=true,null", optuna.distributions.CategoricalDistribution([True, None]), "+a=null", None),
        ("a=[1,2],[3]", optuna.distributions.CategoricalDistribution(["[1,2]", "[3]"]), "a=[3]", "[3]"),
        ("a=range(2,9,3)", optuna.distributions.IntDistribution(2, 8, step=3), "a=5", 5),
        ("a=range(0.5,2.0,0.5)", optuna.distributions.FloatDistribution(0.5, 1.5, step=0.5), "a=1.0", 1.0),
        ("a=range(9,2,-3)", optuna.distributions.IntDistribution(3, 9, step=3), "a=6", 6),
        ("a=range(10000000000000)", optuna.distributions.IntDistribution(0, 10**13 - 1), "a=7", 7),
        ("a=interval(0,1)", optuna.distributions.FloatDistribution(0.0, 1.0), "a=0.25", 0.25),
        ("a=int(interval(1,4))", optuna.distributions.IntDistribution(1, 4), "a=3", 3),
        (
            "a=tag(log,interval(0.001,1))",
            optuna.distributions.FloatDistribution(0.001, 1.0, log=True),
            "a=0.01",
            0.01,
        ),
        (
            "a=tag(log,int(interval(1,64)))",
            optuna.distributions.IntDistribution(1, 64, log=True),
            "a=8",
            8,
        ),
        (
            "attention=glob(*concat)",
            optuna.distributions.CategoricalDistribution(["linear_concat", "luong_concat"]),
            "attention=luong_concat",
            "luong_concat",
        ),
    ],
)
def test_is_searched_as_hydra_writes_it(
    typed: str, distribution: object, typed_for_a_trial: str, value: Any
) -> None:
    study = optuna.create_study()
    search = read_search(["seed=1", typed])
    key = typed.partition("=")[0].lstrip("+")
    study.enqueue_trial({key: value})
    trial = study.ask()
    assert search.draw(trial) == [typed_for_a_trial]
    assert trial.distributions == {key: distribution}
    assert search.fixed == ["seed=1"]


def test_a_setting_is_drawn_only_where_its_alternative_is() -> None:
    search = read_search(["either=(a=1,2),(a=3,b=int(interval(1,4)))"])
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    drawn = [(search.draw(trial), trial.params) for trial in (study.ask() for _ in range(20))]
    assert {len(overrides) for overrides, _ in drawn} == {1, 2}
    for overrides, params in drawn:
        assert ("b" in params) == (overrides[0] == "a=3") == (len(overrides) == 2)


def test_one_key_with_other_values_in_another_alternative_is_another_parameter() -> None:
    search = read_search(["either=(s=1,a=1,2),(s=2,a=3,4)"])
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    names = {
        name for trial in (study.ask() for _ in range(20)) if search.draw(trial) for name in trial.params
    }
    assert names == {"either", "a in (s=1 a=1,2)", "a in (s=2 a=3,4)"}


def test_samples_have_every_choice_and_both_ends_but_are_no_product() -> None:
    lines = list(read_search(["seed=1", "a=1,2,3", "b=interval(0,1)", "either=(c=1),(c=2,3)"]).samples())
    assert lines[0] == ["seed=1", "a=1", "b=0.0", "c=1"]
    assert len(lines) == 1 + 2 + 1 + 2
    assert {text for line in lines for text in line} == {
        *("seed=1", "a=1", "a=2", "a=3", "b=0.0", "b=1.0", "c=1", "c=2", "c=3")
    }


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        (["a=1"], "hydra/sweeper=optuna"),
        (["a=interval(2,1)"], "a=interval(2,1)"),
        (["a=tag(log,interval(0,1))"], "a=tag(log,interval(0,1))"),
        (["a=range(3,3)"], "a=range(3,3)"),
        (["attention=glob(nothing*)"], "attention=glob(nothing*)"),
        (["a=interval(1"], "a=interval(1"),
        (["b=1,2", "either=(a=interval(2,1))"], "a=interval(2,1)"),
    ],
)
def test_what_cannot_be_searched_is_named(typed: list[str], key: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_search(typed)
    assert [problem.key for problem in error.value.problems] == [key]


def test_settings_of_a_study() -> None:
    settings = study_settings(SWEEPER, 3)
    assert isinstance(settings.sampler, optuna.samplers.TPESampler)
    assert settings.prunes


@pytest.mark.parametrize("path", sorted(CONF.glob("hydra/sweeper/*/*.yaml")), ids=lambda path: path.stem)
def test_every_sampler_and_pruner_is_built(path: Path) -> None:
    built = study_settings({**SWEEPER, path.parent.name: read_yaml(path)}, 1)
    assert built.prunes == (path.stem != "none")


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"n_trials": 0}, "hydra.sweeper.n_trials"),
        ({"n_trials": "many"}, "hydra.sweeper.n_trials"),
        ({"objectives": []}, "hydra.sweeper.objectives"),
        ({"objectives": "monitor"}, "hydra.sweeper.objectives"),
        ({"objectives": ["monitor", "second"]}, "hydra.sweeper.objectives"),
        ({"objectives": ["seconds", "seconds"]}, "hydra.sweeper.objectives"),
        ({"objectives": ["monitor", "seconds"]}, "hydra/sweeper/pruner"),
        ({"sampler": {"_target_": "optuna.samplers.TPESampler", "trials": 3}}, "hydra.sweeper.sampler"),
        ({"sampler": {"_target_": "optuna.pruners.NopPruner"}}, "hydra.sweeper.sampler._target_"),
        ({"sampler": {"_target_": "os.system", "command": "true"}}, "hydra.sweeper.sampler._target_"),
        ({"pruner": {"_target_": "optuna.pruners.os.system"}}, "hydra.sweeper.pruner._target_"),
        (
            {"pruner": {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": -1}},
            "hydra.sweeper.pruner",
        ),
    ],
)
def test_a_wrong_setting_is_named(changed: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as error:
        study_settings({**SWEEPER, **changed}, 1)
    assert [problem.key for problem in error.value.problems] == [key]


def test_says_how_to_install_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.config.study.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[optuna\]'"):
        study_settings(SWEEPER, 1)
