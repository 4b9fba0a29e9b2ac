"""What there is to see of a model's answer to one input: the record that `zoo explore` shows.

Shapes: L layers, h heads, Q tokens that read, K tokens that are read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Attention, Score
from zoo.core.text import TextCodec
from zoo.figures import ShadedText

ANSWERS = 5
"""The most answers, and candidates of a token, that are shown."""


class Answer(NamedTuple):
    """One answer, or one candidate for a token.

    Attributes:
        text: what it says.
        probability: what the model gives it; None where the model gives none.
        note: what else there is to say of it, such as a score.
    """

    text: str
    probability: float | None = None
    note: str = ""


class TokenReading(NamedTuple):
    """What tokens read of tokens in one kind of attention.

    Attributes:
        name: of the attention, such as `cross-attention`.
        weights: `(L, h, Q, K)` on the CPU, in [0, 1].
        queries: Q tokens.
        keys: K tokens.
        query_name: what the tokens that read are, such as `translation`.
        key_name: what the tokens that are read are, such as `source`.
        mechanism: its score and selection, see `mechanism`.
        candidates: of each query, what might have stood in its place, the likeliest first; or nothing.
        candidates_name: what they are, to stand before the query.
    """

    name: str
    weights: Tensor
    queries: Sequence[str]
    keys: Sequence[str]
    query_name: str
    key_name: str
    mechanism: str = ""
    candidates: Sequence[Sequence[Answer]] = ()
    candidates_name: str = "candidates for"


class Shading(NamedTuple):
    """What was read of a text or document, at once: the weights of its words and sentences.

    Attributes:
        name: of the attention.
        text: its words with their weights.
        mechanism: see `TokenReading`.
    """

    name: str
    text: ShadedText
    mechanism: str = ""


class PictureReading(NamedTuple):
    """What words read of a picture.

    Attributes:
        name: of the attention.
        image: `(C, H, W)` in [0, 1], grey or red, green and blue.
        weights: `(T, h, w)` on the CPU, in [0, 1]: a grid over the whole image, cells of any shape.
        words: T of them.
        mechanism: see `TokenReading`.
        candidates: likewise, of each word.
    """

    name: str
    image: Tensor
    weights: Tensor
    words: Sequence[str]
    mechanism: str = ""
    candidates: Sequence[Sequence[Answer]] = ()


class Glimpses(NamedTuple):
    """Where an agent looked in T steps, at k scales, and what it saw there.

    Attributes:
        name: of the path.
        image: `(C, H, W)` in [0, 1], grey or red, green and blue.
        locations: `(T, 2)`, (x, y) in [-1, 1], the image's outer edges.
        glimpses: `(T, k, C, g, g)` in [0, 1].
        mechanism: how it chose, in words.
    """

    name: str
    image: Tensor
    locations: Tensor
    glimpses: Tensor
    mechanism: str = ""


class Strip(NamedTuple):
    """Values over time.

    Attributes:
        name: what they are.
        values: `(T, C)` in [0, 1], of T steps.
        unit: what each of the C is: `bit`, `place` of a memory, or `step` that is read.
    """

    name: str
    values: Tensor
    unit: str


class MemoryReading(NamedTuple):
    """What a network saw, answered, read and wrote, step by step.

    Attributes:
        name: of the sequence.
        strips: one under the other.
        mechanism: see `TokenReading`.
    """

    name: str
    strips: Sequence[Strip]
    mechanism: str = ""


View = TokenReading | Shading | PictureReading | Glimpses | MemoryReading
"""One thing to see."""


class Exploration(NamedTuple):
    """What there is to see of the answer to one input.

    Attributes:
        answers: the best first.
        views: what the model attended to, in the order in which it is shown.
        notes: sentences on what is not as it seems: an input that was cut, or a model without attention.
    """

    answers: Sequence[Answer]
    views: Sequence[View] = ()
    notes: Sequence[str] = ()


def mechanism(model: nn.Module, *where: str) -> str:
    """The score and the selection of a model's attention, in words.

    Args:
        model: a task, or its network.
        where: parts of the names of the modules that are meant, such as `decoder`; none: all.

    Returns:
        Each pair once, such as `score additive, selection soft`, or a score that nothing is selected by, as
        in ABCNN; nothing where there is no attention.
    """
    pairs = {
        f"score {words_of(part.score)}, selection {words_of(part.selection)}": None
        for name, part in model.named_modules()
        if isinstance(part, Attention) and all(one in name for one in where)
    }
    alone = {
        f"score {words_of(part)}, no selection": None
        for name, part in model.named_modules()
        if isinstance(part, Score) and all(one in name for one in where)
    }
    return "; ".join(pairs or alone)


def candidates(logits: Tensor, chosen: Sequence[int], name: Callable[[int], str]) -> list[list[Answer]]:
    """What might have stood in the place of each token, the likeliest first, the token itself among it.

    Args:
        logits: `(T, V)`.
        chosen: T ids.
        name: of the token with an id.
    """
    probabilities = logits.float().softmax(-1)
    best = probabilities.topk(min(ANSWERS, probabilities.shape[-1])).indices.tolist()
    found = []
    for row, likeliest, token in zip(probabilities.cpu(), best, chosen, strict=True):
        kept = likeliest if token in likeliest else [*likeliest[:-1], token]
        found.append([Answer(name(one), float(row[one])) for one in kept])
    return found


def stacked(layers: Sequence[Tensor], row: int, queries: int, keys: int) -> Tensor:
    """The weights `(L, h, Q, K)` of one item on the CPU, of layers `(B, h, Q', K')` with padding behind."""
    return torch.stack([layer[row, :, :queries, :keys] for layer in layers]).float().cpu()


def heads_of(task: Any, codec: TextCodec, *texts: Any) -> list[TokenReading]:
    """What each head of a classifier reads in one text or pair; nothing of one without `attention_maps`.

    Args:
        task: with such a network.
        codec: of the tokens.
        texts: batches of one.
    """
    find = getattr(task.network, "attention_maps", None)
    if find is None:
        return []
    maps, ids = find(*texts)
    marks = getattr(task.network, "mark_names", ())  # ids behind the vocabulary
    size = codec.spec.size
    tokens = [marks[one - size] if one >= size else codec.tokens([one])[0] for one in ids[0].tolist()]
    return self_readings(maps, tokens, mechanism(task))


def self_readings(
    maps: Mapping[str, Sequence[Tensor]], tokens: Sequence[str], said: str
) -> list[TokenReading]:
    """What the tokens of one text read of each other.

    Args:
        maps: by name, the weights `(1, h, T', T')` of each layer.
        tokens: the first T of the T' tokens.
        said: see `TokenReading.mechanism`.
    """
    size = len(tokens)
    return [
        TokenReading(
            "self-attention" if name == "heads" else f"attention to the {name}",
            stacked(layers, 0, size, size),
            tokens,
            tokens,
            "text",
            "text",
            said,
        )
        for name, layers in maps.items()
    ]


def words_of(part: nn.Module) -> str:
    """The name of a part's class in words, such as `scaled dot`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(part).__name__).lower()
