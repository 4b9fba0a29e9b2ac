"""Small sets of pictures with captions, as they lie on a disk."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

SPLITS = {"train": 13, "val": 4, "test": 5}
THINGS = ("dog", "cat", "man", "child", "T-shirt")


def draw(path: Path, seed: int, size: tuple[int, int] = (24, 18)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def said_of(number: int) -> list[str]:
    """Two or three raw captions."""
    thing = THINGS[number % len(THINGS)]
    more = [f"There 's a {thing} on the left ."] if number % 2 else []
    return [f"A {thing} , running .", f"the {thing} runs", *more]


def write_jsonl(folder: Path) -> dict[str, str]:
    """A file for each split, as arguments of `ImageCaptions`."""
    files = {}
    for shift, (split, count) in enumerate(SPLITS.items()):
        lines = []
        for number in range(count):
            name = f"photos/{split} {number}.png"
            draw(folder / name, 100 * shift + number)
            lines.append(json.dumps({"image": name, "captions": said_of(number)}))
        path = folder / f"{split}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        files[split] = str(path)
    return files
