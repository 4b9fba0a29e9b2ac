"""The zoo's own side: beam search with the network of `zoo_transformer.py`."""

import torch
from decoding import Search, measure
from zoo_decoding import search_with
from zoo_transformer import build as build_model


def build(vocabulary: int) -> tuple[torch.nn.Module, Search]:
    """The Transformer and its search."""
    network, _ = build_model(vocabulary)
    return network, search_with(network)


if __name__ == "__main__":
    measure(build)
