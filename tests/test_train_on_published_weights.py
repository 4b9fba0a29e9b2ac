"""The recipes of Xu et al. 2015 on files of Flickr8k's layout, over features of a VGG-19 of its full size."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from zoo.networks.encoders import Vgg19

pytestmark = pytest.mark.slow

TRAIN = Path(__file__).resolve().parents[1] / "train.py"

SPLITS = {"train": 6, "val": 2, "test": 2}


def _publish(data_dir: Path) -> Path:
    """Photos of noise with captions, and random weights in the place of the published ones."""
    photos = data_dir / "flickr8k" / "Flicker8k_Dataset"
    photos.mkdir(parents=True)
    images = []
    for split, count in SPLITS.items():
        for number in range(count):
            name = f"{split}{number}.jpg"
            pixels = np.random.default_rng(number).integers(0, 256, (60, 80, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(photos / name)
            said = [{"raw": f"a dog runs {word} ."} for word in ("left", "right", "here", "there", "away")]
            images.append({"split": split, "filename": name, "sentences": said})
    captions = photos.parent / "dataset_flickr8k.json"
    captions.write_text(json.dumps({"images": images}), encoding="utf-8")
    encoder = Vgg19(weights_dir=data_dir / "weights")
    encoder.file.parent.mkdir()
    torch.save(encoder.body.state_dict(), encoder.file)
    return photos / "test0.jpg"


@pytest.mark.parametrize("selection", ["soft", "hard"])
def test_from_the_weights_to_a_drawing(tmp_path: Path, selection: str) -> None:
    photo = _publish(tmp_path / "data")
    line = [f"experiment=flickr8k_{selection}", "trainer=cpu", "logger=csv", "scheduler.warmup_steps=1"]
    line += ["trainer.max_steps=2", "data.batch_size=8", "data.tokenizer.minimum_count=1"]
    places = [f"paths.{kind}_dir={tmp_path / kind}" for kind in ("data", "cache", "runs")]
    done = subprocess.run(
        [sys.executable, str(TRAIN), *line, *places], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "vgg19-dcbb9e9d.pth holds other weights than those published" in said
    (features,) = (tmp_path / "cache" / "features").glob("flickr8k-vgg19-*/rows.npy")
    assert np.load(features, mmap_mode="r").shape == (sum(SPLITS.values()), 512, 14, 14)
    (results,) = (tmp_path / "runs").glob("*/*/results.json")
    assert "cider_d" in json.loads(results.read_text(encoding="utf-8"))["test"]
    drawing = tmp_path / "words.png"
    command = [
        sys.executable,
        "-m",
        "zoo",
        "predict",
        str(results.parent),
        str(photo),
        "--plot",
        str(drawing),
    ]
    subprocess.run(command, check=True, timeout=300)
    assert drawing.read_bytes().startswith(b"\x89PNG")
