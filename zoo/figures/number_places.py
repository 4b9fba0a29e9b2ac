"""Places for numbers beside the boxes that they name, without hiding the contents of the boxes."""

import math
from collections.abc import Iterator, Sequence

Place = tuple[float, float]
Box = Sequence[float]
"""Left, top, right and bottom."""

_DIRECTIONS = 36  # that are tried around a box
_FAR = 12  # radii; rather than further away from its box, a disc lies on a box
_RING = 0.5  # radii, from one distance that is tried to the next


def number_places(boxes: Sequence[Box], radius: float, bounds: Box) -> list[Place]:
    """The centre of a disc for each box: the nearest place that is on no box and on no other disc.

    Where there is no such place nearby, a disc may lie on boxes, but still on no other disc.

    Args:
        boxes: one for each number, in order.
        radius: of a disc.
        bounds: hold all discs; they overlap only where these are full.
    """
    left, top, right, bottom = bounds
    reach = math.dist((left, top), (right, bottom))
    taken: list[Place] = []

    def free(place: Place) -> bool:
        inside = left + radius <= place[0] <= right - radius and top + radius <= place[1] <= bottom - radius
        return inside and all(math.dist(place, other) >= 2.1 * radius for other in taken)

    for box in boxes:
        chosen: Place | None = None
        for place in filter(free, _around(box, radius, reach)):
            if all(distance(place, other) >= radius for other in boxes):
                chosen = place
                break
            chosen = chosen or place
            if distance(place, box) > _FAR * radius:
                break
        taken.append(chosen or (box[0], box[1]))
    return taken


def nearest(place: Place, box: Box) -> Place:
    """The point of a box that is nearest to a place."""
    left, top, right, bottom = box
    return min(max(place[0], left), right), min(max(place[1], top), bottom)


def distance(place: Place, box: Box) -> float:
    """From a place to a box; 0 inside."""
    return math.dist(place, nearest(place, box))


def _around(box: Box, radius: float, reach: float) -> Iterator[Place]:
    """Places from near to far: beside the corners, then in rings around the middle."""
    left, top, right, bottom = box
    for y in (top - radius, bottom + radius):
        yield from ((x, y) for x in (left - radius, right + radius))
    middle = (left + right) / 2, (top + bottom) / 2
    for ring in range(math.ceil(reach / (_RING * radius))):
        for direction in range(_DIRECTIONS):
            angle = 2 * math.pi * direction / _DIRECTIONS
            away = ring * _RING * radius
            yield middle[0] + away * math.cos(angle), middle[1] + away * math.sin(angle)
