"""Configurations: composed, resolved, checked, and built."""

from zoo.config.problems import ConfigError, Problem

__all__ = ["ConfigError", "Problem"]
