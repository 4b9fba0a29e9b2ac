"""What single test items add to a score, in so few characters that results.json keeps it.

So kept results are compared item by item without their predictions, and no predictions are read of runs.
"""

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le, MinLen
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from zoo.metrics.bleu_tokens import signed_language
from zoo.metrics.item_scores import ITEM_SCORES

_LONGEST = 8192
"""Characters of the scores of a test set; where they would be more, the predictions alone have them."""
_MOST_BYTES = 2**28


@dataclass(frozen=True)
class KeptItems:
    """Statistics of items as text: whole numbers column by column, each without what all of them share.

    Attributes:
        predictions: lines of predictions.jsonl that they were computed from.
        units: of each column what its numbers are multiples of.
        type: of the numbers divided by that.
        data: these, the first column first, packed by zlib and written in base 64.
    """

    predictions: Annotated[int, Ge(1)]
    units: Annotated[list[Annotated[int, Ge(1), Le(2**62)]], MinLen(1)]
    type: Annotated[str, Field(pattern="^u?int(8|16|32|64)$")]
    data: str

    @property
    def statistics(self) -> NDArray[np.int64]:
        """`(N, statistics)`, see `ItemScore.statistics`.

        Raises:
            ValueError: they are damaged.
        """
        try:
            unpacking = zlib.decompressobj()
            content = unpacking.decompress(base64.b64decode(self.data, validate=True), _MOST_BYTES)
            if not unpacking.eof:
                raise ValueError("they are cut")
            numbers = np.frombuffer(content, np.dtype(self.type).newbyteorder("<"))
            columns = numbers.reshape(len(self.units), -1).astype(np.int64)
        except (ValueError, binascii.Error, zlib.error) as error:
            raise ValueError(f"the scores of its items are damaged: {error}") from error
        return np.ascontiguousarray(columns.T) * np.array(self.units, np.int64)


_KEPT = TypeAdapter(KeptItems)


def pack(statistics: NDArray[np.int64], predictions: int) -> KeptItems | None:
    """Statistics as text; None where it would be too long, or where there are no items.

    Args:
        statistics: `(N, statistics)`.
        predictions: how many they were computed from.
    """
    if not statistics.size:
        return None
    units = np.maximum(np.gcd.reduce(statistics, axis=0), 1)
    columns = (statistics // units).T
    least, most = (np.min_scalar_type(number) for number in (columns.min(), columns.max()))
    kind = np.promote_types(least, most)
    content = np.ascontiguousarray(columns, kind.newbyteorder("<")).tobytes()
    data = base64.b64encode(zlib.compress(content, 9)).decode()
    return KeptItems(predictions, units.tolist(), kind.name, data) if len(data) <= _LONGEST else None


def kept_items(results: Mapping[str, Any], predictions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What results.json keeps of the test items, by the name of the `ItemScore`.

    It is for the metrics by which a comparison asks first: the headline, and what picked the checkpoint.

    Args:
        results: the run's, with its `metrics` as they are written.
        predictions: of `test`.
    """
    picked = str((results.get("checkpoint") or {}).get("metric")).partition("/")[2]
    records = (results.get("metrics") or {}).items()
    found = {}
    for name in {one.get("items"): 1 for metric, one in records if one.get("headline") or metric == picked}:
        try:
            declared = ITEM_SCORES[name]
            statistics = declared.statistics(declared.scorer(language_of(results)), predictions)
        except (KeyError, TypeError, ValueError):  # nothing declares it, or predictions lack what it needs
            continue
        if kept := pack(statistics, len(predictions)):
            found[name] = asdict(kept)
    return found


def read_kept(results: Mapping[str, Any], name: str) -> KeptItems | None:
    """What results keep of their test items for a score; None where they keep nothing.

    Args:
        results: as results.json has them.
        name: of the `ItemScore`.

    Raises:
        ValueError: it is damaged.
    """
    kept = results.get("item_scores")
    if not isinstance(kept, Mapping) or name not in kept:
        return None
    try:
        return _KEPT.validate_python(kept[name])
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(map(str, ("item_scores", name, *first["loc"])))
        raise ValueError(f"{where}: {first['msg']}") from error


def language_of(results: Mapping[str, Any]) -> str:
    """The language of the target as a run was scored; empty where its signatures do not say it."""
    signatures = (results.get("signatures") or {}).values()
    return next(filter(None, map(signed_language, signatures)), "")
