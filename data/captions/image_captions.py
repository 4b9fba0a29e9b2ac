"""Anyone's own pictures with captions: a JSONL of paths and texts for each split."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from data.captions.caption_files import read_jsonl
from data.captions.picture_captions import Picture, PictureCaptions
from data.core.paths import did_you_mean

_EXAMPLE = "data.captions.train=train.jsonl data.captions.val=val.jsonl data.captions.test=test.jsonl"


@dataclass(kw_only=True)
class ImageCaptions(PictureCaptions):
    """Pictures of any format that Pillow reads, of any size, with one caption or more each.

    On each line of a file stands an object, `{"image": "photos/1.jpg", "captions": ["A dog .", "..."]}`; a
    relative path starts at the file's folder. No picture may be in two splits.

    Attributes:
        train: the file of the training pictures.
        val: of those for validation.
        test: of those to test on.
    """

    train: str | None = None
    val: str | None = None
    test: str | None = None
    name: str = field(default="image_captions", init=False)

    def __post_init__(self) -> None:
        given = {"train": self.train, "val": self.val, "test": self.test}
        if missing := [split for split, file in given.items() if file is None]:
            raise ValueError(f"{missing[0]} must name a file of your captions, for example {_EXAMPLE}")
        self._files = {split: Path(str(file)).expanduser() for split, file in given.items()}
        for split, path in self._files.items():
            if not path.is_file():
                what = "is no file" if path.exists() else f"does not exist{did_you_mean(path)}"
                raise ValueError(f"{split} must name a file; {path} {what}")

    def check_files(self) -> None:
        """See `CaptionSet`; the pictures may be many, so that reading them begins with the run.

        Raises:
            FileNotFoundError: no picture is where a file of captions says.
            ValueError: see `read`.
        """
        for split, pictures in self.read().items():
            if not any(os.path.exists(picture.path) for picture in pictures):
                raise FileNotFoundError(
                    f"{split}: no picture that {self._files[split]} names is there, for example"
                    f" {pictures[0].path}"
                )

    def read(self) -> dict[str, list[Picture]]:
        """See `PictureCaptions`.

        Raises:
            ValueError: lines are of another kind; names file and number.
        """
        return {split: _pictures(path) for split, path in self._files.items()}


def _pictures(path: Path) -> list[Picture]:
    """The pictures of a file; one that it names in several ways has the first name, and all captions."""
    pictures: dict[Path, Picture] = {}
    for name, captions in read_jsonl(path).items():
        place = Path(os.path.realpath(path.parent / name))  # which does not mind links that lead nowhere
        pictures.setdefault(place, Picture(place, name, [])).captions.extend(captions)
    return list(pictures.values())
