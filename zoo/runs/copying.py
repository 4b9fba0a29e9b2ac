"""Repeats a run from its config.yaml alone."""

from pathlib import Path

import yaml

from zoo.core.files import write_text
from zoo.core.reading import Unreadable, checked_yaml
from zoo.runs.folder import create_run_folder, folder_for_another
from zoo.runs.frozen import FILE, Config, rehoused, write_config
from zoo.runs.status import State, StatusFile


def copy_run(folder: Path) -> Path:
    """Queues the same run in a new folder of today or, of a run that was moved, beside it.

    Returns:
        The new folder's config.yaml; whoever runs it puts the folder in place of the old one.

    Raises:
        ValueError: there is no config.yaml, or it is not that of a run.
        OSError: the new folder cannot be made.
    """
    path = folder / FILE
    if not path.is_file():
        raise ValueError(f"{path} does not exist: is {folder} a run's folder?")
    try:
        text = checked_yaml(path)
        config: Config = yaml.safe_load(text)
        runs, name = Path(config["paths"]["runs_dir"]), config["name"]
    except Unreadable as error:
        raise ValueError(f"{path} is not the configuration of a run: it {error.reason}") from error
    except (yaml.YAMLError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the configuration of a run: {error}") from error
    try:
        overrides = StatusFile(folder).read().overrides
    except (FileNotFoundError, ValueError):  # config.yaml alone is enough
        overrides = []
    there, parent = folder_for_another(folder, runs)
    new = create_run_folder(parent, str(name))
    StatusFile(new).start(overrides, State.QUEUED)
    # Paths below the old folder keep their place in the text: `thaw` moves them.
    if there == runs:
        write_text(new / FILE, text)
    else:
        write_config(new / FILE, rehoused(config, runs, there))
    return new / FILE
