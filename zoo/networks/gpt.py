"""GPT: the Transformer's decoder alone, as a language model (Radford et al. 2018 and 2019).

`h_0 = U W_e + W_p`, `h_l = block(h_{l-1})`, `P(u) = softmax(h_n W_e^T)` (2018, eq. 2): embeddings of tokens
and positions, N layers of masked self-attention and feed-forward networks, and an output that shares the
embeddings' matrix. GPT-2 normalises the input of each sublayer, and once more after the last layer (2019,
section 2.3); GPT-1 normalises outputs.

Shapes: B texts, W continuations of each, T tokens, D features, h heads, V vocabulary.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Soft
from zoo.core.spec import DataSpec
from zoo.decoding import Step
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.language_model import Modelled
from zoo.networks.positions import Positions, require_reach
from zoo.networks.transformer import DecoderLayer, LayerState, Settings, TransformerDecoder

_STD = 0.02
"""Of all matrices at the beginning (2018, section 4.1)."""


class GptState(NamedTuple):
    """What has been read, all `(B, W, ...)`.

    Attributes:
        ids: `(B, W, t)`, the tokens that the next step can see, at most `context`.
        layers: keys and values of these tokens; empty once there were more.
    """

    ids: Tensor
    layers: tuple[LayerState, ...]


class Gpt(nn.Module):
    """Predicts each token from those before it; see `zoo.networks.language_model.LanguageModel`.

    Text beyond the context is continued as its last `context` tokens: they are read anew for every further
    token, because each of them stands at another position then. A position may read the whole context, or a
    window of it.

    Matrices begin as normal numbers with a deviation of 0.02, those that end a residual branch with
    `0.02 / sqrt(2 N)` (2019, section 2.3: a block has two residual layers), biases at zero.
    Where this leaves the papers: the embeddings' and positions' dropout is that of the sublayers.

    Args:
        spec: the data, with the vocabulary of `text`.
        attention: `{score}` of every head.
        positions: the position encoding, completed here with the size.
        model_size: D.
        feed_forward_size: hidden units of the feed-forward networks.
        heads: h.
        layers: N.
        context: the most tokens that are read at once; None: as many as the data's windows have.
        dropout: of sublayers' outputs and of the sums of embeddings and positions.
        attention_dropout: of attention weights.
        activation_dropout: inside the feed-forward networks.
        activation: of the feed-forward networks.
        pre_norm: normalises the input of a sublayer, as GPT-2, instead of its output, as GPT-1.
        window: positions before its own that a position reads; None: all.
        tie_embeddings: embeddings and output share one matrix.
        slides: whether text beyond the context is continued; else it is refused.

    Raises:
        ValueError: a size is below 1 or cannot be divided among the heads, a dropout is not in [0, 1), the
            data's windows are longer than the context, or positions end before it.
    """

    carries = False

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
        context: int | None = None,
        dropout: float,
        attention_dropout: float,
        activation_dropout: float = 0.0,
        activation: Callable[[], nn.Module],
        pre_norm: bool = True,
        window: int | None = None,
        tie_embeddings: bool = True,
        slides: bool = True,
    ) -> None:
        super().__init__()
        check_sizes(
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            layers=layers,
            context=context,
        )
        check_dropouts(
            dropout=dropout, attention_dropout=attention_dropout, activation_dropout=activation_dropout
        )
        if model_size % heads:
            raise ValueError(f"model_size={model_size} cannot be divided among heads={heads}")
        text = spec.text("text")
        self.context: int = text.maximum_length if context is None else context
        if self.context < text.maximum_length:
            raise ValueError(
                f"context={context} tokens are read at once, but windows of the data have"
                f" {text.maximum_length}: shorten them (data.maximum_length), or leave context alone"
            )
        self.slides = slides
        self.embed = nn.Embedding(text.size, model_size)
        self.positions = positions(size=model_size)
        lower = "data.maximum_length" if context is None else "model.context"
        require_reach(self.positions, self.context, lower=lower)
        settings = Settings(
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            score=attention["score"],  # type: ignore[arg-type]  # the config check knows the type
            selection=Soft,
            head_key_size=None,
            head_value_size=None,
            rotary=self.positions.rotary,
            window=window,
            activation=activation,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            pre_norm=pre_norm,
            longest=self.context,
        )
        self.decoder = TransformerDecoder(settings, layers=layers, memory_size=None)
        self.dropout = Dropout(dropout)
        self.output = Linear(model_size, text.size, bias=False)
        self._initialise(layers)
        if tie_embeddings:
            self.output.weight = self.embed.weight

    def _initialise(self, layers: int) -> None:
        for part in self.modules():
            if isinstance(part, nn.Linear | nn.Embedding):
                nn.init.normal_(part.weight, std=_STD)
        for layer in self.decoder.layers:
            assert isinstance(layer, DecoderLayer)
            for last in (layer.self_attention.attention.W_O, layer.feed_forward[-1]):
                assert isinstance(last, nn.Linear)
                nn.init.normal_(last.weight, std=_STD / math.sqrt(2 * layers))
        for vectors in self.positions.parameters():
            nn.init.normal_(vectors, std=_STD)

    def forward(self, tokens: Tensor, state: object = None) -> Modelled:
        """Reads windows `(B, T)`, each for itself."""
        return Modelled(self.decoder(self._embed(tokens)).features)

    def attention_maps(self, tokens: Tensor) -> dict[str, list[Tensor]]:
        """The weights `(B, h, T, T)` of every head of each layer while it reads `(B, T)`."""
        return {"heads": self.decoder(self._embed(tokens), weights=True).own}

    def init_state(self, batch_size: int) -> GptState:
        """The state before the first token, W = 1."""
        ids = torch.empty(batch_size, 1, 0, dtype=torch.int64, device=self.embed.weight.device)
        like = self.embed.weight.new_empty(batch_size, 0)
        return GptState(ids, tuple(self.decoder.init_state(like)))

    def step(self, tokens: Tensor, state: GptState, memory: object = None) -> Step:
        """Reads one more token `(B, W)`; at most `context` tokens are seen.

        Raises:
            ValueError: the context ends here, and it does not slide.
        """
        before = state.ids.shape[-1]
        ids = torch.cat([state.ids[..., max(0, before + 1 - self.context) :], tokens.unsqueeze(-1)], -1)
        layers: tuple[LayerState, ...] = ()
        if before < self.context:
            embedded = self._embed(tokens.unsqueeze(-1), before).squeeze(-2)
            hidden, states, _ = self.decoder.step(embedded, state.layers)
            layers = tuple(states)
        elif self.slides:
            hidden = self(ids.flatten(0, 1)).hidden[:, -1].unflatten(0, tuple(tokens.shape))
        else:
            raise ValueError(
                f"the text is longer than the model's context of {self.context} tokens; with"
                " model.slides=true the last ones count"
            )
        return Step(self.output(hidden).float().log_softmax(-1), GptState(ids, layers))

    def _embed(self, ids: Tensor, first: int = 0) -> Tensor:
        embedded: Tensor = self.dropout(self.positions(self.embed(ids), first))
        return embedded
