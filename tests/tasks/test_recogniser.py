"""Recognition from the checkpoint alone."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import IMAGES, draw_picture, make_recogniser, make_run

import zoo
from zoo.attention import RandomPolicy
from zoo.core.image import as_float, read_image
from zoo.figures import glimpse_sheet
from zoo.runtime import precision
from zoo.tasks import picture_predictor
from zoo.tasks.recognition import predictor as module
from zoo.tasks.recognition.predictor import Recogniser
from zoo.tasks.translation.predictor import Translator
from zoo.training.checkpoint import CheckpointError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_recogniser(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pictures")
    return [draw_picture(folder / f"{number}.png", number) for number in range(9)]


def test_a_run_is_loaded_as_what_it_was_trained_to_be(run: Path, tmp_path: Path) -> None:
    assert isinstance(zoo.load(run), Recogniser)
    assert isinstance(zoo.load(make_run(tmp_path / "text")), Translator)


def test_a_checkpoint_of_no_task_is_refused(run: Path, tmp_path: Path) -> None:
    loaded = torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    loaded["zoo"]["config"]["task"]["_target_"] = "zoo.networks.ram.RecurrentAttentionModel"
    torch.save(loaded, tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match=r"a\.ckpt describes a model that cannot be built"):
        zoo.load(tmp_path / "a.ckpt")


def test_predictions_equal_the_networks_outputs(run: Path, pictures: list[Path]) -> None:
    recogniser = zoo.load(run)
    assert isinstance(recogniser, Recogniser)
    found = recogniser.predict(pictures, nbest=3)
    images = as_float(torch.stack([read_image(picture, IMAGES.image()) for picture in pictures]))
    with torch.no_grad():
        logits = recogniser.task.network.recognise(images).logits[:, 0]
    for row, recognitions in zip(logits.softmax(-1), found, strict=True):
        expected = {
            name: float(value) for name, value in zip(("circle", "cross", "square"), row, strict=True)
        }
        assert {one.label: one.probability for one in recognitions} == pytest.approx(expected)
        assert [one.probability for one in recognitions] == sorted(expected.values(), reverse=True)
    best = [recognitions[0] for recognitions in found]
    assert recogniser.predict(pictures) == [[one] for one in best]
    assert [recogniser(picture) for picture in pictures] == [one.label for one in best]
    assert len({one.label for one in best}) > 1, "the test's model has no opinion"
    assert not recogniser.task.training


def test_random_policies_repeat_their_places_in_every_answer(run: Path, pictures: list[Path]) -> None:
    recogniser: Any = zoo.load(run)
    recogniser.task.network.policy = recogniser.task.policy = RandomPolicy(state_size=1)
    before = torch.random.get_rng_state()
    found = recogniser.predict(pictures)
    assert recogniser.predict(pictures) == found
    for picture, ((label, probability),) in zip(pictures, found, strict=True):
        alone = [(label, pytest.approx(probability))]
        assert recogniser.predict([picture])[0] == alone, "whatever else is asked"
    drawn: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "glimpse_sheet", lambda groups: drawn.update(groups) or glimpse_sheet(groups))
        Recogniser.draw({"run": recogniser}, pictures, {}, run / "random.png")
    shown = [(path.prediction, path.probability) for path in drawn["run"]]
    assert shown == [(label, pytest.approx(probability)) for ((label, probability),) in found]
    assert torch.equal(torch.random.get_rng_state(), before), "what others draw stays as it was"


def test_nbest_is_at_most_the_number_of_classes(run: Path, pictures: list[Path]) -> None:
    recogniser: Any = zoo.load(run)
    assert len(recogniser.predict(pictures[:1], nbest=99)[0]) == 3
    assert recogniser.predict([]) == []


def test_many_pictures_are_predicted_in_batches(
    run: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    recogniser: Any = zoo.load(run)
    expected = recogniser.predict(pictures)
    sizes = []
    recognise = recogniser.task.network.recognise

    def watched(images: torch.Tensor, **how: Any) -> Any:
        sizes.append(len(images))
        return recognise(images, **how)

    monkeypatch.setattr(recogniser.task.network, "recognise", watched)
    monkeypatch.setattr(picture_predictor, "BATCH_SIZE", 4)
    found = recogniser.predict(pictures)
    assert sizes == [4, 4, 1]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours[0].label == theirs[0].label
        assert ours[0].probability == pytest.approx(theirs[0].probability)


@pytest.mark.parametrize(("size", "mode"), [((16, 12), "RGB"), ((40, 30), "L"), ((6, 90), "RGBA")])
def test_colours_and_other_sizes(run: Path, tmp_path: Path, size: tuple[int, int], mode: str) -> None:
    picture = draw_picture(tmp_path / "a.png", size=size, mode=mode)
    recogniser: Any = zoo.load(run)
    assert recogniser(picture) in ("circle", "cross", "square")


def test_bad_pictures_are_named_and_nothing_is_recognised(
    run: Path, pictures: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "notes.png").write_text("no picture")
    recogniser: Any = zoo.load(run)
    files = [pictures[0], tmp_path / "notes.png", *pictures[1:], tmp_path / "missing.png"]
    with pytest.raises(ValueError, match=r"notes\.png is no picture.*; .*missing\.png cannot be read"):
        recogniser.predict(files)


@pytest.mark.slow
def test_a_fresh_process_in_another_folder_gives_the_same(
    run: Path, pictures: list[Path], tmp_path: Path
) -> None:
    recogniser: Any = zoo.load(run)
    names = [str(picture) for picture in pictures[:3]]
    code = (
        "import sys, zoo\n"
        f"recogniser = zoo.load({str(run)!r})\n"
        f"print(*(found[0].label for found in recogniser.predict({names!r})), sep='\\n')\n"
        "assert 'data' not in sys.modules and 'sklearn' not in sys.modules"
    )
    project = Path(zoo.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(project)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [recogniser(name) for name in names]


def test_precisions(run: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda _: True)
    for name, expected in (("32-true", torch.float32), ("bf16-mixed", torch.bfloat16)):
        recogniser: Any = zoo.load(run, device="cpu", precision=name)
        seen = []
        recogniser.task.network.action.register_forward_hook(
            lambda *called, seen=seen: seen.append(called[2].dtype)
        )
        recogniser.predict(pictures[:1])
        assert seen == [expected]


def test_drawings_of_one_model_and_of_several(run: Path, pictures: list[Path], tmp_path: Path) -> None:
    recogniser: Any = zoo.load(run)
    recogniser.plot(pictures[0], tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    Recogniser.draw({"a": recogniser, "b": recogniser}, pictures[:2], {}, tmp_path / "two.PDF")
    assert (tmp_path / "two.PDF").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match=r"one\.dog"):
        recogniser.plot(pictures[0], tmp_path / "one.dog")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "two.PDF"]


def test_refused_drawings_leave_no_file(run: Path, pictures: list[Path], tmp_path: Path) -> None:
    whole: Any = zoo.load(make_recogniser(tmp_path / "whole", policy="none"))
    path, recogniser = tmp_path / "a.png", zoo.load(run)
    assert isinstance(recogniser, Recogniser)
    assert whole(pictures[0]) in ("circle", "cross", "square")
    with pytest.raises(ValueError, match=r"cannot draw .*a\.png: the model of whole sees whole images"):
        whole.plot(pictures[0], path)
    with pytest.raises(ValueError, match="it has room for 16 paths of glimpses, not for 18"):
        Recogniser.draw({"a": recogniser, "b": recogniser}, pictures, {}, path)
    assert not path.exists()
