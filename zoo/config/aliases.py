"""Configuration files whose aliases would become more than memory holds, found before Hydra reads them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from zoo.core.problems import Problem
from zoo.core.reading import Unreadable, checked_yaml

_FOLDER = re.compile(r"file://([^'\",\]]+)")


def growing(config_dir: Path, overrides: Sequence[str]) -> Iterator[Problem]:
    """Every file that Hydra could choose, and that no reader could take apart."""
    typed = [text for text in overrides if text.lstrip("+").startswith("hydra.searchpath=")]
    folders = [config_dir, *(Path(found) for text in typed for found in _FOLDER.findall(text))]
    for path in (path for folder in folders for path in sorted(folder.rglob("*.yaml"))):
        try:
            content = path.read_bytes() if path.is_file() else b""
            if b"&" in content and b"*" in content:
                checked_yaml(path)
        except Unreadable as error:
            if not isinstance(error.__cause__, yaml.YAMLError):  # which Hydra says of a file that is chosen
                yield Problem(str(path), error.reason)
        except OSError:
            continue
