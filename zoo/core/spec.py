"""What a task must know of the data: plain values, known after `setup`, kept inside every checkpoint."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class TextSpec:
    """One side's text <-> ids mapping.

    Attributes:
        tokenizer: the `tokenizers` JSON, whole: a checkpoint needs no other file.
        size: number of token ids.
        pad, unk, bos, eos: ids of the special tokens.
        maximum_length: longest sentence in tokens, EOS included.
        language: ISO 639 code, used for scoring and figures; empty for toys.
    """

    tokenizer: str
    size: int
    maximum_length: int
    language: str = ""
    pad: int = 0
    unk: int = 1
    bos: int = 2
    eos: int = 3


@dataclass(frozen=True)
class ImageSpec:
    """The images that a model sees, and what they may show.

    Attributes:
        channels: 1 for grey, 3 for red, green and blue.
        height, width: pixels.
        classes: what each label is called, in the order of the labels.
        stretched: whether a picture of another shape fills the frame, distorted; else it is scaled until it
            fits, and what is left is black.
        placed: whether the model was shown pictures on a larger canvas: one that is smaller than the frame
            lies in its middle as it is, and is not scaled.
    """

    channels: int
    height: int
    width: int
    classes: tuple[str, ...]
    stretched: bool = False
    placed: bool = False


@dataclass(frozen=True)
class DataSpec:
    """A data set as a task sees it.

    Attributes:
        name: the data set's name, e.g. `multi30k`.
        source: the source text; None for data without one.
        target: the target text; None for data without one.
        test_hash: sha256 over the raw inputs and references of the test split, in order.
        vocabulary_hash: sha256 over all that gives ids their meaning: both tokenizers' JSON, or the names of
            the classes.
        image: the images; None for data without any.
    """

    name: str
    source: TextSpec | None
    target: TextSpec | None
    test_hash: str
    vocabulary_hash: str
    image: ImageSpec | None = None

    @property
    def images(self) -> ImageSpec:
        """The images.

        Raises:
            ValueError: there are none.
        """
        if self.image is None:
            raise ValueError(
                f"the data {self.name} has no images; take data=digits, mnist, image_folder, ..."
            )
        return self.image

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, for a checkpoint that loads with `weights_only=True`."""
        values = asdict(self)
        if self.image is None:  # checkpoints of text have never named it
            del values["image"]
        elif not self.image.placed:  # nor have older ones of pictures said that they were not placed
            del values["image"]["placed"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DataSpec":
        """The inverse of `to_dict`.

        Raises:
            TypeError: something is missing.
            ValueError: a value has no meaning.
        """
        sides = {side: TextSpec(**values[side]) if values[side] else None for side in ("source", "target")}
        image = values.get("image")
        if image:
            image = ImageSpec(**{**image, "classes": tuple(image["classes"])})
        spec = cls(**{**values, **sides, "image": image})
        for side in filter(None, sides.values()):
            _require_text(side)
        if image:
            _require_image(image)
        _require_texts(spec, "name", "test_hash", "vocabulary_hash")
        return spec


def _require_text(spec: TextSpec) -> None:
    """Refuses ids that stand for no token, and sentences that hold none."""
    _require_texts(spec, "tokenizer", "language")
    _require_counts(spec, "size", "maximum_length")
    special = {name: getattr(spec, name) for name in ("pad", "unk", "bos", "eos")}
    for name, number in special.items():
        if type(number) is not int or not 0 <= number < spec.size:
            raise ValueError(f"{name} must be an id from 0 to {spec.size - 1}, got {number!r}")
    if len(set(special.values())) < len(special):
        raise ValueError(f"special tokens must have ids of their own, got {special}")


def _require_image(spec: ImageSpec) -> None:
    _require_counts(spec, "channels", "height", "width")
    if not all(isinstance(name, str) for name in spec.classes):
        raise ValueError(f"classes must be texts, got {spec.classes!r}")


def _require_counts(spec: TextSpec | ImageSpec, *names: str) -> None:
    for name in names:
        if type(value := getattr(spec, name)) is not int or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 on, got {value!r}")


def _require_texts(spec: "TextSpec | DataSpec", *names: str) -> None:
    for name in names:
        if not isinstance(value := getattr(spec, name), str):
            raise ValueError(f"{name} must be a text, got {value!r}")
