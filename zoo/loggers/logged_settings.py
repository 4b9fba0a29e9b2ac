"""What dashboards are told of a configuration."""

import json
from collections.abc import Mapping
from typing import Any

from zoo.core.flat import flat

_LEFT_OUT = ("paths", "logger", "callbacks", "check")
"""Parts that say where and how a run is shown, not what it is."""

Setting = str | int | float | bool


def logged_settings(config: Mapping[str, Any]) -> dict[str, Setting]:
    """A configuration as a dashboard can filter and group it: one level, one value for each key.

    Keys are joined by `/`: a dashboard takes a dot for a level of its own, and its filters miss the key. What
    other parts took by interpolation (`task.optimizer`) stands there once, where it was written.

    Args:
        config: resolved, in plain containers.

    Returns:
        Such as `attention: General`, `model/hidden_size: 128`, `optimizer/betas: [0.9, 0.98]`.
    """
    kept = {key: value for key, value in config.items() if key not in _LEFT_OUT}
    kept["sweep"] = (config.get("sweep") or {}).get("name")
    if isinstance(task := kept.get("task"), Mapping):
        kept["task"] = {
            key: value for key, value in task.items() if key not in config or value != config[key]
        }
    if averaging := (config.get("callbacks") or {}).get("averaging"):  # the one that changes what is tested
        kept["averaging"] = averaging
    places = tuple(str(path) for path in (config.get("paths") or {}).values() if path)
    values = {key: _simple(value) for key, value in flat(kept, "/")}
    return {key: value for key, value in values.items() if value not in places}


def _simple(value: Any) -> Setting:
    return value if isinstance(value, Setting) else json.dumps(value)
