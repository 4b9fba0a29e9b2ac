"""What a task must know of the data, and how checkpoints keep it."""

from typing import Any

import pytest

from zoo.core.spec import DataSpec, DegreeSpec, FieldSpec, ImageSpec, LabelSpec, TextSpec, VectorSpec

TEXT = TextSpec(tokenizer="{}", size=9, maximum_length=12, language="de")
BERT = TextSpec("{}", 9, 12, special={"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}, maximum_sentences=7)
FIELDS: dict[str, FieldSpec] = {
    "source": TEXT,
    "document": BERT,
    "image": ImageSpec(3, 4, 5, stretched=True, placed=True),
    "label": LabelSpec(("a", "b")),
    "alike": DegreeSpec(1, 5.0),
    "sensors": VectorSpec(4),
}
OLD_TEXT = {
    **{"tokenizer": "{}", "size": 9, "maximum_length": 12, "language": "de"},
    **{"pad": 0, "unk": 1, "bos": 2, "eos": 3},
}
OLD_IMAGE = {"channels": 1, "height": 4, "width": 5, "classes": ("a", "b"), "stretched": False}
OLD = {"name": "d", "source": None, "target": None, "test_hash": "t", "vocabulary_hash": "v"}


def test_every_kind_of_field_survives_a_checkpoint() -> None:
    spec = DataSpec("d", FIELDS, test_hash="t", vocabulary_hash="v")
    assert DataSpec.from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize(
    ("described", "fields"),
    [
        ({"source": OLD_TEXT, "target": OLD_TEXT}, {"source": TEXT, "target": TEXT}),
        ({"image": OLD_IMAGE}, {"image": ImageSpec(1, 4, 5), "label": LabelSpec(("a", "b"))}),
        (
            {"image": {**OLD_IMAGE, "placed": True}},
            {"image": ImageSpec(1, 4, 5, placed=True), "label": LabelSpec(("a", "b"))},
        ),
        (
            {"target": OLD_TEXT, "image": {**OLD_IMAGE, "classes": (), "stretched": True}},
            {"target": TEXT, "image": ImageSpec(1, 4, 5, stretched=True)},
        ),
        ({}, {}),
    ],
)
def test_older_checkpoints_are_read(described: dict[str, Any], fields: dict[str, FieldSpec]) -> None:
    assert DataSpec.from_dict({**OLD, **described}) == DataSpec("d", fields, "t", "v")


@pytest.mark.parametrize(
    "described", [{"source": {**OLD_TEXT, "eos": 9}}, {"image": {**OLD_IMAGE, "height": 0}}], ids=str
)
def test_older_checkpoints_are_checked(described: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        DataSpec.from_dict({**OLD, **described})


@pytest.mark.parametrize(("field", "values"), [("source", OLD_TEXT), ("image", OLD_IMAGE)])
def test_nothing_is_made_up_for_older_checkpoints(field: str, values: dict[str, Any]) -> None:
    for name in values:
        part = {key: value for key, value in values.items() if key != name}
        with pytest.raises((KeyError, ValueError)):
            DataSpec.from_dict({**OLD, field: part})


def test_a_field_is_asked_for_by_name_and_kind() -> None:
    spec = DataSpec("d", FIELDS)
    assert spec.text("source") is TEXT
    assert (spec.image(), spec.label()) == (FIELDS["image"], FIELDS["label"])
    with pytest.raises(ValueError, match=r"^the data e has no label 'label'; it has source \(text\)$"):
        DataSpec("e", {"source": TEXT}).label()
    with pytest.raises(ValueError, match=r"no text 'image'; it has source \(text\), document"):
        spec.text("image")


def test_a_text_has_special_tokens_of_its_own() -> None:
    assert (TEXT.pad, TEXT.bos, TEXT.end, TEXT.added) == (0, 2, 3, 1)
    assert (BERT.cls, BERT.mask, BERT.end, BERT.added) == (2, 4, 3, 2)
    bare = TextSpec("{}", 9, 12, special={"pad": 0, "unk": 1})
    assert (bare.end, bare.added) == (None, 0)
    with pytest.raises(ValueError, match="the text has no token bos; it has pad, unk"):
        _ = bare.bos


@pytest.mark.parametrize(
    "field", [DegreeSpec(5, 5), DegreeSpec("1", 5), VectorSpec(0), TextSpec("{}", 9, 1, maximum_sentences=0)]
)
def test_fields_without_a_meaning_are_refused(field: FieldSpec) -> None:
    with pytest.raises(ValueError, match="must be"):
        DataSpec.from_dict(DataSpec("d", {"x": field}).to_dict())
