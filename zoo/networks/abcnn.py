"""Attention-based convolutional networks for pairs of sentences (Yin et al. 2016): BCNN and ABCNN-1 to -3.

Two sentences go through the same convolutions. ABCNN-1 shows each sentence, beside itself, what of the other
one matches its words; ABCNN-2 weighs the columns that are pooled by how well they match; ABCNN-3 does both.

Shapes: B pairs, L words of a sentence, D features in, F features out, w width of the filters.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo.attention import Score, covering
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, OverlapSpec
from zoo.kernels import Dropout, Linear
from zoo.kernels.wide_convolution import wide_convolutions
from zoo.networks.checks import check_dropouts, check_sizes, require_one_vocabulary
from zoo.networks.embedding import word_vectors


class Matched(NamedTuple):
    """The classes of a batch of pairs, and their attention matrices.

    Attributes:
        logits: `(B, C)`, scores of C classes.
        matrices: attention matrices `(B, L_0, L_1)`, of words or of columns behind a convolution.
    """

    logits: Tensor
    matrices: tuple[Tensor, ...] = ()


class Sentences(NamedTuple):
    """One side of the pairs: columns `(B, L, D)`, zeros behind the end, and `keep_mask (B, L)`."""

    columns: Tensor
    keep_mask: Tensor

    def mean(self) -> Tensor:
        """All-ap pooling: the mean of the columns, `(B, D)` (section 3)."""
        return self.columns.sum(1) / self.keep_mask.sum(1, keepdim=True).clamp(min=1).to(self.columns.dtype)


def kept(columns: Tensor, keep_mask: Tensor) -> Sentences:
    """Sentences with zeros behind their end."""
    return Sentences(torch.where(keep_mask.unsqueeze(-1), columns, 0), keep_mask)


def attention_matrix(score: Score, left: Sentences, right: Sentences) -> Tensor:
    """A: how well each column of one sentence matches each of the other, `(B, L_0, L_1)` (eq. 1)."""
    scores: Tensor = score(left.columns, score.project_keys(right.columns))
    return torch.where(left.keep_mask.unsqueeze(-1) & right.keep_mask.unsqueeze(-2), scores, 0)


class AttentionFeatures(nn.Module):
    """ABCNN-1: a second feature map for each sentence, `W_0 Aᵀ` and `W_1 A` (section 4.1).

    One W serves both sides, as in the paper's own experiments.

    Args:
        score: the match score, completed here.
        size: D.
        longest: words of the longest sentence: W has a row for each.
    """

    def __init__(self, *, score: Callable[..., Score], size: int, longest: int) -> None:
        super().__init__()
        self.score = covering(score, longest)(query_size=size, key_size=size)
        self.W = nn.Parameter(torch.randn(longest, size) * longest**-0.5)

    def forward(self, left: Sentences, right: Sentences) -> tuple[Tensor, Tensor, Tensor]:
        """Both new feature maps `(B, L, D)`, and A."""
        matrix = attention_matrix(self.score, left, right)
        weight = self.W.to(matrix.dtype)
        return matrix @ weight[: matrix.shape[2]], matrix.mT @ weight[: matrix.shape[1]], matrix


class Block(nn.Module):
    """A wide convolution and average pooling over windows: L columns become L columns (section 3).

    Args:
        input_size: D.
        output_size: F.
        width: w.
        longest: words of the longest sentence.
        input_match: the match score of ABCNN-1's feature maps, completed here; None: there are none.
        pooling_match: the match score by which ABCNN-2 weighs columns; None: all weigh the same.
    """

    def __init__(
        self,
        *,
        input_size: int,
        output_size: int,
        width: int,
        longest: int,
        input_match: Callable[..., Score] | None = None,
        pooling_match: Callable[..., Score] | None = None,
    ) -> None:
        super().__init__()
        self.width = width
        self.features = input_match and AttentionFeatures(score=input_match, size=input_size, longest=longest)
        channels = 1 if input_match is None else 2
        self.convolution = nn.Conv1d(channels * input_size, output_size, width, padding=width - 1)
        self.match = pooling_match and covering(pooling_match, longest + width - 1)(
            query_size=output_size, key_size=output_size
        )

    def forward(
        self, left: Sentences, right: Sentences
    ) -> tuple[tuple[Sentences, Sentences], tuple[Tensor, Tensor], tuple[Tensor, ...]]:
        """The columns for the next block `(B, L, F)`, both sentence vectors `(B, F)`, and the matrices."""
        matrices: tuple[Tensor, ...] = ()
        inputs = [left.columns, right.columns]
        if self.features is not None:
            *maps, matrix = self.features(left, right)
            matrices = (matrix,)
            inputs = [torch.cat(both, -1) for both in zip(inputs, maps, strict=True)]
        wide = [
            self._convolve(columns, side.keep_mask)
            for columns, side in zip(inputs, (left, right), strict=True)
        ]
        if self.match is not None:
            matrix = attention_matrix(self.match, *wide)
            matrices += (matrix,)
            weights = matrix.sum(2), matrix.sum(1)  # a_0 and a_1, section 4.2
            wide = [
                Sentences(side.columns * weight.unsqueeze(-1), side.keep_mask)
                for side, weight in zip(wide, weights, strict=True)
            ]
        pooled = [self._pool(side.columns) for side in wide]
        sides = kept(pooled[0], left.keep_mask), kept(pooled[1], right.keep_mask)
        return sides, (wide[0].mean(), wide[1].mean()), matrices

    def _convolve(self, columns: Tensor, keep_mask: Tensor) -> Sentences:
        """`p_i = tanh(W c_i + b)` of each w words, those over the ends included: `(B, L + w - 1, F)`."""
        (features,) = wide_convolutions(columns, keep_mask.sum(1), [self.convolution])
        return Sentences(features.tanh(), functional.pad(keep_mask, (self.width - 1, 0), value=True))

    def _pool(self, columns: Tensor) -> Tensor:
        """w-ap: the mean of each w columns; weighted ones are summed (section 4.2). `(B, L, F)`."""
        means = functional.avg_pool1d(columns.mT, self.width, stride=1).mT
        return means if self.match is None else means * self.width


def similarities(left: Tensor, right: Tensor) -> Tensor:
    """`[cos(u, v), 1 / (1 + |u - v|)]` of two sentence vectors `(B, F)`: `(B, 2)`.

    Both have finite gradients where the vectors are equal or zero.
    """
    distance = (left - right).square().sum(-1).add(1e-12).sqrt()
    return torch.stack([functional.cosine_similarity(left, right, dim=-1, eps=1e-6), 1 / (1 + distance)], -1)


class ABCNN(nn.Module):
    """Blocks over both sentences, and a logistic regression over how alike their vectors are at each block.

    The vectors are those of the embedded words and those behind each convolution; the paper uses all of them
    (section 5). The paper's counts of shared words stand beside them where the data has such an `overlap`.

    Args:
        spec: the texts `left` and `right`, what is asked of them, and perhaps their `overlap`.
        input_match: see `Block`; given for ABCNN-1 and -3.
        pooling_match: see `Block`; given for ABCNN-2 and -3.
        embedding_size: D of the first block.
        embedding_range: of the numbers in the vectors of words as they begin, see `word_vectors`.
        filters: F of each block.
        width: w.
        layers: number of blocks.
        dropout: on embeddings.

    Raises:
        ValueError: if a size is below 1, the dropout is no probability below 1, or the data has no pairs.
    """

    reads_overlap = True

    def __init__(
        self,
        *,
        spec: DataSpec,
        input_match: Callable[..., Score] | None = None,
        pooling_match: Callable[..., Score] | None = None,
        embedding_size: int,
        embedding_range: float = 0.25,
        filters: int,
        width: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, filters=filters, width=width, layers=layers)
        check_dropouts(dropout=dropout)
        left, right = spec.text("left"), spec.text("right")
        require_one_vocabulary(left, right)
        self.embed = word_vectors(left, embedding_size, embedding_range)
        longest = max(left.maximum_length, right.maximum_length)
        self.blocks = nn.ModuleList(
            Block(
                input_size=size,
                output_size=filters,
                width=width,
                longest=longest,
                input_match=input_match,
                pooling_match=pooling_match,
            )
            for size in [embedding_size] + [filters] * (layers - 1)
        )
        self.dropout = Dropout(dropout)
        overlap = spec.fields.get("overlap")
        counts = overlap.size if isinstance(overlap, OverlapSpec) else 0
        self.output = Linear(2 * (layers + 1) + counts, spec.outputs())

    def forward(self, left: Padded, right: Padded, overlap: Tensor | None = None) -> Matched:
        """Matches texts `(B, L_0)` and `(B, L_1)`, with `overlap (B, 2)` where the data has it."""
        sides = tuple(kept(self.dropout(self.embed(side.ids)), side.keep_mask) for side in (left, right))
        known = [similarities(*(side.mean() for side in sides))]
        matrices: list[Tensor] = []
        for block in self.blocks:
            sides, vectors, of_block = block(*sides)
            known.append(similarities(*vectors))
            matrices += of_block
        if overlap is not None:
            known.append(overlap.to(known[0].dtype))
        return Matched(self.output(torch.cat(known, -1)), tuple(matrices))
