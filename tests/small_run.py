"""A run's folder with an untrained but complete model: what prediction needs, made in milliseconds."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from data.vocabulary import Characters
from zoo.config.instantiate import instantiate
from zoo.runs.checkpoint import contents
from zoo.runs.checkpoint_io import AtomicIO
from zoo.spec import DataSpec, TextSpec

SOURCE, TARGET = Characters().build(["abcdefgh ijk"], ["zyxwvuts 0123"])
SPEC = DataSpec(
    name="letters",
    source=TextSpec(tokenizer=SOURCE, size=Tokenizer.from_str(SOURCE).get_vocab_size(), maximum_length=40),
    target=TextSpec(tokenizer=TARGET, size=Tokenizer.from_str(TARGET).get_vocab_size(), maximum_length=40),
    test_hash="0" * 64,
    vocabulary_hash="1" * 64,
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


def make_run(folder: Path, *, seed: int = 0, **options: Any) -> Path:
    """Writes `checkpoints/best.ckpt` below `folder`, as a training run would, and returns the folder."""
    settings = config(**options)
    torch.manual_seed(seed)
    network = instantiate(settings["model"], "model")(spec=SPEC)
    task = instantiate(settings["task"], "task")(network=network, spec=SPEC)
    with torch.no_grad():
        for weight in task.parameters():
            weight.mul_(3.0)  # opinions strong enough to differ from sentence to sentence
        if task.network.output.bias is not None:
            task.network.output.bias[SPEC.target.eos] -= 4.0  # and more to say than nothing
    AtomicIO().save_checkpoint(
        {
            "global_step": 7,
            "state_dict": task.state_dict(),
            "callbacks": {"ModelCheckpoint": {"monitor": "val/bleu"}},
            "zoo": contents(settings, SPEC, {"val/bleu": 12.5}),
        },
        folder / "checkpoints" / "best.ckpt",
    )
    return folder
