"""A run's folder with an untrained but complete model: what prediction needs, made in milliseconds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from data.text.vocabulary import Characters, Words
from zoo.config.instantiate import instantiate
from zoo.core.spec import DataSpec, DegreeSpec, ImageSpec, LabelSpec, OverlapSpec, VectorSpec
from zoo.core.text import text_spec
from zoo.tasks.tracking.batch import CATCH_ACTIONS
from zoo.training.checkpoint import contents
from zoo.training.checkpoint_io import AtomicIO

SOURCE, TARGET = Characters().build(["abcdefgh ijk"], ["zyxwvuts 0123"])
SPEC = DataSpec(
    name="letters",
    fields={
        "source": text_spec(SOURCE, maximum_length=40),
        "target": text_spec(TARGET, maximum_length=40),
    },
    test_hash="0" * 64,
    vocabulary_hash="1" * 64,
)


IMAGES = DataSpec(
    name="signs",
    fields={
        "image": ImageSpec(channels=1, height=12, width=16),
        "label": LabelSpec(("circle", "cross", "square")),
    },
    test_hash="2" * 64,
    vocabulary_hash="3" * 64,
)


WORDS = Words().train(["a red square left of the blue circle"])
CAPTIONS = DataSpec(
    name="scenes",
    fields={
        "image": ImageSpec(channels=3, height=12, width=16),
        "target": text_spec(WORDS, maximum_length=12),
    },
    test_hash="4" * 64,
    vocabulary_hash="5" * 64,
)

PAIRS = DataSpec(
    name="pairs",
    fields={
        "left": text_spec(WORDS, maximum_length=12),
        "right": text_spec(WORDS, maximum_length=12),
        "label": LabelSpec(("no", "perhaps", "yes")),
        "overlap": OverlapSpec({"a": 0.0}),
    },
    test_hash="6" * 64,
    vocabulary_hash="7" * 64,
)


def part(target: str, *, partial: bool = True, **values: Any) -> dict[str, Any]:
    """A part of a configuration that builds `target`."""
    return {"_target_": target, "_partial_": partial, **values}


def transformer() -> dict[str, Any]:
    """The model of a configuration: a Transformer of three layers with two heads."""
    return part(
        "zoo.networks.transformer.Transformer",
        attention={"score": part("zoo.attention.ScaledDot"), "selection": part("zoo.attention.Soft")},
        positions=part("zoo.networks.positions.Sinusoidal"),
        model_size=8,
        feed_forward_size=8,
        heads=2,
        encoder_layers=1,
        decoder_layers=2,
        dropout=0.5,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation=part("torch.nn.ReLU"),
    )


def config(
    *,
    decoder: str = "BahdanauDecoder",
    model: dict[str, Any] | None = None,
    decoding: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The resolved configuration of a tiny translation model."""
    attention = {"score": part("zoo.attention.Additive"), "selection": part("zoo.attention.Soft")}
    heads = {} if decoder == "FixedVectorDecoder" else {"attention": attention}
    return {
        "name": "small",
        "model": model
        or part(
            "zoo.networks.seq2seq.Seq2Seq",
            decoder=part(f"zoo.networks.seq2seq.{decoder}", **heads),
            recurrent=part("zoo.networks.recurrent.GRU"),
            embedding_size=8,
            hidden_size=8,
            layers=1,
            dropout=0.5,
        ),
        "task": part(
            "zoo.tasks.translation.TranslationTask",
            optimizer=part("torch.optim.Adam", lr=0.001),
            scheduler=None,
            decoding=decoding
            or part("zoo.decoding.Beam", partial=False, beam_size=3, length_penalty=1.0, n_best=1),
            label_smoothing=0.1,
            reinforce={
                "baseline": part("zoo.attention.LearnedBaseline"),
                "entropy_weight": 0.0,
                "discount": 1.0,
            },
            monitor="val/bleu",
        ),
    }


def _build(settings: dict[str, Any], spec: DataSpec, seed: int) -> Any:
    torch.manual_seed(seed)
    network = instantiate(settings["model"], "model")(spec=spec)
    return instantiate(settings["task"], "task")(network=network, spec=spec)


def _save(folder: Path, settings: dict[str, Any], spec: DataSpec, task: Any, value: float) -> Path:
    monitor = settings["task"]["monitor"]
    AtomicIO().save_checkpoint(
        {
            "global_step": 7,
            "state_dict": task.state_dict(),
            "callbacks": {"ModelCheckpoint": {"monitor": monitor}},
            "zoo": contents(settings, spec, {monitor: value}),
        },
        folder / "checkpoints" / "best.ckpt",
    )
    return folder


def save_run(folder: Path, settings: dict[str, Any], spec: DataSpec, value: float) -> Path:
    """Writes the checkpoint of an untrained model of these settings, and returns the folder.

    Args:
        folder: the run's.
        settings: its name, model and task.
        spec: the data.
        value: of the monitor.
    """
    return _save(folder, settings, spec, _build(settings, spec, seed=0), value)


def make_run(folder: Path, *, seed: int = 0, **options: Any) -> Path:
    """Writes `checkpoints/best.ckpt` below `folder`, as a training run would, and returns the folder."""
    settings = config(**options)
    task = _build(settings, SPEC, seed)
    with torch.no_grad():
        for weight in task.parameters():
            weight.mul_(3.0)  # opinions strong enough to differ from sentence to sentence
        if task.network.output.bias is not None:
            task.network.output.bias[SPEC.text("target").eos] -= 4.0  # and more to say than nothing
    return _save(folder, settings, SPEC, task, 12.5)


def make_recogniser(
    folder: Path, *, seed: int = 0, policy: str = "learned", glimpses: int = 3, spec: DataSpec = IMAGES
) -> Path:
    """Writes the checkpoint of a model that recognises images, as `make_run` does.

    Args:
        folder: the run's.
        seed: of the weights.
        policy: `learned` or `random`; `none` makes a network that sees whole images.
        glimpses: looks at an image.
        spec: the images.
    """
    policies = {
        "learned": part("zoo.attention.LearnedPolicy", std=0.1),
        "random": part("zoo.attention.RandomPolicy"),
    }
    model = (
        part("zoo.networks.image_classifiers.FullyConnected", hidden_size=8)
        if policy == "none"
        else part(
            "zoo.networks.ram.RecurrentAttentionModel",
            policy=policies[policy],
            recurrent=part("zoo.networks.recurrent.Rectified"),
            glimpses=glimpses,
            glimpse_size=4,
            scales=2,
            glimpse_hidden_size=8,
            hidden_size=8,
        )
    )
    reinforce = {"baseline": part("zoo.attention.LearnedBaseline"), "weight": 1.0, "discount": 1.0}
    task = part(
        "zoo.tasks.recognition.RecognitionTask",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        episodes=1,
        reinforce=reinforce,
        monitor="val/error",
    )
    settings = {"name": "small", "model": model, "task": task}
    built = _build(settings, spec, seed)
    with torch.no_grad():
        for weight in built.parameters():  # opinions strong enough to differ from image to image
            weight.mul_(3.0 if weight.ndim == 2 else 0.0)
    return _save(folder, settings, spec, built, 0.25)


def make_player(folder: Path, *, seed: int = 0, policy: str = "learned", scales: int = 2) -> Path:
    """Writes the checkpoint of a model that plays Catch on 12 x 12 pixels, as `make_run` does.

    Args:
        folder: the run's.
        seed: of the weights.
        policy: `learned` or `random`.
        scales: of its glimpses.
    """
    spread = {"std": 0.1} if policy == "learned" else {}
    model = part(
        "zoo.networks.ram.RecurrentAttentionModel",
        policy=part(f"zoo.attention.{policy.title()}Policy", **spread),
        recurrent=part("zoo.networks.recurrent.LSTM"),
        glimpses=1,
        glimpse_size=4,
        scales=scales,
        glimpse_hidden_size=8,
        hidden_size=8,
    )
    task = part(
        "zoo.tasks.tracking.TrackingTask",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        reinforce={"baseline": part("zoo.attention.LearnedBaseline"), "weight": 1.0, "discount": 0.9},
        entropy_weight=0.0,
        monitor="val/catch_rate",
    )
    data = {"size": 12, "ball": 2, "balls": 3}
    spec = DataSpec("catch", {"image": ImageSpec(1, 12, 12), "label": LabelSpec(CATCH_ACTIONS)})
    settings = {"name": "small", "data": data, "model": model, "task": task}
    built = _build(settings, spec, seed)
    with torch.no_grad():
        for weight in built.parameters():  # opinions strong enough to move
            weight.mul_(3.0)
    return _save(folder, settings, spec, built, 0.5)


def make_answerer(folder: Path, *, seed: int = 0) -> Path:
    """Writes the checkpoint of a Neural Turing Machine that copies 1 to 5 vectors, as `make_run` does."""
    model = part(
        "zoo.networks.ntm.NeuralTuringMachine",
        controller=part("zoo.networks.ntm.FeedForwardController", hidden_size=8),
        attention={
            "score": part("zoo.attention.Cosine"),
            "selection": part("zoo.attention.ContentAndLocation"),
        },
        locations=6,
        width=4,
        read_heads=1,
        write_heads=1,
        first_memory=1e-6,
    )
    task = part(
        "zoo.tasks.memory.MemoryTask",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        monitor="val/bits_per_sequence",
    )
    data = {"sequences": part("zoo.core.bit_sequences.Copy", bits=3, shortest=1, longest=5)}
    del data["sequences"]["_partial_"]
    spec = DataSpec("copy", {"inputs": VectorSpec(4), "targets": VectorSpec(3)})
    settings = {"name": "small", "data": data, "model": model, "task": task}
    return _save(folder, settings, spec, _build(settings, spec, seed), 20.0)


def make_captioner(
    folder: Path,
    *,
    seed: int = 1,
    selection: str | None = "Soft",
    decoding: dict[str, Any] | None = None,
    maximum_length: int = 12,
    stretched: bool = False,
) -> Path:
    """Writes the checkpoint of a model that writes captions, as `make_run` does.

    Args:
        folder: the run's.
        seed: of the weights.
        selection: of its attention; None makes a decoder without.
        decoding: the search.
        maximum_length: most tokens of a caption.
        stretched: whether pictures of another shape are.
    """
    parts = {"score": part("zoo.attention.Additive"), "selection": part(f"zoo.attention.{selection}")}
    decoder = (
        part("zoo.networks.show_attend_tell.MeanDecoder")
        if selection is None
        else part("zoo.networks.show_attend_tell.AttentiveDecoder", attention=parts)
    )
    model = part(
        "zoo.networks.show_attend_tell.ShowAttendTell",
        encoder=part("zoo.networks.encoders.Compact", widths=[8], feature_size=8),
        decoder=decoder,
        embedding_size=8,
        hidden_size=8,
        dropout=0.0,
    )
    task = config(decoding=decoding)["task"] | {
        "_target_": "zoo.tasks.captioning.CaptioningTask",
        "monitor": "val/cider_d",
        "doubly_stochastic": 1.0,
    }
    spec = replace(
        CAPTIONS,
        fields={
            "image": replace(CAPTIONS.image(), stretched=stretched),
            "target": replace(CAPTIONS.text("target"), maximum_length=maximum_length),
        },
    )
    settings = {"name": "small", "model": model, "task": task}
    built = _build(settings, spec, seed)
    with torch.no_grad():
        for name, weight in built.named_parameters():  # opinions strong enough to differ from image to image
            if "encoder" not in name:
                weight.mul_(4.0 if weight.ndim == 2 else 0.0)
        built.network.output.bias[spec.text("target").eos] += 2.0
    return _save(folder, settings, spec, built, 0.5)


def make_matcher(folder: Path, *, kind: str, seed: int = 0) -> Path:
    """Writes the checkpoint of a model that matches pairs of texts, as `make_run` does.

    Args:
        folder: the run's.
        kind: `reads` with attention, `abcnn3` or `bcnn`; `degrees` reads and answers from 1 to 5.
        seed: of the weights.
    """
    sizes = {"embedding_size": 8, "dropout": 0.0}
    attention = {"score": part("zoo.attention.Additive"), "selection": part("zoo.attention.Soft")}
    match = part("zoo.attention.Euclidean") if kind == "abcnn3" else None
    convolves = kind.endswith("bcnn") or kind == "abcnn3"
    model = (
        part(
            "zoo.networks.abcnn.ABCNN",
            input_match=match,
            pooling_match=match,
            filters=6,
            width=3,
            layers=1,
            **sizes,
        )
        if convolves
        else part(
            "zoo.networks.attentive_matching.AttentiveMatching",
            recurrent=part("zoo.networks.recurrent.GRU"),
            reader=part("zoo.networks.attentive_matching.AttentiveReader"),
            attention=attention,
            hidden_size=8,
            **sizes,
        )
    )
    task = part(
        "zoo.tasks.matching.MatchingTask",
        optimizer=part("torch.optim.Adam", lr=0.001),
        scheduler=None,
        reinforce={"baseline": part("zoo.attention.LearnedBaseline"), "entropy_weight": 0.0},
        monitor="val/accuracy",
    )
    fields = dict(PAIRS.fields)
    if not convolves:
        del fields["overlap"]
    if kind == "degrees":
        del fields["label"]
        fields["degree"] = DegreeSpec(1.0, 5.0)
    spec, settings = replace(PAIRS, fields=fields), {"name": "small", "model": model, "task": task}
    built = _build(settings, spec, seed)
    with torch.no_grad():
        for weight in built.parameters():  # opinions strong enough to differ from pair to pair
            weight.mul_(3.0 if weight.ndim == 2 else 1.0)
    return _save(folder, settings, spec, built, 0.5)


def draw_picture(path: Path, seed: int = 0, size: tuple[int, int] = (16, 12), mode: str = "L") -> Path:
    """Writes a picture of four patches, of about this width and height, and returns its path."""
    blocks = np.random.default_rng(seed).integers(0, 256, (2, 2, 4), dtype=np.uint8)
    levels = np.kron(blocks, np.ones((size[1] // 2, size[0] // 2, 1), dtype=np.uint8))
    Image.fromarray(levels[..., 0] if mode == "L" else levels[..., : len(mode)]).save(path)
    return path
