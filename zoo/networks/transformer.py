"""The Transformer (Vaswani et al. 2017).

An encoder of N layers turns the source into annotations; a decoder of N layers attends to them and to the
tokens that it has written. Both stacks work alone: the encoder on any sequence of vectors, the decoder over
any memory (a sentence, the grid of a picture), or without one as a language model.

Shapes: B sentences, W hypotheses of each, K source and T target positions, D model size, h heads.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from zoo.attention import Attended, Memory, MultiHeadAttention, Score, Selection, SelfAttention, Soft
from zoo.attention.multi_head import prepare_all
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.decoding import Step
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.decoded import Decoded, both_sides, sum_over_layers
from zoo.networks.positions import Positions
from zoo.runtime.compiling import compilable


class Settings(NamedTuple):
    """The settings of all layers.

    Attributes:
        model_size: d_model, D.
        feed_forward_size: d_ff, hidden units of the feed-forward networks.
        heads: h.
        score: of every attention.
        selection: of the attention to the memory; self-attention is soft.
        head_key_size: d_k; None: D / h.
        head_value_size: d_v; None: D / h.
        rotary: rotates the queries and keys of self-attention; None: no rotation.
        window: positions to either side that self-attention reads; None: all.
        activation: of the feed-forward networks.
        dropout: of every sublayer's output (section 5.4).
        attention_dropout: of attention weights.
        activation_dropout: inside the feed-forward networks.
        pre_norm: normalises the input of a sublayer instead of its output.
        longest: the most positions of the sequence, for scores with weights for each; None: unknown.
        longest_memory: the most positions of the memory; likewise.
    """

    model_size: int
    feed_forward_size: int
    heads: int
    score: Callable[..., Score]
    selection: Callable[..., Selection]
    head_key_size: int | None
    head_value_size: int | None
    rotary: Callable[..., nn.Module] | None
    window: int | None
    activation: Callable[[], nn.Module]
    dropout: float
    attention_dropout: float
    activation_dropout: float
    pre_norm: bool
    longest: int | None = None
    longest_memory: int | None = None

    def self_attention(self, *, causal: bool) -> SelfAttention:
        """Attention of a sequence to itself."""
        attention = self._attention(selection=Soft, rotary=self.rotary, longest=self.longest)
        return SelfAttention(attention=attention, causal=causal, window=self.window)

    def memory_attention(self, memory_size: int) -> MultiHeadAttention:
        """Attention to a memory with `memory_size` features."""
        return self._attention(selection=self.selection, key_size=memory_size, longest=self.longest_memory)

    def _attention(self, **others: object) -> MultiHeadAttention:
        return MultiHeadAttention(
            query_size=self.model_size,
            heads=self.heads,
            head_key_size=self.head_key_size,
            head_value_size=self.head_value_size,
            score=self.score,
            dropout=self.attention_dropout,
            **others,  # type: ignore[arg-type]
        )


class Residual(nn.Module):
    """The connection around a sublayer: `LayerNorm(x + Dropout(Sublayer(x)))` (sections 3.1 and 5.4).

    With `pre_norm` it is `x + Dropout(Sublayer(LayerNorm(x)))` (Xiong et al. 2020), which trains deep stacks
    without a warm-up.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(settings.model_size), Dropout(settings.dropout)
        self.pre_norm = settings.pre_norm

    def enter(self, x: Tensor) -> Tensor:
        """The input of the sublayer."""
        entered: Tensor = self.norm(x) if self.pre_norm else x
        return entered

    def leave(self, x: Tensor, output: Tensor) -> Tensor:
        """The output of the connection, from its input and the sublayer's output."""
        total: Tensor = x + self.dropout(output)
        return total if self.pre_norm else self.norm(total)


class FeedForward(nn.Sequential):
    """`FFN(x) = max(0, x W_1 + b_1) W_2 + b_2` at each position (section 3.3)."""

    def __init__(self, settings: Settings) -> None:
        inner, outer = settings.feed_forward_size, settings.model_size
        W_1, W_2 = Linear(outer, inner), Linear(inner, outer)
        for layer in (W_1, W_2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        activation = settings.activation()
        _check_activation(activation, torch.zeros(2, 3, inner))
        super().__init__(W_1, activation, Dropout(settings.activation_dropout), W_2)


def _check_activation(activation: nn.Module, hidden: Tensor) -> None:
    name = type(activation).__name__
    try:
        with warnings.catch_warnings(action="error"):  # torch warns where it has to guess an axis
            shape = activation(hidden).shape
    except Exception as error:  # from any wrong setting
        raise ValueError(f"activation={name} cannot be applied: {error}") from error
    if shape != hidden.shape:
        raise ValueError(f"activation={name} must leave {tuple(hidden.shape)} as it is, made {tuple(shape)}")


class EncoderLayer(nn.Module):
    """Self-attention, or `mixer` in its place, then a feed-forward network (section 3.1)."""

    def __init__(self, settings: Settings, mixer: nn.Module | None = None) -> None:
        super().__init__()
        self.self_attention = settings.self_attention(causal=False) if mixer is None else mixer
        self.residual_1 = Residual(settings)
        self.feed_forward, self.residual_2 = FeedForward(settings), Residual(settings)

    @compilable
    def forward(self, x: Tensor, keep_mask: Tensor | None, *, weights: bool) -> tuple[Tensor, Tensor | None]:
        """`(B, N, D)` to the same, and weights `(B, h, N, N)` where asked for."""
        attended = self.self_attention(self.residual_1.enter(x), keep_mask, weights=weights)
        x = self.residual_1.leave(x, attended.context)
        x = self.residual_2.leave(x, self.feed_forward(self.residual_2.enter(x)))
        return x, attended.weights if weights else None


class TransformerEncoder(nn.Module):
    """N layers over a sequence of vectors.

    Args:
        settings: of the layers.
        layers: N.
        mixer: makes what stands in the place of self-attention (`zoo.networks.sequence_layers`).
    """

    def __init__(
        self, settings: Settings, *, layers: int, mixer: Callable[..., nn.Module] | None = None
    ) -> None:
        super().__init__()
        mixers = (mixer and mixer(settings=settings, number=number) for number in range(layers))
        self.layers = nn.ModuleList(EncoderLayer(settings, one) for one in mixers)
        # With `pre_norm` the sum of all sublayers is not normalised yet.
        self.norm = nn.LayerNorm(settings.model_size) if settings.pre_norm else nn.Identity()

    def forward(
        self, inputs: Tensor, keep_mask: Tensor | None = None, *, weights: bool = False
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Encodes `(B, N, D)`; positions in `keep_mask (B, N)` may be attended to.

        Returns:
            Annotations `(B, N, D)`, and each layer's weights `(B, h, N, N)` or None.
        """
        maps = []
        for layer in self.layers:
            inputs, read = layer(inputs, keep_mask, weights=weights)
            maps.append(read)
        return self.norm(inputs), maps


class LayerState(NamedTuple):
    """The state of a decoder's layer, all `(B, W, ...)`.

    Attributes:
        cache: keys and values of the written tokens, `(B, W, h, T, ...)`.
        selection: `(B, W, h)`, the state of the attention to the memory (positions of local attention); None
            where it has none.
    """

    cache: Memory
    selection: Tensor | None


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to a memory, a feed-forward network (section 3.1).

    Args:
        settings: of the layer.
        memory_size: features of the memory; None: no memory and no attention to it.
    """

    def __init__(self, settings: Settings, *, memory_size: int | None) -> None:
        super().__init__()
        self.self_attention, self.residual_1 = settings.self_attention(causal=True), Residual(settings)
        if memory_size is not None:
            self.memory_attention = settings.memory_attention(memory_size)
            self.residual_2 = Residual(settings)
        self.feed_forward, self.residual_3 = FeedForward(settings), Residual(settings)

    def init_state(self, like: Tensor, memory: Memory | None) -> LayerState:
        """The state before the first token, W = 1, for inputs like `(B, 1, D)`."""
        cache = self.self_attention.init_memory(like.unsqueeze(-2))
        return LayerState(cache, None if memory is None else self.memory_attention.init_state(memory))

    def step(
        self, x: Tensor, state: LayerState, memory: Memory | None, *, weights: bool
    ) -> tuple[Tensor, LayerState, Attended | None]:
        """Appends a position `(B, W, D)` to every hypothesis; also returns its reading of the memory."""
        # Each hypothesis attends to itself alone: W is a leading axis here, and the query axis below.
        own, cache = self.self_attention.step(self.residual_1.enter(x).unsqueeze(-2), state.cache)
        x = self.residual_1.leave(x, own.context.squeeze(-2))
        x, attended = self._read(x, memory, state.selection, weights=weights)
        return x, LayerState(cache, None if attended is None else attended.state), attended

    @compilable
    def forward(
        self, x: Tensor, memory: Memory | None, *, weights: bool
    ) -> tuple[Tensor, Tensor, Tensor | None, Attended | None]:
        """A whole target `(B, T, D)`: the same as T steps.

        Returns:
            The output, the queries of the memory `(B, T, D)`, weights `(B, h, T, T)` of the self-attention
            or None, and the reading of the memory.
        """
        own = self.self_attention(self.residual_1.enter(x), weights=weights)
        query = self.residual_1.leave(x, own.context)
        x, attended = self._read(query, memory, None, weights=weights)
        return x, query, own.weights if weights else None, attended

    def _read(
        self, x: Tensor, memory: Memory | None, state: Tensor | None, *, weights: bool
    ) -> tuple[Tensor, Attended | None]:
        """The two sublayers behind self-attention."""
        attended = None
        if memory is not None:
            attended = self.memory_attention(self.residual_2.enter(x), memory, state, weights=weights)
            x = self.residual_2.leave(x, attended.context)
        return self.residual_3.leave(x, self.feed_forward(self.residual_3.enter(x))), attended


class StackRead(NamedTuple):
    """The output of a decoder stack for T positions.

    Attributes:
        features: `(B, T, D)`.
        queries: `(B, T, D)` of the first layer's attention to the memory.
        own: each layer's weights `(B, h, T, T)` over the target itself, or None.
        read: each layer's reading of the memory; None without one.
    """

    features: Tensor
    queries: Tensor
    own: list[Tensor | None]
    read: list[Attended | None]


class TransformerDecoder(nn.Module):
    """N layers that write a sequence, each position seeing those before it and a memory.

    Args:
        settings: of the layers.
        layers: N.
        memory_size: features of the memory; None: no memory (a language model).
    """

    def __init__(self, settings: Settings, *, layers: int, memory_size: int | None) -> None:
        super().__init__()
        self.model_size, self.memory_size = settings.model_size, memory_size
        self.layers = nn.ModuleList(DecoderLayer(settings, memory_size=memory_size) for _ in range(layers))
        self.norm = nn.LayerNorm(settings.model_size) if settings.pre_norm else nn.Identity()

    @compilable
    def prepare(self, annotations: Tensor, keep_mask: Tensor | None = None) -> list[Memory]:
        """Projects annotations `(B, K, memory_size)` for each layer; `keep_mask (B, K)` may be read."""
        attentions = [cast(DecoderLayer, layer).memory_attention for layer in self.layers]
        return prepare_all(attentions, annotations, None if keep_mask is None else keep_mask.unsqueeze(-2))

    def init_state(self, like: Tensor, memories: Sequence[Memory] = ()) -> list[LayerState]:
        """The state before the first position, W = 1.

        Args:
            like: `(B, ...)`, sets number of sentences, dtype and device.
            memories: from `prepare`.
        """
        empty = like.new_zeros(len(like), 1, self.model_size)
        return [layer.init_state(empty, memory) for layer, memory in self._with(memories)]

    def step(
        self, inputs: Tensor, state: Sequence[LayerState], memories: Sequence[Memory] = ()
    ) -> tuple[Tensor, list[LayerState], list[Attended | None]]:
        """Appends a position `(B, W, D)`; returns features, state and readings, the last with weights."""
        states, read = [], []
        for (layer, memory), own in zip(self._with(memories), state, strict=True):
            inputs, own, attended = layer.step(inputs, own, memory, weights=layer is self.layers[-1])
            states.append(own)
            read.append(attended)
        return self.norm(inputs), states, read

    def forward(self, inputs: Tensor, memories: Sequence[Memory] = (), *, weights: bool = False) -> StackRead:
        """Reads a whole target `(B, T, D)`: the same as T steps."""
        queries, own, read = [], [], []
        for layer, memory in self._with(memories):
            inputs, query, own_weights, attended = layer(inputs, memory, weights=weights)
            queries.append(query)
            own.append(own_weights)
            read.append(attended)
        return StackRead(self.norm(inputs), queries[0], own, read)

    def _with(self, memories: Sequence[Memory]) -> list[tuple[DecoderLayer, Memory | None]]:
        """Each layer with its memory.

        Raises:
            ValueError: if there are memories for another number of layers.
        """
        layers = [cast(DecoderLayer, layer) for layer in self.layers]
        expected = 0 if self.memory_size is None else len(layers)
        if len(memories) != expected:
            raise ValueError(
                f"this decoder reads {expected} memories (`prepare` makes them), given {len(memories)}"
            )
        return [(layer, memories[n] if memories else None) for n, layer in enumerate(layers)]


class Transformer(nn.Module):
    """Encoder, decoder and embeddings: translates padded ids into features, log-probabilities and weights.

    Embeddings are multiplied with sqrt(D) and share their matrix with the output where `tie_embeddings`
    (section 3.4). The paper leaves the initialisation open: matrices start as in Glorot & Bengio 2010
    (uniform), biases at zero.

    Args:
        spec: the data's vocabularies.
        attention: `{score, selection}`; the score of every attention, the selection of the one to the source.
        positions: the position encoding, completed here with the size.
        model_size: d_model, D.
        feed_forward_size: d_ff.
        heads: h.
        encoder_layers: N of the encoder.
        decoder_layers: N of the decoder.
        dropout: of every sublayer's output and of the sums of embeddings and positions (P_drop).
        attention_dropout: of attention weights.
        activation_dropout: inside the feed-forward networks.
        activation: of the feed-forward networks.
        pre_norm: normalises the input of a sublayer instead of its output, as in the paper.
        window: positions to either side that self-attention reads (section 4); None: all.
        head_key_size: d_k; None: D / h.
        head_value_size: d_v; None: D / h.
        tie_embeddings: source, target and output share one matrix.
        layer: stands in the place of the encoder's self-attention (`zoo.networks.sequence_layers`).

    Raises:
        ValueError: if a size is below 1 or cannot be divided among the heads, a dropout is not in [0, 1), the
            activation changes shapes, the data has no text, or vocabularies cannot be shared.
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
        encoder_layers: int,
        decoder_layers: int,
        dropout: float,
        attention_dropout: float,
        activation_dropout: float,
        activation: Callable[[], nn.Module],
        pre_norm: bool = False,
        window: int | None = None,
        head_key_size: int | None = None,
        head_value_size: int | None = None,
        tie_embeddings: bool = False,
        layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        check_sizes(
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            encoder_layers=encoder_layers,
            decoder_layers=decoder_layers,
            head_key_size=head_key_size,
            head_value_size=head_value_size,
        )
        if (head_key_size is None or head_value_size is None) and model_size % heads:
            raise ValueError(f"model_size={model_size} cannot be divided among heads={heads}")
        check_dropouts(
            dropout=dropout, attention_dropout=attention_dropout, activation_dropout=activation_dropout
        )
        self.query_size = model_size
        source, target = both_sides(spec, tie_embeddings=tie_embeddings)
        self.embed_source = nn.Embedding(source.size, model_size, padding_idx=source.pad)
        self.embed_target = nn.Embedding(target.size, model_size, padding_idx=target.pad)
        self.source_positions, self.target_positions = positions(size=model_size), positions(size=model_size)
        settings = Settings(
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            score=attention["score"],  # type: ignore[arg-type]  # the config check knows the type
            selection=attention["selection"],  # type: ignore[arg-type]
            head_key_size=head_key_size,
            head_value_size=head_value_size,
            rotary=self.source_positions.rotary,
            window=window,
            activation=activation,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            pre_norm=pre_norm,
            longest=target.maximum_length,
            longest_memory=source.maximum_length,
        )
        of_source = settings._replace(longest=source.maximum_length)
        self.encoder = TransformerEncoder(of_source, layers=encoder_layers, mixer=layer)
        self.decoder = TransformerDecoder(settings, layers=decoder_layers, memory_size=model_size)
        self.dropout = Dropout(dropout)
        self.project = nn.Identity()  # tasks ask for `output(project(features))`
        self.output = Linear(model_size, target.size, bias=False)
        for matrix in (self.embed_source, self.embed_target, self.output):
            nn.init.normal_(matrix.weight, std=model_size**-0.5)
        if tie_embeddings:
            self.embed_source.weight = self.output.weight = self.embed_target.weight

    def encode(self, source: Padded) -> list[Memory]:
        """Encodes `(B, K)` ids into a memory for each layer of the decoder."""
        annotations, _ = self.encoder(self._embed_source(source.ids), source.keep_mask)
        return self.decoder.prepare(annotations, source.keep_mask)

    def init_state(self, memory: list[Memory]) -> list[LayerState]:
        """The state before the first token, W = 1."""
        return self.decoder.init_state(memory[0].values, memory)

    def step(self, tokens: Tensor, state: list[LayerState], memory: list[Memory]) -> Step:
        """One decoding step of `(B, W)` tokens; the weights are the last layer's, averaged over its heads."""
        written = state[0].cache.values.shape[-2]
        features, states, read = self.decoder.step(
            self._embed_target(tokens.unsqueeze(-1), written).squeeze(-2), state, memory
        )
        log_probs = self.logits(features).float().log_softmax(-1)
        weights = cast(Tensor, cast(Attended, read[-1]).weights)
        return Step(log_probs, states, weights.mean(1))

    def decode(self, memory: list[Memory], inputs: Padded) -> Decoded:
        """Teacher-forced over the inputs `(B, T)`: equal to T steps."""
        features, queries, _, read = self.decoder(self._embed_target(inputs.ids), memory)
        log_prob, entropy = (layer.log_prob for layer in read), (layer.entropy for layer in read)
        return Decoded(features, queries, None, sum_over_layers(log_prob), sum_over_layers(entropy))

    def forward(self, source: Padded, inputs: Padded) -> Decoded:
        """Encodes `(B, K)` ids and decodes with the inputs `(B, T)`."""
        return self.decode(self.encode(source), inputs)

    def logits(self, features: Tensor) -> Tensor:
        """Scores of the target vocabulary, `(..., V)`."""
        scores: Tensor = self.output(self.project(features))
        return scores

    def attention_maps(self, source: Padded, inputs: Padded) -> dict[str, list[Tensor]]:
        """The weights of every head of each layer while `inputs (B, T)` are decoded.

        Returns:
            `encoder (B, h, K, K)`, where it has attention, `decoder (B, h, T, T)` and `cross (B, h, T, K)`.
        """
        annotations, encoder = self.encoder(self._embed_source(source.ids), source.keep_mask, weights=True)
        memory = self.decoder.prepare(annotations, source.keep_mask)
        decoded = self.decoder(self._embed_target(inputs.ids), memory, weights=True)
        maps = {"encoder": encoder, "decoder": decoded.own, "cross": [read.weights for read in decoded.read]}
        return {kind: weights for kind, weights in maps.items() if weights[0] is not None}

    def _embed_source(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.source_positions(self._scaled(self.embed_source, ids)))
        return embedded

    def _embed_target(self, ids: Tensor, first: int = 0) -> Tensor:
        embedded: Tensor = self.dropout(self.target_positions(self._scaled(self.embed_target, ids), first))
        return embedded

    def _scaled(self, embedding: nn.Module, ids: Tensor) -> Tensor:
        return cast(Tensor, embedding(ids) * self.query_size**0.5)
