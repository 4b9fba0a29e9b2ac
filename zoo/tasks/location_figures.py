"""A figure of all locations that a model looked at."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from zoo.core.spec import ImageSpec
from zoo.figures import location_histogram
from zoo.tasks.policy_gradient import BORDER


def where_looked(items: Sequence[Mapping[str, Any]], image: ImageSpec) -> Figure:
    """A histogram of the `locations`, `(T, 2)`, of predictions on images or boards of this size."""
    locations = np.asarray([item["locations"] for item in items]).swapaxes(0, 1)
    return location_histogram(locations, image.height, image.width, border=BORDER)
