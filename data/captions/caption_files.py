"""Reads captions of pictures in every published layout, and names file, line and mistake of what is wrong.

All give captions by the name of a picture's file, in the order of the file. Published files have a few blank
captions, which are passed over.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.text.text_files import is_encodable, read_json_line, read_lines
from zoo.core.reading import read_text, unique_keys
from zoo.core.text import is_blank

Captions = dict[str, list[str]]
"""By the name of a picture's file."""

_log = logging.getLogger(__name__)

_SHOWN = 5
_LARGEST = 2**31  # COCO has 200 MB


def read_tokens(path: Path) -> Captions:
    """`name.jpg#2`, a tab, a caption on each line: Flickr8k.token.txt, results_20130124.token.

    Raises:
        ValueError: as `read_lines`; a line is of another kind.
    """
    captions: Captions = {}
    for number, line in enumerate(read_lines(path), start=1):
        if is_blank(line):
            continue
        name, tab, caption = line.partition("\t")
        picture, mark, _ = name.rpartition("#")
        if not tab or not mark:
            raise ValueError(
                f"{path}, line {number}: must be a picture's name, # and a number, a tab and a caption,"
                f" got {line[:60]!r}"
            )
        _add(captions, picture, caption)
    return captions


def read_names(path: Path) -> list[str]:
    """A picture's name on each line: Flickr_8k.trainImages.txt; those without an ending are JPEGs.

    Raises:
        ValueError: as `read_lines`.
    """
    names = (line.strip() for line in read_lines(path) if not is_blank(line))
    return [name if Path(name).suffix else f"{name}.jpg" for name in names]


def read_karpathy(path: Path) -> dict[str, Captions]:
    """The splits of Karpathy and Fei-Fei (2015): dataset_flickr8k.json, dataset_coco.json, ...

    Of COCO they name pictures with their folder. What they call `restval` is for training.

    Raises:
        ValueError: the file is no JSON, or of another kind.
    """
    splits: dict[str, Captions] = {"train": {}, "val": {}, "test": {}}
    split_of: dict[str, str] = {}
    silent, doubled = [], []
    content = _read_json(path)
    for number, image in enumerate(_list(path, content, "images")):
        where = f"{path}, image {number}"
        name, split = _name(where, image, "filename"), _text(where, image, "split")
        split = "train" if split == "restval" else split
        if split not in splits:
            raise ValueError(f"{where}: split must be train, restval, val or test, got {split!r}")
        if "filepath" in image and (folder := _text(where, image, "filepath")):
            name = f"{folder}/{name}"
        if name in split_of:
            doubled.append(name)
        if (first := split_of.setdefault(name, split)) != split:
            raise ValueError(f"{where}: {name} is in split {split!r}, and was in {first!r} before")
        for sentence in _list(where, image, "sentences"):
            _add(splits[split], name, _text(where, sentence, "raw"))
        if name not in splits[split]:
            silent.append(name)
    _say(path, silent, "have no sentence and are left out")
    _say(path, doubled, "stand there once more, and their sentences count as well")
    return splits


def _say(path: Path, names: list[str], what: str) -> None:
    if names:
        _log.warning("%s: %d images %s, for example %s", path, len(names), what, names[0])


def read_coco(path: Path) -> Captions:
    """COCO's own files, captions_train2014.json: pictures and captions in lists of their own.

    Raises:
        ValueError: the file is no JSON, or of another kind.
    """
    content = _read_json(path)
    names: dict[int | str, str] = {}
    captions: Captions = {}
    for number, image in enumerate(_list(path, content, "images")):
        where = f"{path}, image {number}"
        image_id = _id(where, image, "id")
        if image_id in names:
            raise ValueError(f"{where}: there is another image with the id {image_id!r}")
        names[image_id] = _name(where, image, "file_name")
    for number, annotation in enumerate(_list(path, content, "annotations")):
        where = f"{path}, annotation {number}"
        caption = _text(where, annotation, "caption")
        if (image_id := _id(where, annotation, "image_id")) not in names:
            raise ValueError(f"{where}: there is no image with the id {image_id!r}")
        _add(captions, names[image_id], caption)
    return captions


def read_jsonl(path: Path) -> Captions:
    """`{"image": "a.jpg", "captions": ["...", ...]}` on each line; a picture may have several lines.

    Raises:
        ValueError: as `read_lines`; lines are of another kind, of which the first few are named.
    """
    captions: Captions = {}
    problems = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            name, sentences = _described(line)
        except ValueError as error:
            problems.append(f"{path}, line {number}: {error}")
            continue
        captions.setdefault(name, []).extend(sentences)
    if problems:
        more = f"; and {len(problems) - _SHOWN} more lines" if len(problems) > _SHOWN else ""
        raise ValueError("; ".join(problems[:_SHOWN]) + more)
    return captions


def _described(line: str) -> tuple[str, list[str]]:
    """The picture and the captions of a line."""
    if is_blank(line):
        raise ValueError("is empty: remove it or fill it")
    row = read_json_line(line)
    if not isinstance(row, dict) or not {"image", "captions"} <= row.keys():
        raise ValueError(f'must be an object like {{"image": "a.jpg", "captions": ["..."]}}, got {line[:60]}')
    name, captions = row["image"], row["captions"]
    if not isinstance(name, str) or not _is_text(name):
        raise ValueError(f"'image' must be the path of a picture, got {json.dumps(name)[:60]}")
    good = isinstance(captions, list) and captions
    if not good or not all(isinstance(caption, str) and _is_text(caption) for caption in captions):
        raise ValueError(f"'captions' must be a list of texts, none blank, got {json.dumps(captions)[:60]}")
    return name, captions


def _is_text(text: str) -> bool:
    return is_encodable(text) and not is_blank(text) and "\0" not in text


def _add(captions: Captions, name: str, caption: str) -> None:
    if not is_blank(caption):
        captions.setdefault(name, []).append(caption.strip())


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path, _LARGEST), object_pairs_hook=unique_keys)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON, {error}") from error


def _list(where: object, node: Any, key: str) -> Iterator[dict[str, Any]]:
    """The objects in a list."""
    values = node.get(key) if isinstance(node, dict) else None
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise ValueError(f"{where}: must have a list {key!r} of objects")
    return iter(values)


def _text(where: str, node: dict[str, Any], key: str) -> str:
    value = node.get(key)
    if not isinstance(value, str) or not is_encodable(value):
        raise ValueError(f"{where}: must have a text {key!r}, got {json.dumps(value)[:60]}")
    return value


def _name(where: str, node: dict[str, Any], key: str) -> str:
    if not _is_text(name := _text(where, node, key)):
        raise ValueError(f"{where}: {key!r} must name a picture, got {name!r}")
    return name


def _id(where: str, node: dict[str, Any], key: str) -> int | str:
    value = node.get(key)
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise ValueError(f"{where}: {key!r} must be a number or a text, got {json.dumps(value)[:60]}")
    return value
