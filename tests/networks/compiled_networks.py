"""Trains networks compiled and not, side by side, and prints what differed: for a process of its own.

python compiled_networks.py BACKEND LENGTHS NAME ...
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from network_cases import NETWORKS, padded
from torch import Tensor, nn
from torch._dynamo.utils import counters

from zoo.attention import Additive, Dot, GumbelHard, Hard, LearnedPolicy, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec, TextSpec
from zoo.kernels import Dropout
from zoo.kernels.noise import keyed
from zoo.networks.encoders import Compact
from zoo.networks.image_classifiers import Convolutional, FullyConnected
from zoo.networks.positions import Sinusoidal
from zoo.networks.ram import Recognised, RecurrentAttentionModel
from zoo.networks.recurrent import LSTM, Rectified
from zoo.networks.show_attend_tell import AttentiveDecoder, GridTransformer, MeanDecoder, ShowAttendTell
from zoo.runtime.compiling import compilable, compilations, compile_in_place

SPEC = DataSpec(
    "toy",
    {
        "image": ImageSpec(3, 12, 16),
        "label": LabelSpec(("one", "two", "three")),
        "target": TextSpec(tokenizer="", size=13, maximum_length=20),
    },
)
SIZES = {"glimpses": 3, "glimpse_size": 4, "scales": 2, "glimpse_hidden_size": 5, "hidden_size": 6}
POLICY = partial(LearnedPolicy, std=0.2)


def captioner(decoder: Callable[..., Any]) -> ShowAttendTell:
    encoder = partial(Compact, widths=[8], feature_size=8)
    return ShowAttendTell(
        spec=SPEC, encoder=encoder, decoder=decoder, embedding_size=8, hidden_size=8, dropout=0.0
    )


def attentive(selection: type) -> Callable[..., Any]:
    return partial(AttentiveDecoder, attention={"score": Additive, "selection": selection})


TRANSFORMER = partial(
    GridTransformer,
    attention={"score": Dot, "selection": Soft},
    positions=Sinusoidal,
    layers=2,
    heads=2,
    feed_forward_size=12,
    attention_dropout=0.0,
    activation_dropout=0.0,
    activation=nn.ReLU,
)


class Dropping(nn.Module):
    """Draws numbers; forward and backward pass must agree which."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.dropout = nn.Parameter(torch.rand(17, 5)), Dropout(0.25)

    def recognise(self, images: Tensor, *, episodes: int, sample: bool) -> Recognised:
        dropped = self.drop(images.mean())
        (gradient,) = torch.autograd.grad(dropped.sum(), self.weight, retain_graph=True)
        kept = (dropped != 0).float().mean()
        agree = torch.equal(gradient != 0, dropped != 0) and 0.5 < kept < 0.95
        # The same in both networks, whatever was drawn: 1 where all is right.
        return Recognised(torch.full((1, 1, 3), float(agree)) + 0 * dropped.sum())

    @compilable
    def drop(self, value: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(self.weight * value)
        return dropped


CASES: dict[str, Callable[..., Any]] = {
    **{name: build for name, build in NETWORKS.items() if not name.startswith("none")},
    "captioner-soft": partial(captioner, attentive(Soft)),
    "captioner-hard": partial(captioner, attentive(Hard)),
    "captioner-gumbel": partial(captioner, attentive(GumbelHard)),
    "captioner-none": partial(captioner, MeanDecoder),
    "captioner-transformer": partial(captioner, TRANSFORMER),
    "ram": partial(RecurrentAttentionModel, spec=SPEC, policy=POLICY, recurrent=Rectified, **SIZES),
    "ram-lstm": partial(RecurrentAttentionModel, spec=SPEC, policy=POLICY, recurrent=LSTM, **SIZES),
    "fully-connected": partial(FullyConnected, spec=SPEC, hidden_size=8),
    "dropout": Dropping,
    "convolutional": partial(Convolutional, spec=SPEC, filters=4, filter_size=3, stride=2, hidden_size=8),
}


def text(rows: int, length: int, size: int) -> Padded:
    lengths = [max(2, length - row) for row in range(rows)]
    ids = torch.randint(4, size, (rows, length)).tolist()
    return padded(*(row[:end] for row, end in zip(ids, lengths, strict=True)))


def trained(network: nn.Module, number: int) -> dict[str, Tensor]:
    """Outputs and gradients of one training step with a batch of its own size and lengths."""
    torch.manual_seed(number)
    network.zero_grad()
    rows, length = 3 + number % 4, 3 + number
    if hasattr(network, "recognise"):
        with keyed(torch.arange(rows), number):
            recognised = network.recognise(torch.rand(rows, 3, 12, 16), episodes=2, sample=True)
        outputs = recognised.logits
        log_probs = [glimpsed.look.log_prob.sum() for glimpsed in recognised.glimpses]
    else:
        captions = isinstance(network, ShowAttendTell)
        source = network.annotate(torch.rand(rows, 3, 12, 16)) if captions else text(rows, length + 2, 11)
        with keyed(torch.arange(rows), number):
            decoded = network.decode(network.encode(source), text(rows, length, 13))
        outputs = network.logits(decoded.features)
        log_probs = [] if decoded.log_prob is None else [decoded.log_prob.sum()]
    sum([outputs.log_softmax(-1)[..., 1].sum(), *log_probs]).backward()
    gradients = {name: weight.grad for name, weight in network.named_parameters() if weight.grad is not None}
    return {"outputs": outputs.detach(), **gradients}


def compare(name: str, backend: str, lengths: int) -> dict[str, Any]:
    """What differed, what was compiled, and why again."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    plain = CASES[name]()
    if isinstance(plain, RecurrentAttentionModel):
        plain._can_fuse = lambda images: False  # type: ignore[method-assign] # steps are compiled
    torch.manual_seed(0)
    compiled = CASES[name]()
    compiled.load_state_dict(plain.state_dict())
    compile_in_place(compiled, backend)
    worst = 0.0
    for number in range(lengths):
        expected, found = (trained(network, number) for network in (plain, compiled))
        assert expected.keys() == found.keys()
        worst = max(worst, *(float((expected[key] - found[key]).abs().max()) for key in expected))
    return {
        "worst": worst,
        "same_names": list(plain.state_dict()) == list(compiled.state_dict()),
        "breaks": sum(counters["graph_break"].values()),
        "graphs": counters["stats"]["unique_graphs"],
        "again": [[one.method, one.changed] for one in compilations() if one.changed],
        "refused": [[one.method, one.changed] for one in compilations() if one.refused],
    }


def main(backend: str, lengths: str, *names: str) -> None:
    """Prints one JSON object with a line of its own for each network."""
    torch._inductor.config.fallback_random = True  # else a compiled network draws other samples
    torch.set_num_threads(1)
    for name in names or CASES:
        print(json.dumps({"name": name, **compare(name, backend, int(lengths))}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
