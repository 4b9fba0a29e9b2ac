"""Prediction from the checkpoint alone."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from small_run import config, make_run, part, transformer

import zoo
from zoo.runtime import precision
from zoo.tasks import predictor as module
from zoo.tasks.predictor import choose_device, write_drawings
from zoo.tasks.translation.predictor import Translator
from zoo.training.checkpoint import CheckpointError, find_checkpoint
from zoo.training.checkpoint_io import AtomicIO

DELETED = object()
TEXTS = ["abc", "hgf edc", "k", "abcdefgh ijk abc"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


def test_every_way_to_name_a_run_gives_the_same(run: Path) -> None:
    predictor = zoo.load(run)
    expected = predictor.predict(TEXTS)
    assert zoo.load(str(run)).predict(TEXTS)[0][0].text == expected[0][0].text
    assert zoo.load(run / "checkpoints" / "best.ckpt").predict(TEXTS)[0][0].text == expected[0][0].text
    assert predictor("abc") == expected[0][0].text
    assert str(predictor.checkpoint).endswith("best.ckpt (step 7, val/bleu 12.5)")
    assert not predictor.task.training
    assert len({translations[0].text for translations in expected}) > 1, "the test's model has no opinion"


@pytest.mark.slow
def test_a_fresh_process_in_another_folder_gives_the_same(run: Path, tmp_path: Path) -> None:
    expected = [translations[0].text for translations in zoo.load(run).predict(TEXTS)]
    code = (
        "import sys, zoo\n"
        "assert 'torch' not in sys.modules, 'import zoo must stay light'\n"
        f"found = zoo.load({str(run)!r}).predict({TEXTS!r})\n"
        "assert 'data' not in sys.modules and 'datasets' not in sys.modules\n"
        "print(*(translations[0].text for translations in found), sep='\\n')"
    )
    project = Path(zoo.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected


def test_other_weights_say_other_things(run: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", seed=1)
    assert [zoo.load(other)(text) for text in TEXTS] != [zoo.load(run)(text) for text in TEXTS]


def test_n_best_come_best_first_and_keep_the_best(run: Path) -> None:
    predictor = zoo.load(run)
    for one, several in zip(predictor.predict(TEXTS), predictor.predict(TEXTS, nbest=3), strict=True):
        assert len(one) == 1
        assert len(several) == 3
        assert several[0].text == one[0].text
        ranks = [(t.finished, t.score) for t in several]
        assert ranks == sorted(ranks, reverse=True)
    configured = predictor.task.translate(["abc"])[0][0].score
    assert predictor.predict(["abc"], nbest=3)[0][0].score == pytest.approx(configured), "one length penalty"
    assert len(predictor.predict(["abc"], nbest=7)[0]) == 7, "more than the run's own beam holds"


def test_a_greedy_run_can_give_n_best(tmp_path: Path) -> None:
    run = make_run(tmp_path / "greedy", decoding=part("zoo.decoding.Greedy", partial=False))
    predictor = zoo.load(run)
    assert len(predictor.predict(["abc"])[0]) == 1
    assert len(predictor.predict(["abc"], nbest=4)[0]) == 4


def test_a_sampling_run_gives_as_many_as_are_asked_for(tmp_path: Path) -> None:
    run = make_run(tmp_path / "sample", decoding=part("zoo.decoding.Sample", partial=False, samples=3))
    predictor = zoo.load(run)
    drawn = list(predictor.task.translate(TEXTS))
    assert [len(translations) for translations in drawn] == [3] * len(TEXTS)
    for nbest in (1, 2, 3):
        found = predictor.predict(TEXTS, nbest)
        texts = [[translation.text for translation in translations] for translations in found]
        assert texts == [[translation.text for translation in three[:nbest]] for three in drawn]
    assert len(predictor.predict(["abc"], nbest=5)[0]) == 5


def test_nothing_to_translate(run: Path) -> None:
    assert zoo.load(run).predict([]) == []


def test_weights_of_another_model_are_refused(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    loaded = torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    loaded["zoo"]["config"]["model"]["hidden_size"] = 16
    torch.save(loaded, path)
    with pytest.raises(CheckpointError, match=r"a\.ckpt does not fit the model.*size mismatch"):
        zoo.load(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model", None, "must name a model of this project, got None"),
        ("model", DELETED, "must name a model of this project, got None"),
        ("model._target_", "zoo.networks.seq2seq.Seq3Seq", "no Seq3Seq; did you mean Seq2Seq"),
        ("model._target_", "zoo.attention.Soft", "Soft takes no hidden_size"),
        ("model._target_", DELETED, "must name a model of this project, got None"),
        ("model.hidden_size", DELETED, "cannot be built: TypeError: .*argument: 'hidden_size'"),
        ("model.hidden_size", "eight", "model.hidden_size: Seq2Seq takes a whole number, got 'eight'"),
        ("model.hidden_size", 7, "cannot be built: hidden_size=7 cannot be divided"),
        ("model.decoder.attention.score", None, "attention.score: BahdanauDecoder takes a Module"),
        ("task.decoding", DELETED, "cannot be built: TypeError: .*argument: 'decoding'"),
        ("task.decoding.beam_size", 0, "cannot be built: task.decoding: beam_size must be at least 1"),
        ("task.decoding.beam_size", 10**7, "beam_size must be at most 1,000, got 10,000,000"),
    ],
)
def test_a_damaged_configuration_is_one_clear_error(
    run: Path, tmp_path: Path, key: str, value: object, message: str
) -> None:
    loaded = torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    node, (*path, last) = loaded["zoo"]["config"], key.split(".")
    for part_of in path:
        node = node[part_of]
    if value is DELETED:
        del node[last]
    else:
        node[last] = value
    torch.save(loaded, tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match=rf"a\.ckpt describes a model that .*{message}") as caught:
        zoo.load(tmp_path / "a.ckpt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["network.output.bias", ""])
def test_missing_weights_are_named(run: Path, tmp_path: Path, missing: str) -> None:
    loaded = torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    weights = loaded["state_dict"].items()
    loaded["state_dict"] = {name: weight for name, weight in weights if missing not in name}
    torch.save(loaded, tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match=r"does not fit the model .*Missing.*network\.output\.bias"):
        zoo.load(tmp_path / "a.ckpt")


def _weights(change: Any) -> Any:
    def apply(loaded: dict[str, Any]) -> None:
        loaded["state_dict"] = {name: change(weight) for name, weight in loaded["state_dict"].items()}

    return apply


def _vocabulary(change: Any) -> Any:
    def apply(loaded: dict[str, Any]) -> None:
        side = loaded["zoo"]["spec"]["fields"]["target"]
        tokenizer = json.loads(side["tokenizer"])
        tokenizer["model"]["vocab"] = change(tokenizer["model"]["vocab"])
        side["tokenizer"] = json.dumps(tokenizer)

    return apply


def _special(side: str, **ids: int) -> Any:
    return lambda loaded: loaded["zoo"]["spec"]["fields"][side]["special"].update(ids)


def _config(group: str, **values: Any) -> Any:
    return lambda loaded: loaded["zoo"]["config"][group].update(values)


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_special("target", eos=7), "eos=7, but </s> is 3"),
        (_special("source", pad=3, eos=0), "pad=3, but <pad> is 0"),
        (_vocabulary(lambda vocab: {word: number + 10 for word, number in vocab.items()}), "with ids up to"),
        (_vocabulary(lambda vocab: dict(list(vocab.items())[:6])), "the vocabulary has 6 tokens"),
        (_weights(lambda weight: weight.to(torch.int64)), "holds torch.int64"),
        (_weights(lambda weight: torch.full_like(weight, 1e300, dtype=torch.float64)), "is not finite"),
        (_config("task", decoding="x"), "task.decoding: "),
        (_config("task", _target_="zoo.attention.Dot"), "must name a task of this project"),
        (_config("model", _target_="torch.nn.Linear", in_features=2, out_features=2), "must name a model of"),
        (
            _config("model", _target_="torchmetrics.image.lpip.LearnedPerceptualImagePatchSimilarity"),
            "may not",
        ),
        (_config("model", hidden_size="x"), "hidden_size"),
    ],
)
def test_a_checkpoint_that_means_something_else_is_refused(
    run: Path, tmp_path: Path, change: Any, said: str
) -> None:
    """In one line, before anything is computed with it."""
    loaded = torch.load(find_checkpoint(run), weights_only=True)
    change(loaded)
    AtomicIO().save_checkpoint(loaded, tmp_path / "other.ckpt")
    with pytest.raises(CheckpointError, match=re.escape(said)) as caught:
        zoo.load(tmp_path / "other.ckpt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "target",
    [
        "builtins.eval",
        "os.system",
        "torch.load",
        "torch.hub.load",
        "torch.utils.collect_env.run",
        "zoo.cli.predict_texts.os.system",
    ],
)
def test_a_hostile_configuration_builds_nothing(run: Path, tmp_path: Path, target: str) -> None:
    path, marker = tmp_path / "a.ckpt", tmp_path / "marker"
    loaded = torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    hostile: dict[str, Any] = {"_target_": target, "_args_": [f"touch {marker}"]}
    loaded["zoo"]["config"] = config()
    loaded["zoo"]["config"]["model"]["decoder"]["attention"]["score"] = hostile
    torch.save(loaded, path)
    with pytest.raises(ValueError, match="may not be built"):
        zoo.load(path)
    assert not marker.exists()


def test_pictures(run: Path, tmp_path: Path) -> None:
    predictor = zoo.load(run)
    predictor.plot("abc", tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    Translator.draw({"a": predictor, "b": predictor}, "abc", tmp_path / "two.pdf")
    assert (tmp_path / "two.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match=r"one\.dog.*png"):
        predictor.plot("abc", tmp_path / "one.dog")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "two.pdf"]


def test_pictures_of_all_heads(run: Path, tmp_path: Path) -> None:
    """Beside the alignment; of several models each has a number, and one without heads has none."""
    predictor = zoo.load(make_run(tmp_path / "run", model=transformer()))
    folder = tmp_path / "pictures"
    folder.mkdir()
    drawn = predictor.plot("abc", folder / "one.png")
    assert [path.name for path in drawn] == ["one.png", "one_encoder.png", "one_decoder.png", "one_cross.png"]
    both = Translator.draw({"a": zoo.load(run), "b": predictor}, "abc", folder / "two.PDF")
    parts = ["two_2_encoder", "two_2_decoder", "two_2_cross"]
    assert [path.name for path in both] == ["two.PDF", *(f"{name}.PDF" for name in parts)]
    assert all(path.read_bytes().startswith((b"\x89PNG", b"%PDF")) for path in (*drawn, *both))
    assert len(list(folder.iterdir())) == 8


def test_maps_of_all_heads_are_what_the_search_read(tmp_path: Path) -> None:
    """Also for sentences that share a pass with longer ones."""
    predictor = zoo.load(make_run(tmp_path / "run", model=transformer()))
    best = [translations[0] for translations in predictor.predict(TEXTS)]
    assert len({len(translation.tokens) for translation in best}) > 1, "the test's model says one length"
    for translation, maps in zip(best, predictor.task.attention_maps(TEXTS, best), strict=True):
        source, target = translation.source_tokens, translation.tokens
        assert {kind: found.weights.shape for kind, found in maps.items()} == {
            "encoder": (1, 2, len(source), len(source)),
            "decoder": (2, 2, len(target), len(target)),
            "cross": (2, 2, len(target), len(source)),
        }
        torch.testing.assert_close(maps["cross"].weights[-1].mean(0), translation.weights)
        assert all(torch.allclose(found.weights.sum(-1), torch.ones(())) for found in maps.values())
        assert maps["cross"][1:] == (target, source)
        assert maps["encoder"][1:] == (source, source)
        assert maps["decoder"][1:] == (target, ["<s>", *target[:-1]])


def test_drawing_needs_attention(tmp_path: Path) -> None:
    predictor = zoo.load(make_run(tmp_path / "none", decoder="FixedVectorDecoder"))
    with pytest.raises(ValueError, match="has no attention"):
        predictor.plot("abc", tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert choose_device(None) == choose_device("cpu") == torch.device("cpu")
    for name in ("cuda", "cuda:0", "gpu", "mps"):
        with pytest.raises(ValueError, match=f"no device '{name}' here; available: cpu$"):
            choose_device(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device(None) == torch.device("cuda:0")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    assert choose_device("cuda") == torch.device("cuda")
    with pytest.raises(ValueError, match=r"available: cpu, cuda:0, cuda:1$"):
        choose_device("cuda:2")


def test_precisions(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda _: True)
    exact, mixed = (zoo.load(run, device="cpu", precision=name) for name in ("32-true", "bf16-mixed"))
    seen: list[bool] = []
    step = mixed.task.network.step

    def watched(*given: Any) -> Any:
        seen.append(torch.is_autocast_enabled("cpu"))
        return step(*given)

    monkeypatch.setattr(mixed.task.network, "step", watched)
    score, mixed_score = (each.predict(TEXTS)[0][0].score for each in (exact, mixed))
    assert set(seen) == {True}
    maps = mixed.task.attention_maps
    monkeypatch.setattr(
        mixed.task,
        "attention_maps",
        lambda *given: seen.append(torch.is_autocast_enabled("cpu")) or maps(*given),
    )
    mixed.plot(TEXTS[0], tmp_path / "one.png")
    assert set(seen) == {True}, "of the heads as well"
    assert score != mixed_score == pytest.approx(score, rel=0.05)
    with pytest.raises(ValueError, match="precision must be one of 32-true, bf16-mixed, int8, got 'fp16'"):
        zoo.load(run, precision="fp16")


def test_a_drawing_that_fails_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(figure: Figure, ending: str) -> bytes:
        if ending == "pdf":
            raise ValueError("as it was told")
        return b"drawn"

    monkeypatch.setattr(module, "render", refuse)
    files = [tmp_path / "a.png", tmp_path / "b.png"]
    assert write_drawings(dict.fromkeys(files, Figure())) == files
    with pytest.raises(ValueError, match="as it was told"):
        write_drawings(dict.fromkeys([tmp_path / "c.png", tmp_path / "d.pdf"], Figure()))
    assert sorted(tmp_path.iterdir()) == files
