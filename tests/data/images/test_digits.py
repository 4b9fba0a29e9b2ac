"""The digits that are built in."""

import hashlib

import numpy as np
from sklearn.datasets import load_digits

from data.images.digits import Digits


def test_every_image_is_in_one_split_with_its_label() -> None:
    splits = Digits().load().splits
    assert {name: len(split) for name, split in splits.items()} == {"train": 1252, "val": 185, "test": 360}
    levels, labels = load_digits(return_X_y=True)
    found = {
        image.tobytes(): label
        for split in splits.values()
        for image, label in zip(split.images, split.labels, strict=True)
    }
    assert len(found) == len(labels) == 1797
    for level, label in zip(levels, labels, strict=True):
        assert found[np.round(level * 255 / 16).astype(np.uint8).tobytes()] == label


def test_images_span_black_to_white_and_splits_have_the_same_digits() -> None:
    for split in Digits().load().splits.values():
        assert split.images.shape[1:] == (1, *Digits.size)
        assert (split.images.min(), split.images.max()) == (0, 255)
        shares = np.bincount(split.labels) / len(split)
        assert np.abs(shares - 0.1).max() < 0.01


def test_the_split_never_changes() -> None:
    test = Digits().load().splits["test"]
    digest = hashlib.sha256(test.images.tobytes() + test.labels.tobytes()).hexdigest()
    assert digest[:12] == "7af6531689c0", "published results depend on it"
