"""What a finished run may be tested with: another search, batches, machine; nothing that was learned."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.config.evaluation import typed, with_overrides
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

CONF = Path(__file__).parents[2] / "conf"
Configure = Callable[..., Config]


def _problems(config: Config, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        with_overrides(config, overrides, CONF)
    return str(caught.value)


def test_the_task_searches_as_the_configuration_says(configure: Configure) -> None:
    config = configure("data=reverse")
    changed = with_overrides(config, ["decoding.beam_size=2"], CONF)
    assert changed["decoding"] == {**config["decoding"], "beam_size": 2}
    assert changed["task"]["decoding"] == changed["decoding"]
    assert config["decoding"]["beam_size"] == 5, "what was given is left alone"
    del changed["decoding"], changed["task"]["decoding"], config["decoding"], config["task"]["decoding"]
    assert changed == config


def test_another_search_takes_the_place_of_all_settings_whatever_the_order(configure: Configure) -> None:
    changed = with_overrides(configure(), ["decoding.temperature=0.5", "decoding=sample"], CONF)
    assert changed["decoding"]["_target_"] == "zoo.decoding.Sample"
    assert changed["decoding"]["temperature"] == 0.5
    assert "beam_size" not in changed["decoding"]
    assert changed["task"]["decoding"] == changed["decoding"]


def test_data_and_machine(configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["data=parallel", "data.train=[a,b]", "data.test=[c,d]"]
    monkeypatch.chdir(tmp_path)
    line = ["data.batch_tokens=100", "data.test=[e,f]", "trainer.strategy=ddp", "trainer.precision=64-true"]
    changed = with_overrides(configure(*files), line, CONF)
    assert changed["data"]["batch_tokens"] == 100
    assert changed["data"]["test"] == [f"{tmp_path}/e", f"{tmp_path}/f"], "from where it was typed"
    assert (changed["trainer"]["strategy"], changed["trainer"]["precision"]) == ("ddp", "64-true")


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.hidden_size=9", "a test cannot change it; allowed: decoding=NAME, decoding.*"),
        ("trainer.acelerator=gpu", "did you mean trainer.accelerator? allowed: "),
        ("trainer.max_steps=9", "a test cannot change it"),
        ("seed=2", "a test cannot change it"),
        ("data.seed=2", "a test cannot change it"),
        ("data.corpus.seed=2", "a test cannot change it"),
        ("data.tokenizer.size=9", "a test cannot change it"),
        ("data/tokenizer=bpe", "a test cannot change it"),
        ("data=dates", "a test cannot change it"),
        ("data._target_=data.text.toys.Copy", "a test cannot change it"),
        ("decoding.beem_size=2", "there is no beem_size; did you mean beam_size? allowed: beam_size"),
        ("data.corpus.symbols.x=2", "symbols is not a mapping, so there is nothing in it"),
        ("decoding=beem", "there is no decoding called beem; did you mean beam? allowed: beam, greedy"),
        ("decoding=null", "there is no decoding called None; allowed: beam, greedy"),
        ("decoding.beam_size=1,2", "these are several values; a test takes one"),
        ("~decoding", "a test leaves nothing out"),
        ("decoding.beam_size", "is given no value; write decoding.beam_size=VALUE"),
    ],
)
def test_anything_else_is_refused(configure: Configure, override: str, said: str) -> None:
    assert f"- {override.partition('=')[0]}" in (message := _problems(configure("data=reverse"), override))
    assert said in message


def test_one_message_names_all(configure: Configure) -> None:
    message = _problems(configure(), "seed=2", "decoding.beem_size=2", "decoding.beam_size=2")
    assert message.startswith("2 problems in the configuration, nothing was run:")


def test_what_writes_no_text_does_not_search(configure: Configure) -> None:
    config = configure("model=ram", "data=digits", "task=recognition")
    for override in ("decoding=greedy", "decoding.beam_size=2"):
        assert "changes nothing: the task writes no text" in _problems(config, override)


def test_what_was_typed_for_the_training_holds_unless_it_was_typed_anew() -> None:
    before = ["experiment=a", "decoding.beam_size=9", "data.batch_tokens=1", "seed=2", "test=false"]
    now = ["data.batch_tokens=2"]
    assert typed(before, now) == ["experiment=a", "decoding.beam_size=9", "seed=2", *now]
    assert typed(before, ["decoding=greedy"]) == [
        *("experiment=a", "data.batch_tokens=1", "seed=2", "decoding=greedy")
    ]


def test_what_only_the_class_says_is_set_with_a_plus(configure: Configure) -> None:
    config = configure("data=reverse")
    del config["data"]["batch_tokens"]
    assert "takes it: write +data.batch_tokens=9" in _problems(config, "data.batch_tokens=9")
    assert with_overrides(config, ["+data.batch_tokens=9"], CONF)["data"]["batch_tokens"] == 9
