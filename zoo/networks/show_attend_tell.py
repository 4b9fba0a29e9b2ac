"""Show, Attend and Tell: image captions with visual attention (Xu et al. 2015).

An encoder turns an image into L annotation vectors `a = {a_1, ..., a_L}` of D features, a grid of places; a
decoder writes the caption one word at a time (section 3.1):

- `AttentiveDecoder`: the paper's LSTM, which attends to the annotations before each word;
- `MeanDecoder`: its control without attention, which gets the mean of all annotations;
- `GridTransformer`: the decoder of Vaswani et al. 2017 over the same grid.

Shapes: B images, W hypotheses of each (1 in training), T words, L = h w places (row by row), D features of an
annotation, m embedding size, n hidden size, V vocabulary.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn

from zoo.attention import Attended, Memory, join_readings
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.decoding import Step
from zoo.kernels import Dropout, Linear, RepeatedLinear
from zoo.kernels.precision import autocast_dtype
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.decoded import Decoded, sum_over_layers
from zoo.networks.encoders import ImageEncoder
from zoo.networks.positions import Positions
from zoo.networks.seq2seq import AttentionParts
from zoo.networks.transformer import LayerState, Settings, TransformerDecoder
from zoo.runtime.compiling import compilable


class Sizes(NamedTuple):
    """The sizes of a decoder.

    Attributes:
        annotation_size: D.
        embedding_size: m.
        hidden_size: n.
        dropout: probability with which training zeroes a feature.
        places: L.
        longest: words of the longest caption, T at most.
    """

    annotation_size: int
    embedding_size: int
    hidden_size: int
    dropout: float
    places: int
    longest: int


class Stepped(NamedTuple):
    """One step: features `(B, W, F)`, the new state, and weights `(B, W, L)` or None without attention."""

    features: Tensor
    state: Any
    weights: Tensor | None


class CaptionDecoder(nn.Module, ABC):
    """The base of all decoders; `feature_size` is F, `query_size` the size of the attention's queries."""

    feature_size: int
    query_size: int

    @abstractmethod
    def prepare(self, annotations: Tensor) -> Any:
        """Computes everything that depends on annotations `(B, L, D)` alone."""

    @abstractmethod
    def init_state(self, source: Any) -> Any:
        """The state before the first word, W = 1."""

    @abstractmethod
    def step(self, embedded: Tensor, state: Any, source: Any) -> Stepped:
        """Advances by embedded words `(B, W, m)`."""

    @abstractmethod
    def forward(self, embedded: Tensor, source: Any) -> Decoded:
        """Decodes a whole caption `(B, T, m)`: the same as T steps."""


class Source(NamedTuple):
    """The LSTM's view of an image.

    Attributes:
        mean: `(B, D)`, of its annotations.
        memory: the prepared annotations; None without attention.
    """

    mean: Tensor
    memory: Memory | None


class LstmState(NamedTuple):
    """The state of the LSTM, all `(B, W, ...)`.

    Attributes:
        hidden: h, `(B, W, n)`.
        cell: c, `(B, W, n)`.
        selection: the attention's own state; None where it has none.
    """

    hidden: Tensor
    cell: Tensor
    selection: Tensor | None


class LstmDecoder(CaptionDecoder):
    """The LSTM of section 3.1.2; subclasses compute the context.

        c_0 = tanh(f_init,c(1/L Σ_i a_i)),  h_0 = tanh(f_init,h(1/L Σ_i a_i))
        β_t = σ(f_β(h_{t-1})),  z_t = β_t φ(a, h_{t-1})                              (section 4.2.1)
        (i_t, f_t, o_t, g_t) = (σ, σ, σ, tanh)(T [E y_{t-1}; h_{t-1}; z_t])          (eq. 1)
        c_t = f_t c_{t-1} + i_t g_t                                                  (eq. 2)
        h_t = o_t tanh(c_t)                                                          (eq. 3)
        features = E y_{t-1} + L_h h_t + L_z z_t                                     (eq. 7)

    Subclasses define φ; L_o of equation 7 is the network's output layer. In `forward` the products that do
    not depend on the state (the words' parts of T and of equation 7) and those that no step needs (the rest
    of equation 7) run once for all words. The paper does not say where it applies dropout; here it acts on
    the words and on the features.
    """

    def __init__(self, *, sizes: Sizes) -> None:
        super().__init__()
        D, m, n = sizes.annotation_size, sizes.embedding_size, sizes.hidden_size
        self.feature_size, self.query_size = m, n
        self.f_init_c, self.f_init_h = Linear(D, n), Linear(D, n)
        self.T_y, self.T_hz = Linear(m, 4 * n), Linear(n + D, 4 * n, bias=False)
        self.f_beta = Linear(n, 1)
        self.L_h, self.L_z = Linear(n, m), Linear(D, m, bias=False)
        self.dropout = Dropout(sizes.dropout)

    @abstractmethod
    def read(self, hidden: Tensor, source: Source, state: Tensor | None) -> Attended:
        """φ: the context of states `(B, W, n)`."""

    def prepare(self, annotations: Tensor) -> Source:
        """See `CaptionDecoder`."""
        return Source(annotations.mean(1), None)

    def init_state(self, source: Source) -> LstmState:
        """See `CaptionDecoder`."""
        mean = source.mean.unsqueeze(1)
        return LstmState(self.f_init_h(mean).tanh(), self.f_init_c(mean).tanh(), None)

    def step(self, embedded: Tensor, state: LstmState, source: Source) -> Stepped:
        """See `CaptionDecoder`."""
        embedded = self.dropout(embedded)
        new, context, read = self._advance(self.T_y(embedded), state, source, self.T_hz)
        features = self.dropout(self._deep_output(embedded, new.hidden, context))
        return Stepped(features, new, read.weights)

    def forward(self, embedded: Tensor, source: Source) -> Decoded:
        """See `CaptionDecoder`."""
        embedded = self.dropout(embedded)
        states, contexts, readings = [self.init_state(source)], [], []
        T_hz, of_words = RepeatedLinear(self.T_hz.weight), self.T_y(embedded)
        for of_word in of_words.split(1, 1):
            state, context, read = self._advance(of_word, states[-1], source, T_hz)
            states.append(state)
            contexts.append(context)
            readings.append(read)
        hidden = torch.cat([state.hidden for state in states], 1)
        features = self.dropout(self._deep_output(embedded, hidden[:, 1:], torch.cat(contexts, 1)))
        decoded = _decoded(features, hidden[:, :-1], readings)
        if decoded.log_prob is None:
            return decoded
        soft_features = partial(self._soft_features, embedded, of_words, states[:-1], source, decoded)
        return decoded._replace(soft_features=soft_features)

    def _advance(
        self, of_word: Tensor, state: LstmState, source: Source, T_hz: Callable[[Tensor], Tensor]
    ) -> tuple[LstmState, Tensor, Attended]:
        """The new state, the gated context `(B, W, D)` and the reading, from the word's part `(B, W, 4n)`."""
        context, read = self._look(state, source)
        gates = of_word + T_hz(torch.cat([state.hidden, context], -1))
        hidden, cell = self._update(gates, state.cell)
        return LstmState(hidden, cell, read.state), context, read

    @compilable
    def _look(self, state: LstmState, source: Source) -> tuple[Tensor, Attended]:
        """The gated context z_t `(B, W, D)`, and the reading."""
        read = self.read(state.hidden, source, state.selection)
        return self.f_beta(state.hidden).sigmoid() * read.context, read

    @compilable
    def _update(self, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """h_t and c_t `(B, W, n)`, from `(B, W, 4n)` before σ and tanh of equation 1, and c_{t-1}."""
        i, f, o, g = gates.chunk(4, -1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        return o.sigmoid() * cell.tanh(), cell

    def _deep_output(self, embedded: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        features: Tensor = embedded + self.L_h(hidden) + self.L_z(context)
        return features

    @torch.no_grad()
    def _soft_features(
        self,
        embedded: Tensor,
        of_words: Tensor,
        states: list[LstmState],
        source: Source,
        decoded: Decoded,
    ) -> Tensor:
        """See `Decoded`; for all words at once, since each starts from the state of the sampled pass.

        Args:
            embedded: `(B, T, m)`, the words.
            of_words: `(B, T, 4n)`, their parts of equation 1.
            states: the T states before each word.
            source: the image.
            decoded: the sampled pass, whose queries are h_{t-1}.
        """
        hidden, alpha = decoded.queries, cast(Tensor, decoded.probabilities)
        values = cast(Memory, source.memory).values
        context = self.f_beta(hidden).sigmoid() * (alpha.to(values.dtype) @ values)
        gates = of_words + self.T_hz(torch.cat([hidden, context], -1))
        cells = torch.cat([state.cell for state in states], 1)
        features = self._deep_output(embedded, self._update(gates, cells)[0], context)
        # The same features are dropped as in the sampled pass; few others are 0 (in bfloat16).
        if self.dropout.training and self.dropout.p:
            features = torch.where(decoded.features == 0, 0.0, features) / (1 - self.dropout.p)
        return features


class AttentiveDecoder(LstmDecoder):
    """Attends before each word: φ is the weighted sum of annotations (section 4).

    Args:
        sizes: the layers.
        attention: `{score, selection}`; the paper's are `Additive` with `Soft` or `Hard`.

    Attributes:
        reads_softly: True: it supports `Decoded.soft_features`.
    """

    reads_softly: ClassVar[bool] = True

    def __init__(self, *, sizes: Sizes, attention: Mapping[str, Callable[..., nn.Module]]) -> None:
        super().__init__(sizes=sizes)
        parts = AttentionParts(**attention)  # type: ignore[arg-type]  # the config check knows the types
        self.attention = parts.build(
            query_size=sizes.hidden_size, key_size=sizes.annotation_size, longest=sizes.places
        )

    def prepare(self, annotations: Tensor) -> Source:
        """See `CaptionDecoder`; projects the annotations once."""
        return Source(annotations.mean(1), self.attention.prepare(annotations))

    def init_state(self, source: Source) -> LstmState:
        """See `CaptionDecoder`."""
        selection = self.attention.init_state(cast(Memory, source.memory))
        return super().init_state(source)._replace(selection=selection)

    def read(self, hidden: Tensor, source: Source, state: Tensor | None) -> Attended:
        """See `LstmDecoder`."""
        attended: Attended = self.attention(hidden, cast(Memory, source.memory), state)
        return attended


class MeanDecoder(LstmDecoder):
    """No attention: φ is always the mean of the annotations."""

    def read(self, hidden: Tensor, source: Source, state: Tensor | None) -> Attended:
        """See `LstmDecoder`."""
        return Attended(source.mean.unsqueeze(1).expand(-1, hidden.shape[1], -1), None)


class GridTransformer(CaptionDecoder):
    """The decoder of Vaswani et al. 2017 with the annotations as its memory; `zoo.networks.transformer`.

    Weights are the last layer's, averaged over its heads.

    Args:
        sizes: n is the model size, and m as well; dropout is that of every sublayer.
        attention: `{score, selection}`; the score of every attention, the selection of the one to the image.
        positions: the position encoding, completed here with the size.
        layers: number of layers.
        heads: h.
        feed_forward_size: d_ff.
        attention_dropout: of attention weights.
        activation_dropout: inside the feed-forward networks.
        activation: of the feed-forward networks.
        pre_norm: normalises the input of a sublayer instead of its output.

    Raises:
        ValueError: a size is below 1, m and n differ, or a dropout is not in [0, 1).
    """

    def __init__(
        self,
        *,
        sizes: Sizes,
        attention: Mapping[str, Callable[..., nn.Module]],
        positions: Callable[..., Positions],
        layers: int,
        heads: int,
        feed_forward_size: int,
        attention_dropout: float,
        activation_dropout: float,
        activation: Callable[[], nn.Module],
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(layers=layers, heads=heads, feed_forward_size=feed_forward_size)
        check_dropouts(attention_dropout=attention_dropout, activation_dropout=activation_dropout)
        if sizes.embedding_size != sizes.hidden_size:
            raise ValueError(
                "embedding_size must equal hidden_size, since a Transformer adds the outputs of its layers "
                f"to embeddings; got {sizes.embedding_size} and {sizes.hidden_size}"
            )
        self.feature_size = self.query_size = sizes.hidden_size
        self.positions, self.dropout = positions(size=sizes.hidden_size), Dropout(sizes.dropout)
        settings = Settings(
            model_size=sizes.hidden_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            score=attention["score"],  # type: ignore[arg-type]  # the config check knows the type
            selection=attention["selection"],  # type: ignore[arg-type]
            head_key_size=None,
            head_value_size=None,
            rotary=self.positions.rotary,
            window=None,
            activation=activation,
            dropout=sizes.dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            pre_norm=pre_norm,
            longest=sizes.longest,
            longest_memory=sizes.places,
        )
        self.stack = TransformerDecoder(settings, layers=layers, memory_size=sizes.annotation_size)

    def prepare(self, annotations: Tensor) -> list[Memory]:
        """See `CaptionDecoder`; projects the annotations for each layer."""
        return self.stack.prepare(annotations)

    def init_state(self, source: list[Memory]) -> list[LayerState]:
        """See `CaptionDecoder`."""
        return self.stack.init_state(source[0].values, source)

    def step(self, embedded: Tensor, state: list[LayerState], source: list[Memory]) -> Stepped:
        """See `CaptionDecoder`."""
        written = state[0].cache.values.shape[-2]
        embedded = self._positioned(embedded.unsqueeze(-2), written).squeeze(-2)
        features, state, read = self.stack.step(embedded, state, source)
        return Stepped(features, state, _mean(cast(Attended, read[-1]).weights))

    def forward(self, embedded: Tensor, source: list[Memory]) -> Decoded:
        """See `CaptionDecoder`."""
        features, queries, _, read = self.stack(self._positioned(embedded, 0), source, weights=True)
        last = read[-1]
        return Decoded(
            features,
            queries,
            _mean(last.weights),
            sum_over_layers(layer.log_prob for layer in read),
            sum_over_layers(layer.entropy for layer in read),
            _mean(last.probabilities),
        )

    def _positioned(self, embedded: Tensor, first: int) -> Tensor:
        scaled = embedded * self.query_size**0.5
        positioned: Tensor = self.dropout(self.positions(scaled, first))
        return positioned


class ShowAttendTell(nn.Module):
    """Encoder, decoder and embeddings: images to features of words, log-probabilities and weights.

    Args:
        spec: the images and the captions' vocabulary.
        encoder: makes the annotations, completed here with the number of channels.
        decoder: one of the three decoders, completed here with sizes.
        embedding_size: m.
        hidden_size: n.
        dropout: see the decoders.

    Raises:
        ValueError: a size is below 1, the dropout is not in [0, 1), the data has no captions or no images, or
            the score has fewer positions than the grid.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        encoder: Callable[..., ImageEncoder],
        decoder: Callable[..., CaptionDecoder],
        embedding_size: int,
        hidden_size: int,
        dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, hidden_size=hidden_size)
        check_dropouts(dropout=dropout)
        image, target = spec.image(), spec.text("target")
        self.encoder = encoder(channels=image.channels)
        height, width = self.encoder.grid_size(image.height, image.width)
        sizes = Sizes(
            annotation_size=self.encoder.feature_size,
            embedding_size=embedding_size,
            hidden_size=hidden_size,
            dropout=dropout,
            places=height * width,
            longest=target.maximum_length,
        )
        self.decoder = decoder(sizes=sizes)
        self.query_size = self.decoder.query_size
        self.E = nn.Embedding(target.size, embedding_size, padding_idx=target.pad)
        self.project = nn.Identity()  # tasks ask for `output(project(features))`
        self.output = Linear(self.decoder.feature_size, target.size)  # L_o
        # With unit variance (torch's default) the words would dominate equation 7.
        nn.init.normal_(self.E.weight, std=embedding_size**-0.5)

    def annotate(self, images: Tensor) -> Tensor:
        """The grid `(B, D, h, w)` of images `(B, C, H, W)` in [0, 1]."""
        grid: Tensor = self.encoder(images)
        return grid

    def encode(self, grid: Tensor) -> Any:
        """Prepares a grid `(B, D, h, w)`, row by row, for the decoder."""
        # Cast once: autocast would do so at every word.
        precision = autocast_dtype(grid.device.type) or self.output.weight.dtype
        annotations = grid.to(precision).flatten(2).mT.contiguous()
        return self.decoder.prepare(annotations)

    def init_state(self, memory: Any) -> Any:
        """The state before the first word, W = 1."""
        return self.decoder.init_state(memory)

    def step(self, tokens: Tensor, state: Any, memory: Any) -> Step:
        """One decoding step of `(B, W)` words."""
        stepped: Stepped = self.decoder.step(self.E(tokens), state, memory)
        log_probs = self.logits(stepped.features).float().log_softmax(-1)
        return Step(log_probs, stepped.state, stepped.weights)

    def decode(self, memory: Any, inputs: Padded) -> Decoded:
        """Teacher-forced over the inputs `(B, T)`: equal to T steps."""
        decoded: Decoded = self.decoder(self.E(inputs.ids), memory)
        return decoded

    def forward(self, images: Tensor, inputs: Padded) -> Decoded:
        """Encodes images `(B, C, H, W)` and decodes with the inputs `(B, T)`."""
        return self.decode(self.encode(self.annotate(images)), inputs)

    def logits(self, features: Tensor) -> Tensor:
        """Scores of the vocabulary, `(..., V)`."""
        scores: Tensor = self.output(self.project(features))
        return scores


def _decoded(features: Tensor, queries: Tensor, readings: list[Attended]) -> Decoded:
    """The pass over T words from T readings of one query each."""
    if readings[0].weights is None:
        return Decoded(features, queries)
    read = join_readings(readings)
    return Decoded(features, queries, read.weights, read.log_prob, read.entropy, read.probabilities)


def _mean(weights: Tensor | None) -> Tensor | None:
    """`(B, h, Q, L)` averaged over heads."""
    return None if weights is None else weights.mean(1)
