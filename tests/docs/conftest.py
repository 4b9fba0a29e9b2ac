"""Files of the user's that guides name."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PAIRS = [(f"row {number} of the seat {number % 7}", f"r{number} s{number % 7}") for number in range(300)]
LABELLED = [
    (f"text {number} is {'good' if number % 2 else 'bad'}", "yes" if number % 2 else "no")
    for number in range(60)
]


@pytest.fixture
def folder_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a small file of each name in the guides."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for split in ("train", "val", "test"):
        first = {"train": 0, "val": 100, "test": 200}[split]
        pairs = [(f"{source} in {first}", f"{target} {first}") for source, target in PAIRS]
        for language, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (folder / f"{split}.{language}").write_text("\n".join(texts) + "\n")
        rows = [{"review": f"{text} {first}", "stars": label} for text, label in LABELLED]
        with gzip.open(folder / f"{split}.jsonl.gz", "wt") as file:
            file.write("\n".join(map(json.dumps, rows)))
        _captions(folder, split)
    with gzip.open(folder / "corpus.tsv.gz", "wt") as file:
        file.write("\n".join("\t".join(pair) for pair in PAIRS) + "\n")
    (folder / "pairs.tsv").write_text("\n".join("\t".join(pair) for pair in PAIRS) + "\n")
    (folder / "reviews.csv").write_text("\n".join(["text,label", *map(",".join, LABELLED)]) + "\n")
    (folder / "book.txt").write_text("\n".join(f"This is line {number} of a book." for number in range(2000)))
    (folder / "notes").mkdir()
    for number in range(5):
        (folder / "notes" / f"{number}.txt").write_text(f"Note {number} says little. " * 200)
    _pairs_of_texts(folder)
    for label in ("cat", "dog"):
        (folder / "pictures" / label).mkdir(parents=True)
        for number in range(12):
            _draw(folder / "pictures" / label / f"{number}.png", number)
    for name in ("scene0", "scene1", "scene2", "five", "four", "eight", "picture"):
        _draw(folder / f"{name}.png", 1)
    Image.open(folder / "picture.png").convert("RGB").save(folder / "photo.jpg")
    (folder / "sentences.txt").write_text("one row\nanother row\n")
    (folder / "lines.txt").write_text("one row\nanother row\n")
    words = {word for text, _ in LABELLED for word in text.split()}
    vectors = "\n".join(" ".join([word, *(["0.1"] * 300)]) for word in sorted(words))
    (folder / "glove.6B.300d.txt").write_text(vectors + "\n")
    return folder


def _captions(folder: Path, split: str) -> None:
    rows = []
    for number in range(8):
        _draw(folder / f"{split}{number}.png", number)
        rows.append({"image": f"{split}{number}.png", "captions": [f"a scene of {number} things"]})
    (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")


def _pairs_of_texts(folder: Path) -> None:
    rows = [(f"{text}", f"{text} too", label) for text, label in LABELLED]
    (folder / "pairs.csv").write_text("\n".join(["left,right,same", *map(",".join, rows)]) + "\n")
    degrees = [f"{left}\t{right}\t{number % 6}" for number, (left, right, _) in enumerate(rows)]
    (folder / "similar.tsv").write_text("\n".join(["left\tright\tlabel", *degrees]) + "\n")
    answers = [
        {
            "question": f"what is {number // 4}",
            "sentence": f"it is {number}",
            "label": int(number % 4 == 0),
            "question_id": str(number // 4),
        }
        for number in range(80)
    ]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)) + "\n")


def _draw(path: Path, seed: int) -> None:
    levels = np.random.default_rng(seed).integers(0, 255, (24, 24, 3), dtype=np.uint8)
    Image.fromarray(levels).save(path)
