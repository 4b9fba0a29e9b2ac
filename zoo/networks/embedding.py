"""The vectors of words in networks that read texts."""

from torch import nn

from zoo.core.spec import TextSpec


def word_vectors(text: TextSpec, size: int, largest: float) -> nn.Embedding:
    """Vectors of `size` numbers for a text's tokens, which begin at random; padding is zero for ever.

    Large ones make a recurrent state tell its own word from the words before it; small ones do not hide what
    is learned of frequent words behind the noise of rare ones. Published vectors are as widely spread as
    numbers up to 0.25 (Kim 2014, section 3.2).

    Args:
        text: the text.
        size: of a vector.
        largest: numbers lie between it and its negative.

    Raises:
        ValueError: it is not above 0.
    """
    if not largest > 0:
        raise ValueError(f"embedding_range must be above 0, got {largest}")
    embedding = nn.Embedding(text.size, size, padding_idx=text.pad)
    nn.init.uniform_(embedding.weight, -largest, largest)
    embedding.weight.data[text.pad] = 0
    return embedding
