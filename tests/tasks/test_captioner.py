"""Captions from the checkpoint alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from small_run import CAPTIONS, draw_picture, make_captioner, part

import zoo
from zoo.core.image import as_float, read_image
from zoo.decoding import Beam, Greedy
from zoo.runtime import precision
from zoo.tasks import picture_predictor
from zoo.tasks.captioning import predictor as module
from zoo.tasks.captioning.predictor import Captioner
from zoo.training.checkpoint_io import AtomicIO

VOCABULARY = ["a", "red", "square", "left", "of", "the", "blue", "circle"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_captioner(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pictures")
    return [draw_picture(folder / f"{number}.png", number, mode="RGB") for number in range(9)]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is drawn on the next sheet."""
    captions: list[Any] = []
    sheet = module.caption_sheet

    def watched(given: Any) -> Any:
        captions.extend(given)
        return sheet(given)

    monkeypatch.setattr(module, "caption_sheet", watched)
    return captions


def loaded(run: Path) -> Captioner:
    captioner = zoo.load(run)
    assert isinstance(captioner, Captioner)
    return captioner


def test_predictions_equal_the_tasks_captions(run: Path, pictures: list[Path]) -> None:
    captioner = loaded(run)
    images = as_float(torch.stack([read_image(picture, CAPTIONS.image()) for picture in pictures]))
    expected = [found[0].text for found in captioner.task.caption(images)]
    assert [found[0].text for found in captioner.predict(pictures)] == expected
    assert [captioner(picture) for picture in pictures[:2]] == expected[:2]
    assert len(set(expected)) > 3, "the test's model has no opinion"
    assert captioner.predict([]) == []
    assert not captioner.task.training


@pytest.mark.parametrize(
    "decoding", [part("zoo.decoding.Greedy", partial=False), None], ids=["greedy", "beam"]
)
def test_several_captions_of_each(tmp_path: Path, pictures: list[Path], decoding: Any) -> None:
    captioner = loaded(make_captioner(tmp_path / "run", decoding=decoding))
    assert isinstance(captioner.task.decoding, Greedy if decoding else Beam)
    found = captioner.predict(pictures[:2], nbest=4)
    assert [len(captions) for captions in found] == [4, 4]
    for captions in found:
        assert len({caption.text for caption in captions}) == 4
        scores = [caption.score for caption in captions]
        assert scores == sorted(scores, reverse=True)
    assert [len(captions) for captions in captioner.predict(pictures[:2])] == [1, 1]


def test_many_pictures_are_predicted_in_batches(
    run: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    captioner = loaded(run)
    expected = captioner.predict(pictures)
    sizes = []
    caption = captioner.task.caption

    def watched(images: torch.Tensor, *how: Any, **also: Any) -> Any:
        sizes.append(len(images))
        return caption(images, *how, **also)

    monkeypatch.setattr(captioner.task, "caption", watched)
    monkeypatch.setattr(picture_predictor, "BATCH_SIZE", 4)
    found = captioner.predict(pictures)
    assert sizes == [4, 4, 1]
    assert [captions[0].text for captions in found] == [captions[0].text for captions in expected]


@pytest.mark.parametrize("mode", ["CMYK", "P", "LA", "L", "1", "RGBA", "I;16"])
def test_a_photo_of_any_size_and_mode(run: Path, tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
    if mode == "I;16":
        Image.fromarray(np.arange(37 * 90, dtype=np.uint16).reshape(37, 90) * 19).save(path)
    else:
        draw_picture(tmp_path / "colours.png", size=(90, 36), mode="RGB")
        Image.open(tmp_path / "colours.png").convert(mode).save(path)
    captioner = loaded(run)
    assert set(captioner(path).split()) <= {*VOCABULARY}
    captioner.plot(path, tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_a_photo_that_the_camera_turned(run: Path, pictures: list[Path], tmp_path: Path) -> None:
    with Image.open(pictures[0]) as upright:
        exif = Image.Exif()
        exif[0x0112] = 8
        upright.transpose(Image.Transpose.ROTATE_270).save(tmp_path / "turned.png", exif=exif)
    captioner = loaded(run)
    (one,), (other,) = captioner.predict([pictures[0], tmp_path / "turned.png"])
    assert (one.text, one.score) == (other.text, pytest.approx(other.score))


def test_bad_pictures_are_named_before_the_first_caption(
    run: Path, pictures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.png").write_text("no picture")
    (tmp_path / "cut.png").write_bytes(pictures[0].read_bytes()[:60])
    captioner = loaded(run)
    monkeypatch.setattr(captioner.task, "caption", None)
    with pytest.raises(ValueError, match=r"notes\.png is no picture.*; .*cut\.png cannot be read"):
        captioner.predict([*pictures, tmp_path / "notes.png", tmp_path / "cut.png"])


def test_one_drawing_of_one_picture(
    run: Path, pictures: list[Path], tmp_path: Path, drawn: list[Any]
) -> None:
    captioner = loaded(run)
    captioner.plot(pictures[0], tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    ((best,),) = captioner.predict(pictures[:1])
    (one,) = drawn
    assert (one.heading, one.notes) == (best.text, [])
    assert " ".join(one.words) == best.text
    assert one.weights.shape == (len(one.words), 3, 4), "the encoder halves the sides twice"
    assert best.weights is not None
    np.testing.assert_array_equal(one.weights, best.weights[: len(one.words)])
    expected = as_float(read_image(pictures[0], CAPTIONS.image()))
    np.testing.assert_array_equal(one.image, expected)
    assert not one.sampled


def test_hard_attention_is_drawn_by_cells(pictures: list[Path], tmp_path: Path, drawn: list[Any]) -> None:
    loaded(make_captioner(tmp_path / "hard", selection="Hard")).plot(pictures[0], tmp_path / "a.png")
    (one,) = drawn
    assert one.sampled
    assert (one.weights.reshape(len(one.words), -1).sum(1) == 1).all()


def test_a_photo_is_drawn_in_its_own_shape(tmp_path: Path, drawn: list[Any]) -> None:
    draw_picture(tmp_path / "a.png", size=(90, 36), mode="RGB")
    for stretched, shape in ((True, (3, 160, 400)), (False, (3, 12, 16))):
        run = make_captioner(tmp_path / str(stretched), stretched=stretched)
        loaded(run).plot(tmp_path / "a.png", tmp_path / "out.png")
        assert drawn[-1].image.shape == shape


def test_several_models_and_pictures_on_one_drawing(
    run: Path, pictures: list[Path], tmp_path: Path, drawn: list[Any]
) -> None:
    models = {"soft": loaded(run), "hard": loaded(make_captioner(tmp_path / "hard", selection="Hard"))}
    for count in (1, 2):
        drawn.clear()
        answers = {name: model.predict(pictures[:count]) for name, model in models.items()}
        Captioner.draw(models, pictures[:count], answers, tmp_path / "a.PDF")
        assert (tmp_path / "a.PDF").read_bytes().startswith(b"%PDF")
        texts = [[answers[name][number][0].text] for number in range(count) for name in models]
        assert [one.notes for one in drawn] == texts
        assert [one.heading for one in drawn] == (
            ["soft", "hard"]
            if count == 1
            else ["0.png · soft", "0.png · hard", "1.png · soft", "1.png · hard"]
        )


def test_refused_drawings_leave_no_file(run: Path, pictures: list[Path], tmp_path: Path) -> None:
    blind, path = loaded(make_captioner(tmp_path / "blind", selection=None)), tmp_path / "a.png"
    assert blind.predict(pictures)
    with pytest.raises(ValueError, match=r"cannot draw .*a\.png: the model of blind has no attention"):
        blind.plot(pictures[0], path)
    with pytest.raises(ValueError, match=r"a\.dog"):
        loaded(run).plot(pictures[0], tmp_path / "a.dog")
    with pytest.raises(ValueError, match="it has room for 16 captions, not for 18"):
        Captioner.draw({"a": loaded(run), "b": loaded(run)}, pictures, {}, path)
    assert not path.exists()


def test_precisions(run: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda _: True)
    for name, expected in (("32-true", torch.float32), ("bf16-mixed", torch.bfloat16)):
        captioner: Any = zoo.load(run, device="cpu", precision=name)
        seen = []
        captioner.task.network.output.register_forward_hook(
            lambda *called, seen=seen: seen.append(called[2].dtype)
        )
        captioner.predict(pictures[:1])
        assert set(seen) == {expected}


def test_a_checkpoint_is_all_that_is_needed(run: Path, pictures: list[Path], tmp_path: Path) -> None:
    copy = tmp_path / "alone.ckpt"
    AtomicIO().save_checkpoint(torch.load(run / "checkpoints" / "best.ckpt", weights_only=True), copy)
    assert loaded(copy)(pictures[0]) == loaded(run)(pictures[0])
