"""What a task must know of the data: plain values, known after `setup`, kept inside every checkpoint."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, TypeVar

_ORDINARY = {"pad": 0, "unk": 1, "bos": 2, "eos": 3}


class _SpecialToken:
    """The id of one of a text's special tokens."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, spec: "TextSpec", owner: type) -> int:
        try:
            return spec.special[self._name]
        except KeyError:
            raise ValueError(
                f"the text has no token {self._name}; it has {', '.join(spec.special)}"
            ) from None


@dataclass(frozen=True)
class FieldSpec:
    """One part of every item.

    Class attributes:
        kind: its name in checkpoints.
        counts: attributes that are whole numbers from 1 on.
    """

    kind: ClassVar[str]
    counts: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Refuses values without a meaning.

        Raises:
            ValueError: names the value.
        """
        for name in self.counts:
            if type(value := getattr(self, name)) is not int or value < 1:
                raise ValueError(f"{name} must be a whole number from 1 on, got {value!r}")


@dataclass(frozen=True)
class TextSpec(FieldSpec):
    """The text <-> ids mapping of one field.

    Attributes:
        tokenizer: the `tokenizers` JSON, whole: a checkpoint needs no other file.
        size: number of token ids.
        maximum_length: longest sentence in tokens, EOS included.
        language: ISO 639 code, used for scoring and figures; empty for toys.
        special: ids of the special tokens that the text has, by name: pad, unk and some of bos, eos, cls, sep
            and mask.
        maximum_sentences: most sentences of a document; 1 where texts are not cut into sentences.
    """

    kind = "text"
    counts = ("size", "maximum_length", "maximum_sentences")

    tokenizer: str
    size: int
    maximum_length: int
    language: str = ""
    special: Mapping[str, int] = field(default_factory=_ORDINARY.copy, hash=False)
    maximum_sentences: int = 1

    pad = _SpecialToken()
    unk = _SpecialToken()
    bos = _SpecialToken()
    eos = _SpecialToken()
    cls = _SpecialToken()
    sep = _SpecialToken()
    mask = _SpecialToken()

    @property
    def end(self) -> int | None:
        """The id that ends every sentence: EOS, or else SEP; None for a text without either."""
        return self.special.get("eos", self.special.get("sep"))

    @property
    def added(self) -> int:
        """Special tokens around every sentence: CLS before it, and its end."""
        return ("cls" in self.special) + (self.end is not None)

    def __str__(self) -> str:
        return f"text in {self.language}" if self.language else "text"

    def check(self) -> None:
        """See `FieldSpec`; ids must stand for tokens, each for one."""
        super().check()
        _require_texts(self, "tokenizer", "language")
        for name, number in self.special.items():
            if type(number) is not int or not 0 <= number < self.size:
                raise ValueError(f"{name} must be an id from 0 to {self.size - 1}, got {number!r}")
        if len(set(self.special.values())) < len(self.special):
            raise ValueError(f"special tokens must have ids of their own, got {self.special}")
        if not {"pad", "unk"} <= self.special.keys():
            raise ValueError(f"pad and unk must be among the special tokens, got {self.special}")


@dataclass(frozen=True)
class ImageSpec(FieldSpec):
    """The images that a model sees.

    Attributes:
        channels: 1 for grey, 3 for red, green and blue.
        height, width: pixels.
        stretched: whether a picture of another shape fills the frame, distorted; else it is scaled until it
            fits, and what is left is black.
        placed: whether the model was shown pictures on a larger canvas: one that is smaller than the frame
            lies in its middle as it is, and is not scaled.
    """

    kind = "image"
    counts = ("channels", "height", "width")

    channels: int
    height: int
    width: int
    stretched: bool = False
    placed: bool = False

    def __str__(self) -> str:
        return f"{self.channels} x {self.height} x {self.width} pixels"


@dataclass(frozen=True)
class LabelSpec(FieldSpec):
    """One of some classes.

    Attributes:
        classes: their names, in the order of the labels.
    """

    kind = "label"

    classes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{len(self.classes)} classes"

    def check(self) -> None:
        """See `FieldSpec`; names must be texts."""
        if not all(isinstance(name, str) for name in self.classes):
            raise ValueError(f"classes must be texts, got {self.classes!r}")


@dataclass(frozen=True)
class DegreeSpec(FieldSpec):
    """A number in a range, such as how alike two sentences are.

    Attributes:
        lowest, highest: the bounds, which are included.
    """

    kind = "degree"

    lowest: float
    highest: float

    def __str__(self) -> str:
        return f"{self.lowest:g} to {self.highest:g}"

    def check(self) -> None:
        """See `FieldSpec`; the range must not be empty."""
        numbers = all(type(bound) in (int, float) for bound in (self.lowest, self.highest))
        if not numbers or not self.lowest < self.highest:
            raise ValueError(f"lowest must be a number below highest, got {self.lowest!r}, {self.highest!r}")


@dataclass(frozen=True)
class VectorSpec(FieldSpec):
    """Numbers of a fixed count.

    Attributes:
        size: how many.
    """

    kind = "vector"
    counts = ("size",)

    size: int

    def __str__(self) -> str:
        return f"{self.size} numbers"


@dataclass(frozen=True)
class OverlapSpec(FieldSpec):
    """Words that both texts of a pair have, counted, and weighted; see `zoo.core.overlap`.

    Attributes:
        weights: of words, from 0 to 1; a word that is not among them has 1.
    """

    kind = "overlap"
    size: ClassVar[int] = 2

    weights: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return "counts of shared words"

    def check(self) -> None:
        """See `FieldSpec`; weights must be numbers from 0 to 1."""
        wrong = next((one for one in self.weights.items() if not _is_share(one[1])), None)
        if wrong is not None:
            raise ValueError(f"the weight of {wrong[0]!r} must be a number from 0 to 1, got {wrong[1]!r}")


def _is_share(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= 1


_KINDS: dict[str, type[FieldSpec]] = {
    one.kind: one for one in (TextSpec, ImageSpec, LabelSpec, DegreeSpec, VectorSpec, OverlapSpec)
}

_Kind = TypeVar("_Kind", bound=FieldSpec)


@dataclass(frozen=True)
class DataSpec:
    """A data set as a task sees it.

    Attributes:
        name: the data set's name, e.g. `multi30k`.
        fields: by name, what each part of an item is like: `source` and `target`, `image` and `label`, ...
        test_hash: sha256 over the raw inputs and references of the test split, in order.
        vocabulary_hash: sha256 over all that gives ids their meaning: the tokenizers' JSON, or the names of
            the classes.
    """

    name: str
    fields: Mapping[str, FieldSpec] = field(default_factory=dict, hash=False)
    test_hash: str = ""
    vocabulary_hash: str = ""

    def text(self, name: str) -> TextSpec:
        """The text of that name.

        Raises:
            ValueError: there is none; says what there is.
        """
        return self._field(name, TextSpec)

    def image(self, name: str = "image") -> ImageSpec:
        """The images; see `text`."""
        return self._field(name, ImageSpec)

    def label(self, name: str = "label") -> LabelSpec:
        """The classes; see `text`."""
        return self._field(name, LabelSpec)

    def outputs(self) -> int:
        """How many numbers answer an item: one for each class, or one for a degree.

        Raises:
            ValueError: the data has neither `label` nor `degree`.
        """
        return 1 if isinstance(self.fields.get("degree"), DegreeSpec) else len(self.label().classes)

    def _field(self, name: str, kind: type[_Kind]) -> _Kind:
        if isinstance(found := self.fields.get(name), kind):
            return found
        there = ", ".join(f"{name} ({one.kind})" for name, one in self.fields.items())
        raise ValueError(f"the data {self.name} has no {kind.kind} {name!r}; it has {there or 'no fields'}")

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, for a checkpoint that loads with `weights_only=True`."""
        described = {name: {"kind": one.kind, **asdict(one)} for name, one in self.fields.items()}
        return {
            "name": self.name,
            "fields": described,
            "test_hash": self.test_hash,
            "vocabulary_hash": self.vocabulary_hash,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DataSpec":
        """The inverse of `to_dict`; reads what older checkpoints hold, too.

        Raises:
            KeyError, TypeError: something is missing.
            ValueError: a value has no meaning.
        """
        if "fields" not in values:
            values = _from_older(values)
        _require_keys("the data", values, cls)
        spec = cls(**{**values, "fields": {name: _read(name, one) for name, one in values["fields"].items()}})
        _require_texts(spec, "name", "test_hash", "vocabulary_hash")
        return spec


def _read(name: str, values: Mapping[str, Any]) -> FieldSpec:
    described = dict(values)
    if (kind := described.pop("kind", None)) not in _KINDS:
        raise ValueError(f"{name} is of kind {kind!r}; known are {', '.join(_KINDS)}")
    _require_keys(name, described, _KINDS[kind])
    if kind == "label":
        described["classes"] = tuple(described["classes"])
    spec = _KINDS[kind](**described)
    spec.check()
    return spec


def _from_older(values: Mapping[str, Any]) -> dict[str, Any]:
    """What checkpoints said before they had `fields`: source, target and image, and in that the classes."""
    rest, described = dict(values), {}
    for side in ("source", "target"):
        if text := rest.pop(side):
            text = dict(text)
            special = {name: text.pop(name) for name in _ORDINARY}
            described[side] = {"kind": "text", **text, "special": special, "maximum_sentences": 1}
    if image := rest.pop("image", None):
        image = {"placed": False, **image}  # the oldest do not say it
        if classes := image.pop("classes"):
            described["label"] = {"kind": "label", "classes": classes}
        described["image"] = {"kind": "image", **image}
    return {**rest, "fields": described}


def _require_keys(what: str, values: Mapping[str, Any], kind: type[FieldSpec | DataSpec]) -> None:
    """Refuses a description that leaves anything to defaults, which may be others by then."""
    if missing := [one.name for one in fields(kind) if one.name not in values]:
        raise ValueError(f"what it says of {what} lacks {', '.join(missing)}")


def _require_texts(spec: TextSpec | DataSpec, *names: str) -> None:
    for name in names:
        if not isinstance(value := getattr(spec, name), str):
            raise ValueError(f"{name} must be a text, got {value!r}")
