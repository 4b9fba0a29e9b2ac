"""The configuration as dashboards show it."""

import json
from collections.abc import Mapping
from typing import Any

from zoo.core.flat import flat

_LEFT_OUT = ("paths", "logger", "callbacks", "check")
"""Parts about where and how a run is shown."""

Setting = str | int | float | bool


def logged_settings(config: Mapping[str, Any]) -> dict[str, Setting]:
    """A resolved configuration on one level, for filters and groups of dashboards.

    Keys are joined by `/`, because a dashboard takes a dot for a level of its own. What the task takes by
    interpolation (`task.optimizer`) stands only where it was written.

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
