"""Names of classes that have moved.

Configurations and checkpoints of earlier runs keep their names, and load, resume and compare as before.
`config_hash` is computed over the first name of each class, so results stay in their groups.
"""

from collections.abc import Callable
from typing import Any

_MODULES = {
    "data.augmentation": "data.images.augmentation",
    "data.batching": "data.core.batching",
    "data.cache": "data.core.cache",
    "data.canvas": "data.images.canvas",
    "data.caption_files": "data.captions.caption_files",
    "data.caption_set": "data.captions.caption_set",
    "data.captions": "data.captions.captions",
    "data.catch": "data.games.catch",
    "data.copies": "data.core.copies",
    "data.corpus": "data.text.corpus",
    "data.data_module": "data.core.data_module",
    "data.dates": "data.text.dates",
    "data.digits": "data.images.digits",
    "data.download": "data.core.download",
    "data.feature_store": "data.captions.feature_store",
    "data.hub": "data.text.hub",
    "data.image_captions": "data.captions.image_captions",
    "data.image_folder": "data.images.image_folder",
    "data.image_set": "data.images.image_set",
    "data.images": "data.images.images",
    "data.keyed_random": "data.core.keyed_random",
    "data.mapped_rows": "data.core.mapped_rows",
    "data.mnist": "data.images.mnist",
    "data.multi30k": "data.text.multi30k",
    "data.pairs": "data.text.rows",
    "data.parallel": "data.text.parallel",
    "data.paths": "data.core.paths",
    "data.picture_captions": "data.captions.picture_captions",
    "data.picture_files": "data.captions.picture_files",
    "data.preparation": "data.text.preparation",
    "data.published_captions": "data.captions.published_captions",
    "data.shapes": "data.captions.shapes",
    "data.splitting": "data.core.splitting",
    "data.tatoeba": "data.text.tatoeba",
    "data.text_files": "data.text.text_files",
    "data.toys": "data.text.toys",
    "data.translation": "data.text.translation",
    "data.vocabulary": "data.text.vocabulary",
    "zoo.callbacks": "zoo.training.callbacks",
    "zoo.runs.metrics": "zoo.loggers.metrics_file",
    "zoo.runs.tensorboard": "zoo.loggers.tensorboard",
    "zoo.runs.wandb": "zoo.loggers.wandb",
    "zoo.tasks.schedules": "zoo.training.schedules",
}
"""Modules, by their first name."""

_CLASSES = {
    "zoo.callbacks.AlignmentFigures": "zoo.tasks.translation.alignment_figures.AlignmentFigures",
    "zoo.callbacks.CaptionFigures": "zoo.tasks.captioning.caption_figures.CaptionFigures",
    "zoo.callbacks.CaptionTable": "zoo.tasks.captioning.caption_table.CaptionTable",
    "zoo.callbacks.GameFigures": "zoo.tasks.tracking.game_figures.GameFigures",
    "zoo.callbacks.GlimpseFigures": "zoo.tasks.recognition.glimpse_figures.GlimpseFigures",
    "zoo.callbacks.Heartbeat": "zoo.runs.heartbeat.Heartbeat",
    "zoo.callbacks.SampleTable": "zoo.tasks.translation.sample_table.SampleTable",
}
"""Classes that moved apart from their module, by their first name."""

_FIRST_MODULES = {now: first for first, now in _MODULES.items()}
_FIRST_CLASSES = {now: first for first, now in _CLASSES.items()}


def with_current_names(config: Any) -> Any:
    """A copy of a configuration with the current name in every `_target_`."""
    return _renamed(config, lambda target: _moved(target, _CLASSES, _MODULES))


def with_first_names(config: Any) -> Any:
    """A copy of a configuration with the class's first name in every `_target_`."""
    return _renamed(config, lambda target: _moved(target, _FIRST_CLASSES, _FIRST_MODULES))


def _renamed(node: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(node, dict):
        return {
            key: rename(value) if key == "_target_" and isinstance(value, str) else _renamed(value, rename)
            for key, value in node.items()
        }
    return [_renamed(value, rename) for value in node] if isinstance(node, list) else node


def _moved(target: str, classes: dict[str, str], modules: dict[str, str]) -> str:
    module, _, name = target.rpartition(".")
    if module in modules and target not in classes:
        return f"{modules[module]}.{name}"
    return classes.get(target, target)
