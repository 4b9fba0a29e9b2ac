"""What is said of pictures, in every layout in which it is published."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.captions.caption_files import read_coco, read_jsonl, read_karpathy, read_names, read_tokens


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_tokens_and_names(tmp_path: Path) -> None:
    text = "a.jpg#0\tA dog .\nb#2.jpg.1#0\tTwo\tcats\na.jpg#1\t A cat.\n\nc.jpg#0\t \n"
    assert read_tokens(write(tmp_path / "t", text)) == {
        "a.jpg": ["A dog .", "A cat."],
        "b#2.jpg.1": ["Two\tcats"],
    }
    assert read_names(write(tmp_path / "n", "a.jpg\r\n 1000 \n\n")) == ["a.jpg", "1000.jpg"]
    for line in ("a.jpg#0 A dog", "a.jpg\tA dog"):
        with pytest.raises(ValueError, match=r"t, line 2: must be a picture's name, # and a number, a"):
            read_tokens(write(tmp_path / "t", f"a.jpg#0\tA dog\n{line}\n"))


def image(split: str, name: str, *raw: str, **more: str) -> dict[str, Any]:
    return {"split": split, "filename": name, "sentences": [{"raw": text} for text in raw], **more}


def test_karpathy(tmp_path: Path) -> None:
    images = [
        image("train", "a.jpg", "One", "Two"),
        image("restval", "b.jpg", "Three", filepath="val2014"),
        image("val", "c.jpg", "Four", " "),
        image("test", "d.jpg", "Five"),
    ]
    assert read_karpathy(write(tmp_path / "k", {"images": images})) == {
        "train": {"a.jpg": ["One", "Two"], "val2014/b.jpg": ["Three"]},
        "val": {"c.jpg": ["Four"]},
        "test": {"d.jpg": ["Five"]},
    }


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "k: no JSON, "),
        ([], "k: must have a list 'images' of objects"),
        ('{"images": [], "images": []}', "k: .*'images' stands twice"),
        ({"images": [3]}, "k: must have a list 'images' of objects"),
        (
            {"images": [image("dev", "a", "b")]},
            "image 0: split must be train, .*, got 'dev'",
        ),
        (
            {"images": [image("val", "a", "b"), {"split": "val"}]},
            "image 1: must have a text 'filename', got",
        ),
        ({"images": [image("val", "", "b")]}, "image 0: 'filename' must name a picture, got ''"),
        (
            {"images": [image("val", "a", "b") | {"filepath": 5}]},
            "image 0: must have a text 'filepath', got 5",
        ),
        ({"images": [{"split": "val", "filename": "a"}]}, "image 0: must have a list 'sentences' of objects"),
        (
            {"images": [image("val", "a", "b", filepath="x"), image("test", "a", "c", filepath="x")]},
            "image 1: x/a is in split 'test', and was in 'val' before",
        ),
        ({"images": [image("val", "a\0", "b")]}, "image 0: 'filename' must name a picture, got 'a"),
        ({"images": [image("val", "a", "\ud800")]}, "image 0: must have a text 'raw', got"),
    ],
)
def test_karpathy_with_mistakes(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_karpathy(write(tmp_path / "k", content))


def test_what_karpathy_left_odd_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    images = [image("train", "a.jpg", "One"), image("val", "b.jpg", " "), image("train", "a.jpg", "Two")]
    read_karpathy(write(tmp_path / "k", {"images": images[:1]}))
    assert not caplog.records
    assert read_karpathy(write(tmp_path / "k", {"images": images}))["train"] == {"a.jpg": ["One", "Two"]}
    silent, doubled = caplog.messages
    assert silent.endswith("1 images have no sentence and are left out, for example b.jpg")
    assert "1 images stand there once more, " in doubled


def test_json_that_windows_wrote(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_text(json.dumps({"images": [image("val", "a.jpg", "One")]}), encoding="utf-8-sig")
    assert read_karpathy(path)["val"] == {"a.jpg": ["One"]}


def test_coco(tmp_path: Path) -> None:
    images = [{"id": 7, "file_name": "a.jpg"}, {"id": 3, "file_name": "b.jpg"}]
    said = [{"image_id": number, "caption": text} for number, text in ((3, "B\n"), (7, "A"), (3, "C"))]
    content = {"images": images, "annotations": said}
    assert read_coco(write(tmp_path / "c", content)) == {"a.jpg": ["A"], "b.jpg": ["B", "C"]}
    said.append({"image_id": 8, "caption": "?"})
    with pytest.raises(ValueError, match="annotation 3: there is no image with the id 8"):
        read_coco(write(tmp_path / "c", content))
    for images, said, message in (
        ([{"id": [7], "file_name": "a.jpg"}], [], r"image 0: 'id' must be a number or a text, got \[7\]"),
        ([{"file_name": "a.jpg"}], [], "image 0: 'id' must be a number or a text, got null"),
        ([{"id": 7, "file_name": " "}], [], "image 0: 'file_name' must name a picture"),
        ([{"id": True, "file_name": "a"}], [], "image 0: 'id' must be a number or a text, got true"),
        (
            [{"id": 7, "file_name": "a"}, {"id": 7, "file_name": "b"}],
            [],
            "image 1: there is another image with the id 7",
        ),
        ([{"id": 7, "file_name": "a"}], [{"caption": "A"}], "annotation 0: 'image_id' must be a number"),
    ):
        with pytest.raises(ValueError, match=message):
            read_coco(write(tmp_path / "c", {"images": images, "annotations": said}))
    with pytest.raises(ValueError, match="nowhere cannot be read: No such file"):
        read_coco(tmp_path / "nowhere")


GOOD = '{"image": "a.jpg", "captions": ["A dog .", "Ein Hund"], "more": 1}'


def test_jsonl(tmp_path: Path) -> None:
    text = f'{GOOD}\n{{"image": "b.jpg", "captions": ["B"]}}\n{{"image": "a.jpg", "captions": ["C"]}}'
    assert read_jsonl(write(tmp_path / "j", text)) == {"a.jpg": ["A dog .", "Ein Hund", "C"], "b.jpg": ["B"]}


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "line 2: is empty"),
        ("{", "line 2: no JSON, "),
        ('{"image": "a", "captions": ["A"], "captions": ["B"]}', "line 2: .*'captions' stands twice"),
        ("[" * 100_000, "line 2: no JSON that can be read, "),
        ('{"image": "a.jpg", "caption": "A"}', r'line 2: must be an object like \{"image"'),
        ('"image captions"', r"line 2: must be an object like"),
        ('{"image": 3, "captions": ["A"]}', "line 2: 'image' must be the path of a picture, got 3"),
        (
            '{"image": "a", "captions": "A"}',
            "line 2: 'captions' must be .*, none blank, got \"A\"",
        ),
        ('{"image": "a", "captions": []}', "line 2: 'captions' must be a list of texts"),
        ('{"image": "a", "captions": ["A", " "]}', "line 2: 'captions' must be a list of texts"),
        ('{"image": "a", "captions": ["\\ud800"]}', "line 2: 'captions' must be a list of texts"),
    ],
    ids=range(11),
)
def test_every_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_jsonl(write(tmp_path / "j", f"{GOOD}\n{line}\n{GOOD}\n"))


def test_several_bad_lines(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 2: .*; .*line 4: .*line 7: .*; and 2 more lines$"):
        read_jsonl(write(tmp_path / "j", f"{GOOD}\n{{\n{GOOD}\n" + "{\n" * 6))
