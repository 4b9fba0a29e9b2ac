"""Handwritten digits of 8 x 8 pixels, which scikit-learn brings along: real data without a download."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from data.core.keyed_random import keys
from data.images.image_set import ImageSet, LabelledImages, Split, numbered

_SPLIT_SEED = 1582
_VALIDATION, _TEST = 0.1, 0.2


@dataclass(kw_only=True)
class Digits(ImageSet):
    """1,797 images of 17 grey levels (Alpaydin, Kaynak 1998): 1,252 to train on, 185 and 360 held out.

    The split is fixed, and takes the same share of every digit.
    """

    name = "digits"
    size = (8, 8)

    def load(self) -> LabelledImages:
        """See `ImageSet`."""
        levels, labels = load_digits(return_X_y=True)
        images = np.round(levels * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
        places = _places(labels)
        bounds = {"val": (0, _VALIDATION), "test": (_VALIDATION, _VALIDATION + _TEST)}
        chosen = {split: (low <= places) & (places < high) for split, (low, high) in bounds.items()}
        chosen["train"] = places >= _VALIDATION + _TEST
        return LabelledImages(
            tuple("0123456789"),
            {
                split: Split(images[rows], labels[rows].astype(np.int64), numbered(split, int(rows.sum())))
                for split, rows in chosen.items()
            },
        )


def _places(labels: np.ndarray) -> np.ndarray:
    """`(N,)` a place in [0, 1) for each image, those of one class in a random order at even distances."""
    order = np.lexsort((keys(_SPLIT_SEED, np.arange(len(labels))), labels))
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    places = np.empty(len(labels))
    ranks = np.arange(len(labels)) - starts[labels[order]]
    places[order] = ranks / counts[labels[order]]
    return places
