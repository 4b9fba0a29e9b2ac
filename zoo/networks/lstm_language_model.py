"""A recurrent language model (Zaremba et al. 2014), with or without attention to its own past states.

`x_t = E w_t`, `h_t = LSTM(x_t, h_{t-1})`, `P(w_{t+1}) = softmax(W_o h_t)`: the model of section 3 of the
paper, with dropout on the connections between layers and never from a step to the next (section 3.2). Output
and embeddings may share one matrix (Press & Wolf 2017). With `memory` the output sees `tanh(W_c [c_t; h_t])`
in place of `h_t`, where `c_t` is read from the states before t.

Shapes: B texts, W continuations of each, T tokens of a window, E embedding, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from zoo.core.spec import DataSpec
from zoo.decoding import Step
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.language_model import Modelled, step_by_window
from zoo.networks.lstmn import LSTMN
from zoo.networks.past_attention import Past, PastAttention
from zoo.networks.recurrent import RecurrentLayer, RecurrentStack, State


class LSTMState(NamedTuple):
    """What has been read; zeros before the first token.

    Attributes:
        layers: each layer's state, tensors `(B, H)`.
        past: the states that attention remembers; an empty tuple without attention.
    """

    layers: tuple[State, ...]
    past: Past | tuple[()] = ()


class LSTMLanguageModel(nn.Module):
    """Predicts each token from those before it; see `zoo.networks.language_model.LanguageModel`.

    Where this leaves the paper: embeddings and output begin uniform in ±0.1 and the output's bias at zero,
    recurrent layers as torch begins them; with `memory`, attention reads states that dropout did not touch.

    Args:
        spec: the data, with the vocabulary of `text`.
        recurrent: `LSTM` or another layer, completed here.
        memory: attention to the past states, completed here with the size; None: without.
        embedding_size: E.
        hidden_size: H.
        layers: number of recurrent layers.
        dropout: on embeddings, between layers and on the features.
        tie_embeddings: embeddings and output share one matrix; features of another size than E are projected.

    Raises:
        ValueError: a size is below 1, the dropout is not in [0, 1), the memory cannot read a past, or the
            tape of an LSTMN has no limit.
    """

    carries = True
    context: int | None = None

    def __init__(
        self,
        *,
        spec: DataSpec,
        recurrent: RecurrentLayer,
        memory: Callable[..., PastAttention] | None,
        embedding_size: int,
        hidden_size: int,
        layers: int,
        dropout: float,
        tie_embeddings: bool = True,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, hidden_size=hidden_size, layers=layers)
        check_dropouts(dropout=dropout)
        text = spec.text("text")
        self.embed = nn.Embedding(text.size, embedding_size)
        self.stack = RecurrentStack(
            recurrent=recurrent,
            input_size=embedding_size,
            hidden_size=hidden_size,
            layers=layers,
            dropout=dropout,
        )
        if any(isinstance(layer, LSTMN) and layer.tape is None for layer in self.stack.layers):
            raise ValueError(
                "recurrent.tape=null remembers every state, and running text has no end: give a number"
            )
        self.memory = None if memory is None else memory(size=hidden_size)
        self.dropout = Dropout(dropout)
        self.project: nn.Module = nn.Identity()
        if tie_embeddings and hidden_size != embedding_size:
            self.project = Linear(hidden_size, embedding_size, bias=False)
        self.output: nn.Linear = Linear(embedding_size if tie_embeddings else hidden_size, text.size)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        nn.init.uniform_(self.output.weight, -0.1, 0.1)
        nn.init.zeros_(self.output.bias)
        if tie_embeddings:
            self.output.weight = self.embed.weight

    def forward(self, tokens: Tensor, state: LSTMState | None = None) -> Modelled:
        """Reads windows `(B, T)` on from a state."""
        embedded = self.dropout(self.embed(tokens))
        hidden, layers = self.stack.read(embedded, None if state is None else state.layers)
        past: Past | tuple[()] = ()
        if self.memory is not None:
            before = state.past if state is not None else self.memory.init_state(hidden[:, 0])
            assert isinstance(before, Past)
            hidden, past = self.memory(hidden, before)
        return Modelled(self.project(self.dropout(hidden)), LSTMState(layers, past))

    def attention_maps(self, tokens: Tensor) -> dict[str, list[Tensor]]:
        """The weights `(B, 1, T, T)` with which each step of windows `(B, T)` reads the steps before it.

        Returns:
            `past` of attention to past states, and `tape` of each LSTMN; nothing where nothing attends.
        """
        maps: dict[str, list[Tensor]] = {}
        inputs = self.dropout(self.embed(tokens))
        for layer in self.stack.layers:
            if isinstance(layer, LSTMN):
                maps.setdefault("tape", []).append(layer.attention_map(inputs)[:, None])
            inputs = layer(inputs)
        if self.memory is not None:
            read, _ = self.memory.read(inputs, self.memory.init_state(inputs[:, 0]))
            assert read.weights is not None
            maps["past"] = [read.weights[:, None, :, self.memory.length :]]
        return maps

    def init_state(self, batch_size: int) -> LSTMState:
        """The state before the first token, W = 1."""
        zeros = self.embed.weight.new_zeros(batch_size, 1, self.stack.hidden_size)
        past = () if self.memory is None else self.memory.init_state(zeros)
        return LSTMState(self.stack.empty(zeros), past)

    def step(self, tokens: Tensor, state: LSTMState, memory: object = None) -> Step:
        """Reads one more token `(B, W)`."""
        return step_by_window(self, tokens, state)
