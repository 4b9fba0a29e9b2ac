"""The zoo's side of `language_models.py`, in its own process.

python zoo_languages.py NETWORK SECONDS [bf16]
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from languages import DROPOUT, Loss, Network, measure
from torch import Tensor, nn
from torch.utils._pytree import tree_map

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from zoo.attention import Additive, General, ScaledDot, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, TextSpec
from zoo.kernels import linear_cross_entropy
from zoo.networks.bert import BertPretraining
from zoo.networks.gpt import Gpt
from zoo.networks.lstm_language_model import LSTMLanguageModel
from zoo.networks.lstmn import LSTMN
from zoo.networks.past_attention import PastAttention
from zoo.networks.positions import Learned
from zoo.networks.recurrent import LSTM

SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}


def build(name: str, sizes: Network) -> tuple[nn.Module, Loss]:
    """The network of that name and its loss, as the tasks compute it."""
    text = TextSpec(tokenizer="words", size=sizes.vocabulary, maximum_length=sizes.steps, special=SPECIAL)
    spec = DataSpec("benchmark", {"text": text})
    common: dict[str, Any] = {
        "model_size": sizes.size,
        "feed_forward_size": 4 * sizes.size,
        "heads": sizes.heads,
        "layers": sizes.layers,
        "positions": partial(Learned, maximum_length=sizes.steps),
    }
    if name == "bert":
        selected = {"score": ScaledDot, "selection": Soft}
        bert = BertPretraining(spec=spec, attention=selected, dropout=0.1, attention_dropout=0.1, **common)
        return bert, partial(_of_masked, bert)
    if name == "gpt":
        gpt = Gpt(
            spec=spec,
            attention={"score": ScaledDot},
            dropout=0.0,
            attention_dropout=0.0,
            activation=nn.GELU,
            **common,
        )
        return gpt, partial(_of_next, gpt, {})
    recurrent: Any = LSTM
    if name == "lstmn":
        own = {"score": Additive, "selection": Soft}
        recurrent = partial(LSTMN, attention=own, tape=sizes.remembered)
    general = {"score": General, "selection": Soft}
    attends = sizes.remembered and name != "lstmn"
    network = LSTMLanguageModel(
        spec=spec,
        recurrent=recurrent,
        memory=partial(PastAttention, attention=general, length=sizes.remembered) if attends else None,
        embedding_size=sizes.size,
        hidden_size=sizes.size,
        layers=sizes.layers,
        dropout=DROPOUT,
    )
    return network, partial(_of_next, network, {})


def _of_next(network: Any, held: dict[str, Any], tokens: Tensor, behind: Tensor) -> Tensor:
    read = network(tokens, held.get("state"))
    if read.state is not None:
        held["state"] = tree_map(Tensor.detach, read.state)
    return linear_cross_entropy(read.hidden, network.output, behind, padding=0) / behind.numel()


def _of_masked(network: BertPretraining, tokens: Tensor, stood: Tensor) -> Tensor:
    text = Padded(tokens, torch.full((len(tokens),), tokens.shape[1]))
    places = torch.nonzero(stood.flatten() >= 0).squeeze(1)
    features = network(text, torch.zeros_like(tokens), places).features
    return linear_cross_entropy(features, network.output, stood.flatten()[places], padding=0) / len(places)


if __name__ == "__main__":
    measure(build, fused=True, mixed=sys.argv[3:] == ["bf16"])
