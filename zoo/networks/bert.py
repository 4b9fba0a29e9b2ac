"""BERT (Devlin et al. 2019): the encoder of the Transformer, which reads in both directions.

Token, segment and position vectors are added and normalised (figure 2); the encoder's layers follow. It is
trained to name tokens that were masked, and to tell whether one text follows another (section 3.1), and then
fine-tuned to classify a text or a pair (section 3.2).

Where this leaves the paper: scores other than the scaled dot product, and selections that do not sample, work
in all heads. Matrices begin normal with a deviation of 0.02, where the authors' program cuts that
distribution off at twice the deviation.

Shapes: B texts, T tokens, D model size, h heads, V vocabulary, M masked tokens of a batch.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Selection, SelfAttention
from zoo.core.batch import Padded, real_positions
from zoo.core.spec import DataSpec, LabelSpec, TextSpec
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.positions import Learned, Positions, require_reach
from zoo.networks.transformer import Settings, TransformerEncoder

SEGMENTS = 2
"""The text, or the first of two; and the second."""

_DEVIATION = 0.02
_EPSILON = 1e-12
"""Of layer normalisation, as in the authors' program."""


class _AllHeads(Settings):
    """Settings whose selection is that of self-attention, too."""

    def self_attention(self, *, causal: bool) -> SelfAttention:
        """See `Settings`."""
        attention = self._attention(selection=self.selection, rotary=self.rotary, longest=self.longest)
        return SelfAttention(attention=attention, causal=causal, window=self.window)


class Encoded(NamedTuple):
    """A batch of texts as BERT reads them.

    Attributes:
        features: `(B, T, D)`.
        pooled: `(B, D)`, `tanh(W f_CLS + b)` of the first token, which is CLS.
        weights: of each layer, `(B, h, T, T)` or None.
    """

    features: Tensor
    pooled: Tensor
    weights: list[Tensor | None]


class Bert(nn.Module):
    """The encoder with its embeddings and the pooler.

    Args:
        text: the vocabulary.
        longest: the most tokens of a sequence, special ones included.
        attention: `{score, selection}` of all heads.
        positions: the position encoding, completed here with the size.
        model_size: D.
        feed_forward_size: hidden units of the feed-forward networks, 4 D in the paper.
        heads: h.
        layers: of the encoder.
        dropout: of the embeddings and every sublayer's output.
        attention_dropout: of attention weights.
        activation: of the feed-forward networks.
        pre_norm: normalises the input of a sublayer instead of its output, as in the paper.
        window: positions to either side that a token reads; None: all.

    Raises:
        ValueError: a number is out of range, the vocabulary lacks CLS or SEP, positions end before the
            longest sequence, or the selection samples.
    """

    def __init__(
        self,
        *,
        text: TextSpec,
        longest: int,
        attention: Mapping[str, Callable[..., nn.Module]],
        positions: Callable[..., Positions],
        model_size: int,
        feed_forward_size: int,
        heads: int,
        layers: int,
        dropout: float,
        attention_dropout: float,
        activation: Callable[[], nn.Module] = nn.GELU,
        pre_norm: bool = False,
        window: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(model_size=model_size, feed_forward_size=feed_forward_size, heads=heads, layers=layers)
        if model_size % heads:
            raise ValueError(f"model_size={model_size} cannot be divided among heads={heads}")
        check_dropouts(dropout=dropout, attention_dropout=attention_dropout)
        if missing := {"cls", "sep"} - text.special.keys():
            raise ValueError(
                "BERT reads texts between CLS and SEP, and the vocabulary has no"
                f" {' and no '.join(sorted(missing))}; take data/tokenizer=wordpiece"
            )
        self.tokens = nn.Embedding(text.size, model_size, padding_idx=text.pad)
        self.segments = nn.Embedding(SEGMENTS, model_size)
        self.positions = positions(size=model_size)
        require_reach(self.positions, longest)
        self.norm, self.dropout = nn.LayerNorm(model_size), Dropout(dropout)
        settings = _AllHeads(
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            score=attention["score"],  # type: ignore[arg-type]  # the config check knows the type
            selection=attention["selection"],  # type: ignore[arg-type]
            head_key_size=None,
            head_value_size=None,
            rotary=self.positions.rotary,
            window=window,
            activation=activation,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=0.0,
            pre_norm=pre_norm,
            longest=longest,
        )
        self.encoder = TransformerEncoder(settings, layers=layers)
        self.pooler = Linear(model_size, model_size)
        for part in self.modules():
            if isinstance(part, Selection) and part.samples:
                raise ValueError(
                    f"selection: {type(part).__name__} samples, which BERT's layers cannot learn from;"
                    " take selection=soft or selection=gumbel_hard"
                )
        begin(self)

    def forward(self, text: Padded, segments: Tensor | None = None, *, weights: bool = False) -> Encoded:
        """Reads texts.

        Args:
            text: `(B, T)` ids, CLS first.
            segments: `(B, T)`, 0 or 1; None: all 0.
            weights: whether to return the attention weights of all layers.
        """
        if segments is None:
            segments = torch.zeros_like(text.ids)
        embedded = self.positions(self.tokens(text.ids) + self.segments(segments))
        embedded = self.dropout(self.norm(embedded))
        features, read = self.encoder(embedded, text.keep_mask, weights=weights)
        return Encoded(features, self.pooler(features[:, 0]).tanh(), read)


class MaskedHead(nn.Module):
    """`softmax(E LayerNorm(GELU(W f + b)) + c)`: names masked tokens; E are the vectors of tokens.

    Attributes:
        output: the layer with E and c.

    Args:
        tokens: the vectors of tokens, shared with the output.
        activation: in place of GELU.
    """

    def __init__(self, tokens: nn.Embedding, activation: Callable[[], nn.Module] = nn.GELU) -> None:
        super().__init__()
        size = tokens.embedding_dim
        self.dense, self.activation, self.norm = Linear(size, size), activation(), nn.LayerNorm(size)
        self.output = Linear(size, tokens.num_embeddings)
        begin(self)
        self.output.weight = tokens.weight

    def forward(self, features: Tensor) -> Tensor:
        """Features `(M, D)` of masked tokens to those that `output` reads."""
        transformed: Tensor = self.norm(self.activation(self.dense(features)))
        return transformed


class Pretrained(NamedTuple):
    """What BERT says of a batch with masked tokens.

    Attributes:
        features: `(M, D)`, of which `output` of the network makes scores of the vocabulary.
        follows: `(B, 2)`, scores of whether the second text does not follow the first, or does; None where
            nobody asks.
        weights: see `Encoded`.
    """

    features: Tensor
    follows: Tensor | None
    weights: list[Tensor | None]


class BertPretraining(nn.Module):
    """BERT with the two heads of its pre-training (section 3.1).

    The head of the next sentence is there where the data has the field `follows`.

    Attributes:
        output: scores of the vocabulary, see `MaskedHead`.

    Args:
        spec: the text, and whether it has pairs.
        settings: as for `Bert`.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        attention: Mapping[str, Callable[..., nn.Module]],
        positions: Callable[..., Positions],
        model_size: int,
        feed_forward_size: int,
        heads: int,
        layers: int,
        dropout: float,
        attention_dropout: float,
        activation: Callable[[], nn.Module] = nn.GELU,
        pre_norm: bool = False,
        window: int | None = None,
    ) -> None:
        super().__init__()
        text = spec.text("text")
        self.bert = Bert(
            text=text,
            longest=text.maximum_length,
            attention=attention,
            positions=positions,
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            layers=layers,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            pre_norm=pre_norm,
            window=window,
        )
        self.head = MaskedHead(self.bert.tokens, activation)
        asks = isinstance(spec.fields.get("follows"), LabelSpec)
        self.follows = Linear(model_size, SEGMENTS) if asks else None
        if self.follows is not None:
            begin(self.follows)

    @property
    def output(self) -> nn.Linear:
        """See the class."""
        return self.head.output

    def forward(self, text: Padded, segments: Tensor, places: Tensor, *, weights: bool = False) -> Pretrained:
        """Reads texts with masked tokens.

        Args:
            text: `(B, T)` ids.
            segments: `(B, T)`.
            places: `(M,)`, where the masked tokens stand in the flattened ids: row x T + column.
            weights: whether to return the attention weights of all layers.
        """
        encoded = self.bert(text, segments, weights=weights)
        masked = self.head(encoded.features.flatten(0, 1)[places])
        follows = None if self.follows is None else self.follows(encoded.pooled)
        return Pretrained(masked, follows, encoded.weights)


def joined(left: Padded, right: Padded, pad: int) -> tuple[Padded, Tensor]:
    """`CLS a SEP` and `CLS b SEP` as one sequence `CLS a SEP b SEP`.

    Returns:
        The sequences `(B, T)`, and their segments: 1 of b and what stands behind it.
    """
    lengths = left.lengths + right.lengths - 1
    size = left.ids.shape[1] + right.ids.shape[1] - 1
    place = torch.arange(size, device=lengths.device).expand(len(lengths), -1)
    of_right = place - left.lengths[:, None]
    first = left.ids.gather(1, place.clamp(max=left.ids.shape[1] - 1))
    second = right.ids.gather(1, (of_right + 1).clamp(0, right.ids.shape[1] - 1))
    ids = torch.where(of_right < 0, first, second).where(real_positions(lengths, size), pad)
    return Padded(ids, lengths), (of_right >= 0).long()


def begin(network: nn.Module) -> None:
    """Gives weights the values that they begin with, and layer normalisation its epsilon."""
    for part in network.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=_DEVIATION)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            nn.init.zeros_(part.weight[part.padding_idx].detach())
        if isinstance(part, Learned):
            nn.init.normal_(part.vectors, std=_DEVIATION)
        if isinstance(part, nn.LayerNorm):
            part.eps = _EPSILON
