"""Other programs compute with an exported Transformer what torch computes."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import SPEC, make_run, part, transformer
from tokenizers import Tokenizer
from typer.testing import CliRunner

import zoo
from zoo.cli.app import main
from zoo.core.batch import Padded
from zoo.decoding import Beam, Greedy
from zoo.inference import translators
from zoo.inference.exporting import CannotExport
from zoo.inference.loading import trained_task
from zoo.inference.translators import FORMATS, export_translator
from zoo.training.checkpoint import read_checkpoint

TEXTS = ["abc", "a bc", "hgf edc", "k"]
MODELS: dict[str, Callable[[], dict[str, Any]]] = {
    "the paper's": transformer,
    "pre-norm": lambda: transformer() | {"pre_norm": True},
    "learned positions": lambda: (
        transformer() | {"positions": part("zoo.networks.positions.Learned", maximum_length=600)}
    ),
    "another activation": lambda: transformer() | {"activation": part("torch.nn.SiLU")},
}
NEEDS = {name: all(map(find_spec, one.packages)) for name, one in FORMATS.items()}
with_onnx = pytest.mark.skipif(not NEEDS["onnx"], reason="needs attention-zoo[onnx]")
with_ctranslate2 = pytest.mark.skipif(not NEEDS["ctranslate2"], reason="needs attention-zoo[ctranslate2]")


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], Path]:
    """Makes a run whose model soon ends what it writes, as one that was trained does."""

    def run(model: dict[str, Any]) -> Path:
        folder = make_run(tmp_path / "run", model=model, seed=3)
        path = folder / "checkpoints" / "best.ckpt"
        loaded = torch.load(path, weights_only=True)
        weights = loaded["state_dict"]
        for weight in weights.values():
            weight.mul_(0.5)
        norm = [name for name in weights if re.search(r"decoder.*norm\.bias", name)][-1]
        weights[norm] += 0.5
        weights["network.output.weight"][:4] -= 5.0  # no special token but the end
        weights["network.output.weight"][SPEC.text("target").eos] += 5.6
        torch.save(loaded, path)
        return folder

    return run


def _used(folder: Path) -> Callable[[str], str]:
    """`translate` of the lines on the model card, which are run as they stand there."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    lines = card.split("## Use\n")[1].split("## Figures")[0].replace("FOLDER", str(folder))
    names: dict[str, Any] = {}
    exec("\n".join(line.removeprefix("    ") for line in lines.splitlines()), names)
    return names["translate"]  # type: ignore[no-any-return]


@with_ctranslate2
@pytest.mark.parametrize("kind", MODELS)
def test_ctranslate2_finds_the_same_translations(
    make: Callable[[dict[str, Any]], Path], tmp_path: Path, kind: str
) -> None:
    import ctranslate2

    run = make(MODELS[kind]())
    made = export_translator(run, tmp_path / "made", "ctranslate2")
    task = trained_task(read_checkpoint(run)).eval()
    ours = task.translate(TEXTS, Beam(beam_size=5, length_penalty=0.0), weights=False)
    assert all(found[0].finished for found in ours)
    source, target = (Tokenizer.from_str(SPEC.text(name).tokenizer) for name in ("source", "target"))
    found = ctranslate2.Translator(str(made), compute_type="float32").translate_batch(
        [source.encode(text).tokens for text in TEXTS],
        beam_size=5,
        length_penalty=0,
        return_scores=True,
        disable_unk=True,
        suppress_sequences=[["<pad>"], ["<s>"]],
        min_decoding_length=0,
        max_decoding_length=40,
    )
    for mine, theirs in zip(ours, found, strict=True):
        assert [[target.id_to_token(token) for token in one.ids[:-1]] for one in mine] == theirs.hypotheses
        assert [one.score for one in mine] == pytest.approx(theirs.scores, abs=1e-4)
    translate = _used(made)
    assert [translate(text) for text in TEXTS] == [one[0].text for one in ours]


@with_onnx
@pytest.mark.parametrize("kind", ["the paper's", "another score"])
def test_onnx_computes_the_same(make: Callable[[dict[str, Any]], Path], tmp_path: Path, kind: str) -> None:
    model = transformer()
    if kind == "another score":
        model["attention"]["score"] = part("zoo.attention.Additive")
    run = make(model)
    made = export_translator(run, tmp_path / "made", "onnx")
    task = trained_task(read_checkpoint(run)).eval()
    draw = torch.Generator().manual_seed(1)
    for sentences, read, written in ((1, 1, 1), (3, 9, 7), (2, 140, 2)):
        lengths = torch.randint(1, read + 1, (sentences,), generator=draw)
        ids = torch.randint(4, 12, (sentences, read), generator=draw)
        tokens = torch.randint(4, 12, (sentences, written), generator=draw)
        found = FORMATS["onnx"].scores(made, SPEC, Padded(ids, lengths), tokens)
        inputs = torch.cat([torch.full((sentences, 1), 2), tokens[:, :-1]], 1)
        features = task.network(
            Padded(ids, lengths), Padded(inputs, torch.full((sentences,), written))
        ).features
        expected = task.network.logits(features).log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    translate, ours = _used(made), task.translate(TEXTS, Greedy(), weights=False)
    for text, (best, *_) in zip(TEXTS, ours, strict=True):
        found_text = translate(text)
        # What does not end by itself is cut at another length.
        assert found_text == best.text if best.finished else found_text.startswith(best.text)


@with_ctranslate2
def test_other_numbers_are_no_export(
    make: Callable[[dict[str, Any]], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = FORMATS["ctranslate2"]
    wrong = form._replace(scores=lambda *given: torch.as_tensor(form.scores(*given)) + 1e-3)
    monkeypatch.setitem(translators.FORMATS, "ctranslate2", wrong)
    with pytest.raises(CannotExport, match=r"by 0\.001; at most"):
        export_translator(make(transformer()), tmp_path / "made", "ctranslate2")
    assert not (tmp_path / "made").exists()


@with_ctranslate2
@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        ({"positions": part("zoo.networks.positions.RotaryPositions")}, "rotary positions"),
        ({"window": 2}, "a window"),
        ({"head_value_size": 2}, "heads of other sizes"),
        ({"activation": part("torch.nn.Tanh")}, "the activation Tanh"),
        (
            {"attention": {"score": part("zoo.attention.Dot"), "selection": part("zoo.attention.Soft")}},
            "the score Dot",
        ),
        (
            {
                "attention": {
                    "score": part("zoo.attention.ScaledDot"),
                    "selection": part("zoo.attention.Sparsemax"),
                }
            },
            "another selection",
        ),
    ],
)
def test_what_ctranslate2_does_not_have_is_named(tmp_path: Path, change: dict[str, Any], lacks: str) -> None:
    run = make_run(tmp_path / "run", model=transformer() | change)
    with pytest.raises(CannotExport, match=lacks):
        export_translator(run, tmp_path / "made", "ctranslate2")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("form", FORMATS)
def test_other_models_and_missing_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    def said() -> str:
        line = ["export", str(tmp_path / "run"), str(tmp_path / "made"), "--format", form]
        result = CliRunner().invoke(main, line)
        assert result.exit_code == 2
        return result.stderr

    make_run(tmp_path / "run")
    monkeypatch.setitem(translators.FORMATS, form, FORMATS[form]._replace(packages=("no_such_package",)))
    assert f"no_such_package is not installed: pip install 'attention-zoo[{form}]'" in said()
    monkeypatch.setitem(translators.FORMATS, form, FORMATS[form]._replace(packages=()))
    assert "is for translations by model=transformer" in said()
    assert not (tmp_path / "made").exists()


def test_a_format_that_there_is_not(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    result = CliRunner().invoke(main, ["export", str(run), str(tmp_path / "made"), "--format", "onx"])
    assert result.exit_code == 2
    assert "did you mean onnx?" in result.stderr
    assert zoo.load(run)
