"""From a raw text with masks to ids, and to what a model fills in."""

from collections.abc import Sequence
from typing import NamedTuple

from zoo.core.text import WRITTEN_MASK, TextCodec


class Candidate(NamedTuple):
    """A token that may stand at a mask.

    Attributes:
        token: its name.
        probability: what the model gives it.
        id: its number.
    """

    token: str
    probability: float
    id: int


class Filled(NamedTuple):
    """A text whose masks are filled.

    Attributes:
        text: with one candidate at each mask.
        words: these candidates, mask by mask.
        candidates: of each mask, the likeliest first.
        unread: how many tokens at the end the model did not read, because the text is too long.
        unknown: how many tokens that it read the vocabulary lacks.
    """

    text: str
    words: Sequence[Candidate] = ()
    candidates: Sequence[Sequence[Candidate]] = ()
    unread: int = 0
    unknown: int = 0


class MaskedText(NamedTuple):
    """A text as a network reads it.

    Attributes:
        ids: from CLS to SEP.
        places: where MASK stands in them.
        unread: see `Filled`.
        unknown: likewise.
    """

    ids: list[int]
    places: list[int]
    unread: int
    unknown: int


def read_masks(text: str, codec: TextCodec) -> MaskedText:
    """The ids of a text, with MASK where it stands in the text; the end of a long text is not read."""
    spec = codec.spec
    parts = [ids[1:-1] for ids in codec.encode(WRITTEN_MASK.split(text))]
    ids = [spec.cls, *parts[0]]
    for part in parts[1:]:
        ids += [spec.mask, *part]
    unread = max(0, len(ids) + 1 - spec.maximum_length)
    ids = [*ids[: spec.maximum_length - 1], spec.sep]
    places = [place for place, one in enumerate(ids) if one == spec.mask]
    return MaskedText(ids, places, unread, ids.count(spec.unk))
