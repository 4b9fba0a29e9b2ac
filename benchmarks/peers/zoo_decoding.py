"""The zoo's own side: beam search with the network of `zoo_seq2seq.py`."""

import json
import sys

import torch
from decoding import BEAM, LENGTH, Search, measure
from zoo_seq2seq import build as build_model

from zoo.core.batch import Padded
from zoo.decoding import Beam
from zoo.kernels.int8 import use_int8


def build(vocabulary: int) -> tuple[torch.nn.Module, Search]:
    """The recurrent network and its search."""
    network, _ = build_model(vocabulary)
    return network, search_with(network)


def search_with(network: torch.nn.Module) -> Search:
    """Beam search as a task runs it, but with EOS among the forbidden tokens."""
    if json.loads(sys.argv[2])["int8"]:
        use_int8(network)
    beam = Beam(beam_size=BEAM, length_penalty=1.0)

    @torch.no_grad()
    def translate(source: torch.Tensor, lengths: torch.Tensor) -> int:
        memory = network.encode(Padded(source, lengths))
        found = beam(
            network.step,
            network.init_state(memory),
            memory,
            bos=2,
            eos=3,
            forbidden=(0, 1, 2, 3),
            maximum_length=torch.full_like(lengths, LENGTH),
        )
        return max(len(hypotheses[0].ids) for hypotheses in found)

    return translate


if __name__ == "__main__":
    measure(build)
