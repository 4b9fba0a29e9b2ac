"""What dashboards are told of a configuration: one level, simple values, no folders."""

from collections.abc import Callable

from zoo.loggers.logged_settings import logged_settings
from zoo.runs.frozen import Config


def test_one_level_of_simple_values(configure: Callable[..., Config]) -> None:
    config = configure("attention=general", "sweep.name=scores", "averaging=last")
    settings = logged_settings(config)
    assert {type(value) for value in settings.values()} <= {str, int, float, bool}
    assert not [key for key in settings if "." in key or "_target_" in key]
    expected = {
        "attention": "General",
        "model": "Seq2Seq",
        "model/decoder": "BahdanauDecoder",
        "model/decoder/attention/score": "General",
        "optimizer/betas": "[0.9, 0.98]",
        "optimizer/lr": config["optimizer"]["lr"],
        "task/monitor": "val/chrf",
        "averaging": "CheckpointAveraging",
        "sweep": "scores",
        "seed": 1,
    }
    assert {key: settings.get(key) for key in expected} == expected


def test_settings_are_shown_once_and_without_folders(configure: Callable[..., Config]) -> None:
    config = configure()
    settings = logged_settings(config)
    assert "optimizer" in settings
    assert "task/optimizer" not in settings
    folders = tuple(config["paths"].values())
    assert not [key for key, value in settings.items() if str(value).startswith(folders)]
    assert not [key for key in settings if key.partition("/")[0] in ("paths", "callbacks", "logger")]
    config["task"]["optimizer"] = {**config["optimizer"], "lr": 0.5}
    assert logged_settings(config)["task/optimizer/lr"] == 0.5
