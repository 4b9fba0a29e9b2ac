"""The vectors of words in networks that read texts."""

from torch import nn

from zoo.core.spec import TextSpec

_BOUND = 0.25
"""As Kim 2014, section 3.2, draws vectors of unknown words: as widely spread as published ones."""


def word_vectors(text: TextSpec, size: int) -> nn.Embedding:
    """Vectors of `size` numbers for a text's tokens, which begin at random; padding is zero for ever.

    Larger ones, such as the standard normal ones of torch, hide what is learned of frequent words behind the
    noise of rare ones.
    """
    embedding = nn.Embedding(text.size, size, padding_idx=text.pad)
    nn.init.uniform_(embedding.weight, -_BOUND, _BOUND)
    embedding.weight.data[text.pad] = 0
    return embedding
