"""Attention models and the one attention library that they share."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.config.building import build, compose
    from zoo.inference.loading import load

__all__ = ["build", "compose", "load"]


def __getattr__(name: str) -> Any:
    # `import zoo` stays light: prediction brings Lightning and Hydra with it.
    if name == "load":
        from zoo.inference.loading import load

        return load
    if name in ("build", "compose"):
        from zoo.config import building

        return getattr(building, name)
    raise AttributeError(f"module 'zoo' has no attribute {name!r}")
