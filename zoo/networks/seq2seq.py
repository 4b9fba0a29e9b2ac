"""Recurrent sequence-to-sequence networks: Sutskever 2014, Bahdanau 2015 and Luong 2015.

An encoder turns the source into annotations `h_1 ... h_K`; a decoder writes the target one token at a time.
The decoders differ in when they attend to the annotations:

- `FixedVectorDecoder`: never; it gets the encoder's final state alone (Sutskever et al. 2014);
- `BahdanauDecoder`: before each update, with the state `s_{t-1}` (Bahdanau et al. 2015, section 3.1);
- `LuongDecoder`: after each update, with the new state `h_t` (Luong et al. 2015, section 3).

Shapes: B sentences, W hypotheses of each (1 in training), K source and T target positions, E embedding,
H hidden size. Annotations have H features too, so every attention score fits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from zoo.attention import Attended, Attention, Memory, Score, Selection, covering, join_readings
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.decoding import Step
from zoo.kernels import Linear
from zoo.kernels.packed_recurrent import packing_pays
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.decoded import Decoded, both_sides
from zoo.networks.recurrent import Recurrent, RecurrentLayer, RecurrentStack, State
from zoo.runtime.compiling import compilable


class Source(NamedTuple):
    """The encoded source, prepared for its decoder.

    Attributes:
        summary: `(B, H)`, the encoder's final state.
        memory: the prepared annotations; None for the fixed-length vector.
    """

    summary: Tensor
    memory: Memory | None


class DecoderState(NamedTuple):
    """The state of a decoder, all `(B, W, ...)`.

    Attributes:
        layers: each recurrent layer's state.
        feed: `(B, W, H)`, the previous attentional vector (input feeding); None without.
        selection: `(B, W)`, the attention's own state (positions of local attention); None without.
    """

    layers: tuple[State, ...]
    feed: Tensor | None = None
    selection: Tensor | None = None


class Stepped(NamedTuple):
    """One step: features `(B, W, F)`, the new state, and weights `(B, W, K)` or None without attention."""

    features: Tensor
    state: DecoderState
    weights: Tensor | None = None


class AttentionParts(NamedTuple):
    """The two exchangeable parts of an attention, to be completed with their sizes."""

    score: Callable[..., Score]
    selection: Callable[..., Selection]

    def build(self, *, query_size: int, key_size: int, longest: int | None = None) -> Attention:
        """An attention for queries and keys of these sizes, with at most `longest` keys (None: unknown)."""
        score = covering(self.score, longest)(query_size=query_size, key_size=key_size)
        return Attention(score=score, selection=self.selection(query_size=query_size))


def reverse(inputs: Tensor, lengths: Tensor) -> Tensor:
    """Reverses the real part of each row of `(B, T, ...)`; the padding stays in its place."""
    position = torch.arange(inputs.shape[1], device=inputs.device)
    index = torch.where(position < lengths[:, None], lengths[:, None] - 1 - position, position)
    return inputs.gather(1, index.view(*index.shape, *[1] * (inputs.ndim - 2)).expand_as(inputs))


class Sizes(NamedTuple):
    """The sizes of encoder and decoder.

    Attributes:
        recurrent: `GRU` or `LSTM`.
        embedding_size: E.
        hidden_size: H, of annotations and decoder states.
        layers: number of layers.
        dropout: between layers and on the features.
        longest: tokens of the longest source.
    """

    recurrent: RecurrentLayer
    embedding_size: int
    hidden_size: int
    layers: int
    dropout: float
    longest: int


class Encoder(nn.Module):
    """Reads in both directions: `h_j = [forward_j; backward_j]` (Bahdanau et al. 2015, section 3.2).

    The backward layer runs forward over reversed rows: so padding comes after the words in both directions,
    and torch's packing is not needed, which is slower on a CPU.

    Args:
        sizes: the layers; H is divided among the directions.
        bidirectional: False reads left to right only.
        reverse_source: reads the source from its end (Sutskever et al. 2014, section 3.3); annotations keep
            the order of the words.
        skips_padding: where much is padding, computes nothing for it (`zoo.kernels.packed_recurrent`); the
            last digits of results differ.

    Raises:
        ValueError: if H cannot be divided.
    """

    def __init__(
        self, *, sizes: Sizes, bidirectional: bool, reverse_source: bool, skips_padding: bool = False
    ) -> None:
        super().__init__()
        directions, hidden_size = 2 if bidirectional else 1, sizes.hidden_size
        if hidden_size % directions:
            raise ValueError(f"hidden_size={hidden_size} cannot be divided among {directions} directions")
        self.layers = nn.ModuleList(
            nn.ModuleList(
                sizes.recurrent(input_size=size, hidden_size=hidden_size // directions)
                for _ in range(directions)
            )
            for size in [sizes.embedding_size] + [hidden_size] * (sizes.layers - 1)
        )
        self.dropout = nn.Dropout(sizes.dropout)
        # The order in which each direction reads: True = from the end.
        self.from_end = [reverse_source, not reverse_source][:directions]
        self.skips_padding = skips_padding

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encodes `(B, K, E)` into annotations `(B, K, H)` and the top layer's final states `(B, H)`."""
        packs, final = self.skips_padding and packing_pays(embedded, lengths), embedded
        for number, layer in enumerate(self.layers):
            directions = cast(Sequence[Recurrent], layer)
            inputs = self.dropout(embedded) if number else embedded
            if packs and (packed := type(directions[0]).packed) is not None:
                weights = [direction.weights for direction in directions]
                embedded, final = packed(inputs, lengths, weights, self.from_end)
            else:
                embedded, final = self._padded(directions, inputs, lengths)
        return embedded, final

    def _padded(
        self, directions: Sequence[Recurrent], inputs: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Reads padding as well, behind the words."""
        last = (lengths - 1)[:, None, None]
        outputs, finals = [], []
        for direction, from_end in zip(directions, self.from_end, strict=True):
            read = direction(reverse(inputs, lengths) if from_end else inputs)
            finals.append(read.gather(1, last.expand(-1, -1, read.shape[-1]))[:, 0])
            outputs.append(reverse(read, lengths) if from_end else read)
        return torch.cat(outputs, -1), torch.cat(finals, -1)


class Decoder(nn.Module, ABC):
    """The base of all decoders; `feature_size` is F.

    Args:
        sizes: the layers.
        input_size: features of each recurrent input.
    """

    feature_size: int

    def __init__(self, *, sizes: Sizes, input_size: int) -> None:
        super().__init__()
        self.stack = RecurrentStack(
            recurrent=sizes.recurrent,
            input_size=input_size,
            hidden_size=sizes.hidden_size,
            layers=sizes.layers,
            dropout=sizes.dropout,
        )
        self.bridge = Linear(sizes.hidden_size, sizes.layers * self.stack.parts * sizes.hidden_size)
        self.dropout = nn.Dropout(sizes.dropout)

    def prepare(self, annotations: Tensor, summary: Tensor, keep_mask: Tensor) -> Source:
        """Computes everything that does not depend on the decoder's state; `keep_mask (B, K)`."""
        return Source(summary, None)

    def init_state(self, source: Source) -> DecoderState:
        """The first state: `s_0 = tanh(W_s h)` for every layer (Bahdanau et al. 2015, A.2.2).

        The paper uses only the backward half of `h`; both halves work for Luong's decoder as well.
        """
        start = self.bridge(source.summary).tanh()
        vectors = start.unflatten(-1, (-1, self.stack.parts, self.stack.hidden_size))
        return DecoderState(self.stack.begun(vectors))

    @abstractmethod
    def step(self, embedded: Tensor, state: DecoderState, source: Source) -> Stepped:
        """Advances by embedded tokens `(B, W, E)`."""

    @abstractmethod
    def forward(self, embedded: Tensor, source: Source) -> Decoded:
        """Decodes a whole target `(B, T, E)`: the same as T steps."""


class FixedVectorDecoder(Decoder):
    """No attention: the source is one fixed-length vector (Sutskever et al. 2014, section 2)."""

    def __init__(self, *, sizes: Sizes) -> None:
        super().__init__(sizes=sizes, input_size=sizes.embedding_size)
        self.feature_size = sizes.hidden_size

    def step(self, embedded: Tensor, state: DecoderState, source: Source) -> Stepped:
        """See `Decoder`."""
        layers = self.stack.step(embedded, state.layers)
        return Stepped(self.dropout(layers[-1][0]), DecoderState(layers))

    def forward(self, embedded: Tensor, source: Source) -> Decoded:
        """See `Decoder`."""
        hidden = self.stack(embedded, self.init_state(source).layers)
        return Decoded(self.dropout(hidden), hidden)


class AttentionDecoder(Decoder):
    """A decoder with `attention: {score, selection}` to the annotations, completed here with sizes."""

    def __init__(
        self, *, sizes: Sizes, input_size: int, attention: Mapping[str, Callable[..., nn.Module]]
    ) -> None:
        super().__init__(sizes=sizes, input_size=input_size)
        parts = AttentionParts(**attention)  # type: ignore[arg-type]  # the config check knows the types
        self.attention = parts.build(
            query_size=sizes.hidden_size, key_size=sizes.hidden_size, longest=sizes.longest
        )

    def prepare(self, annotations: Tensor, summary: Tensor, keep_mask: Tensor) -> Source:
        """See `Decoder`; projects the keys once."""
        return Source(summary, self.attention.prepare(annotations, keep_mask=keep_mask[:, None]))

    def init_state(self, source: Source) -> DecoderState:
        """See `Decoder`."""
        selection = self.attention.init_state(cast(Memory, source.memory))
        return super().init_state(source)._replace(selection=selection)

    def read(self, hidden: Tensor, source: Source, state: Tensor | None) -> Attended:
        """Attends with states `(B, W, H)`."""
        attended: Attended = self.attention(hidden, cast(Memory, source.memory), state)
        return attended


class BahdanauDecoder(AttentionDecoder):
    """Attends before the update: `c_t` from `s_{t-1}`, then `s_t = f([E y_{t-1}; c_t], s_{t-1})`.

    The output is the deep maxout layer of A.2.2, `t~ = U_o s_t + V_o E y_{t-1} + C_o c_t`, then the larger of
    each two neighbours. The appendix writes `s_{i-1}` there, equation 4 of the paper `g(y_{i-1}, s_i, c_i)`;
    this is equation 4.

    Args:
        sizes: the layers; the top one attends.
        attention: `{score, selection}`.
    """

    def __init__(self, *, sizes: Sizes, attention: Mapping[str, Callable[..., nn.Module]]) -> None:
        hidden_size, embedding_size = sizes.hidden_size, sizes.embedding_size
        super().__init__(sizes=sizes, input_size=embedding_size + hidden_size, attention=attention)
        self.readout = Linear(2 * hidden_size + embedding_size, 2 * embedding_size)
        self.feature_size = embedding_size

    @compilable
    def _advance(
        self, embedded: Tensor, state: DecoderState, source: Source
    ) -> tuple[DecoderState, Attended]:
        attended = self.read(state.layers[-1][0], source, state.selection)
        layers = self.stack.step(torch.cat([embedded, attended.context], -1), state.layers)
        return DecoderState(layers, None, attended.state), attended

    def _features(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        deep = self.readout(torch.cat([hidden, embedded, context], -1))
        features: Tensor = self.dropout(deep.unflatten(-1, (-1, 2)).amax(-1))
        return features

    def step(self, embedded: Tensor, state: DecoderState, source: Source) -> Stepped:
        """See `Decoder`."""
        state, attended = self._advance(embedded, state, source)
        features = self._features(state.layers[-1][0], embedded, attended.context)
        return Stepped(features, state, attended.weights)

    def forward(self, embedded: Tensor, source: Source) -> Decoded:
        """See `Decoder`; no step needs the output layer, so it comes after the loop, in one product."""
        states, readings = [self.init_state(source)], []
        for token in embedded.split(1, 1):
            state, attended = self._advance(token, states[-1], source)
            states.append(state)
            readings.append(attended)
        read, hidden = join_readings(readings), [state.layers[-1][0] for state in states]
        features = self._features(torch.cat(hidden[1:], 1), embedded, read.context)
        return Decoded(features, torch.cat(hidden[:-1], 1), read.weights, read.log_prob, read.entropy)


class LuongDecoder(AttentionDecoder):
    """Attends after the update: `h_t`, then `c_t` from `h_t`, then `h~_t = tanh(W_c [c_t; h_t])` (eq. 5).

    Differences from the paper: its decoder starts from the encoder's final states, layer by layer, this one
    from a learned map of the top layer's (`init_state`; a bidirectional encoder has no state of the decoder's
    size). Dropout, which the paper applies to its LSTMs "as suggested by Zaremba et al. 2015", acts as there
    on connections between layers, never on recurrent ones: on embeddings, between layers and on `h~_t`, both
    to the output and to the next input; the score gets `h_t` and the annotations without dropout. `W_c` and
    the output have biases. With `reverse_source` annotations keep the order of the words, so local attention
    and the location score always count words from the front.

    Args:
        sizes: the layers; the top one attends.
        attention: `{score, selection}`.
        input_feeding: `h~_{t-1}` joins the next input (section 3.3). Without it no step depends on the
            reading before it, so the whole target attends in one call.
    """

    def __init__(
        self, *, sizes: Sizes, attention: Mapping[str, Callable[..., nn.Module]], input_feeding: bool
    ) -> None:
        hidden_size = sizes.hidden_size
        fed = hidden_size if input_feeding else 0
        super().__init__(sizes=sizes, input_size=sizes.embedding_size + fed, attention=attention)
        self.input_feeding = input_feeding
        self.combine = Linear(2 * hidden_size, hidden_size)
        self.feature_size = hidden_size

    def init_state(self, source: Source) -> DecoderState:
        """See `Decoder`; before the first reading, zeros are fed."""
        state = super().init_state(source)
        return state._replace(feed=torch.zeros_like(state.layers[-1][0]) if self.input_feeding else None)

    def _attentional(self, context: Tensor, hidden: Tensor) -> Tensor:
        features: Tensor = self.dropout(self.combine(torch.cat([context, hidden], -1)).tanh())
        return features

    @compilable
    def _advance(
        self, embedded: Tensor, state: DecoderState, source: Source
    ) -> tuple[Tensor, DecoderState, Attended]:
        inputs = embedded if state.feed is None else torch.cat([embedded, state.feed], -1)
        layers = self.stack.step(inputs, state.layers)
        attended = self.read(layers[-1][0], source, state.selection)
        features = self._attentional(attended.context, layers[-1][0])
        feed = features if self.input_feeding else None
        return features, DecoderState(layers, feed, attended.state), attended

    @compilable
    def _read_all(self, hidden: Tensor, source: Source) -> tuple[Tensor, Attended]:
        """The attentional vectors of all states `(B, T, H)` at once, and the readings."""
        read = self.read(hidden, source, None)
        return self._attentional(read.context, hidden), read

    def step(self, embedded: Tensor, state: DecoderState, source: Source) -> Stepped:
        """See `Decoder`."""
        features, state, attended = self._advance(embedded, state, source)
        return Stepped(features, state, attended.weights)

    def forward(self, embedded: Tensor, source: Source) -> Decoded:
        """See `Decoder`."""
        state = self.init_state(source)
        if self.input_feeding:
            vectors, hidden, readings = [], [], []
            for token in embedded.split(1, 1):
                vector, state, attended = self._advance(token, state, source)
                vectors.append(vector)
                hidden.append(state.layers[-1][0])
                readings.append(attended)
            features, queries, read = torch.cat(vectors, 1), torch.cat(hidden, 1), join_readings(readings)
        else:
            queries = self.stack(embedded, state.layers)
            features, read = self._read_all(queries, source)
        return Decoded(features, queries, read.weights, read.log_prob, read.entropy)


class Seq2Seq(nn.Module):
    """Encoder, decoder and embeddings: translates padded ids into features, log-probabilities and weights.

    Args:
        spec: the data's vocabularies.
        decoder: one of the three decoders, completed here with sizes.
        recurrent: `GRU` or `LSTM`.
        embedding_size: E.
        hidden_size: H, of annotations and decoder states.
        layers: number of layers on both sides.
        dropout: on embeddings, between layers and on the features.
        bidirectional: the encoder reads in both directions.
        reverse_source: the encoder reads from the source's end.
        tie_embeddings: source, target and output share one matrix (Press & Wolf 2017); features of another
            size are projected to E first.

    Raises:
        ValueError: if a size is below 1, the dropout is not in [0, 1), the data has no text, or the
            vocabularies cannot be shared.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        decoder: Callable[..., Decoder],
        recurrent: RecurrentLayer,
        embedding_size: int,
        hidden_size: int,
        layers: int,
        dropout: float,
        bidirectional: bool = True,
        reverse_source: bool = False,
        tie_embeddings: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, hidden_size=hidden_size, layers=layers)
        check_dropouts(dropout=dropout)
        source, target = both_sides(spec, tie_embeddings=tie_embeddings)
        self.query_size = hidden_size
        self.embed_source = nn.Embedding(source.size, embedding_size, padding_idx=source.pad)
        self.embed_target = nn.Embedding(target.size, embedding_size, padding_idx=target.pad)
        sizes = Sizes(recurrent, embedding_size, hidden_size, layers, dropout, source.maximum_length)
        self.encoder = Encoder(sizes=sizes, bidirectional=bidirectional, reverse_source=reverse_source)
        self.decoder = decoder(sizes=sizes)
        self.dropout = nn.Dropout(dropout)
        self.project: nn.Module = nn.Identity()
        feature_size = self.decoder.feature_size
        if tie_embeddings and feature_size != embedding_size:
            self.project, feature_size = Linear(feature_size, embedding_size, bias=False), embedding_size
        self.output = Linear(feature_size, target.size)
        for embedding in (self.embed_source, self.embed_target):
            # Embeddings of unit variance (torch's default) would make tied logits far too large.
            nn.init.normal_(embedding.weight, std=embedding_size**-0.5)
        if tie_embeddings:
            self.embed_source.weight = self.output.weight = self.embed_target.weight

    def encode(self, source: Padded) -> Source:
        """Encodes `(B, K)` ids."""
        embedded = self.dropout(self.embed_source(source.ids))
        annotations, summary = self.encoder(embedded, source.lengths)
        prepared: Source = self.decoder.prepare(annotations, summary, source.keep_mask)
        return prepared

    def init_state(self, memory: Source) -> DecoderState:
        """The state before the first token, W = 1."""
        state: DecoderState = self.decoder.init_state(memory)
        return state

    def step(self, tokens: Tensor, state: DecoderState, memory: Source) -> Step:
        """One decoding step of `(B, W)` tokens."""
        stepped: Stepped = self.decoder.step(self.dropout(self.embed_target(tokens)), state, memory)
        log_probs = self.logits(stepped.features).float().log_softmax(-1)
        return Step(log_probs, stepped.state, stepped.weights)

    def decode(self, memory: Source, inputs: Padded) -> Decoded:
        """Teacher-forced over the inputs `(B, T)`: equal to T steps."""
        decoded: Decoded = self.decoder(self.dropout(self.embed_target(inputs.ids)), memory)
        return decoded

    def forward(self, source: Padded, inputs: Padded) -> Decoded:
        """Encodes `(B, K)` ids and decodes with the inputs `(B, T)`."""
        return self.decode(self.encode(source), inputs)

    def logits(self, features: Tensor) -> Tensor:
        """Scores of the target vocabulary, `(..., V)`."""
        scores: Tensor = self.output(self.project(features))
        return scores
