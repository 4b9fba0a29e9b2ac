"""Long short-term memory-network (Cheng et al. 2016): an LSTM whose memory is a tape of all its states.

An LSTM has one state and one cell. Here the hidden tape holds `h_1 ... h_{t-1}` and the memory tape
`c_1 ... c_{t-1}`, and attention reads from both what step t goes on from (section 3 of the paper):

    a_i = vᵀ tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1})     intra-attention
    s = softmax(a),  [h~_t; c~_t] = Σ_{i<t} s_i [h_i; c_i]
    [i; f; o; ĉ] = [σ; σ; σ; tanh] (W [h~_t; x_t] + b)
    c_t = f ⊙ c~_t + i ⊙ ĉ,  h_t = o ⊙ tanh(c_t)

It stands wherever a recurrent layer does: in a language model, as the reader of a classifier, and as the
encoder and decoder of a translator, which the paper calls shallow fusion (section 4): the decoder attends to
the source beside its own tape.

Shapes: N rows, T steps, M places of the tape, E input, H hidden size.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.attention import Memory
from zoo.kernels import Linear, linear
from zoo.networks.checks import check_sizes
from zoo.networks.past_attention import refuse_unfit
from zoo.networks.recurrent import Recurrent, State
from zoo.networks.seq2seq import AttentionParts


class LSTMN(Recurrent):
    """One layer; layers stack as those of an LSTM do, each with tapes of its own.

    A state is `(h_t (N, H), h~_t (N, H), tapes (N, M, 2H) of [h_i; c_i], real (N, M))`, zeros and False in
    places that hold nothing yet. Where the tapes are empty, `h~` and `c~` are zero.

    Where this leaves the paper: the query `W_x x_t + W_h~ h~_{t-1}` has H features, so that every score fits;
    `Additive` multiplies it by a matrix of its own, which is redundant and changes no function that it can
    express. Tapes may be limited. All parameters begin as those of torch's LSTM.

    Args:
        input_size: E.
        hidden_size: H.
        attention: `{score, selection}` of the tapes, completed here.
        tape: M, how many states are remembered, the newest; None: all, which no text of any length can be
            read with.

    Raises:
        ValueError: M is below 1, or score or selection count positions or sample.
    """

    parts: ClassVar[int] = 2  # type: ignore[misc]

    def __init__(
        self,
        *,
        input_size: int,
        hidden_size: int,
        attention: Mapping[str, Callable[..., nn.Module]],
        tape: int | None = None,
    ) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        check_sizes(tape=tape)
        self.tape = tape
        parts = AttentionParts(**attention)  # type: ignore[arg-type]  # the config check knows the types
        # A score that counts positions is refused below; a length lets it be built until then.
        self.attention = parts.build(query_size=hidden_size, key_size=hidden_size, longest=tape or 1)
        for part in (self.attention.score, self.attention.selection):
            refuse_unfit(part)
        self.gates_of_input = Linear(input_size, 4 * hidden_size)
        self.gates_of_read = Linear(hidden_size, 4 * hidden_size, bias=False)
        self.query_of_input = Linear(input_size, hidden_size, bias=False)
        self.query_of_read = Linear(hidden_size, hidden_size, bias=False)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def read(
        self, inputs: Tensor, state: State | None = None, added: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """See `Recurrent`; `added (N, T, H)` joins the cells of these steps, for deep fusion (section 4)."""
        outputs, new, _ = self._run(inputs, state, added)
        return outputs, new

    def step(self, inputs: Tensor, state: State) -> State:
        """See `Recurrent`."""
        return self._run(inputs[:, None], state)[1]

    def begun(self, vectors: State) -> State:
        """See `Recurrent`: `h` and `c` are the first entry of the tapes."""
        hidden, cell = vectors
        _, read, tapes, real = self.empty(hidden)
        tapes = torch.cat([tapes[..., 1:, :], torch.cat([hidden, cell], -1).unsqueeze(-2)], -2)
        return hidden, read, tapes, torch.cat([real[..., 1:], torch.ones_like(real[..., :1])], -1)

    def empty(self, like: Tensor) -> State:
        """See `Recurrent`; tapes without a limit begin with one place that holds nothing."""
        lead, places = like.shape[:-1], 1 if self.tape is None else self.tape
        zeros = like.new_zeros(*lead, self.hidden_size)
        tapes = like.new_zeros(*lead, places, 2 * self.hidden_size)
        return zeros, zeros, tapes, like.new_zeros(*lead, places, dtype=torch.bool)

    def attention_map(self, inputs: Tensor) -> Tensor:
        """The weights `(N, T, T)` with which each step of `(N, T, E)` reads the steps before it."""
        steps = inputs.shape[1]
        rows = []
        for step, weights in enumerate(self._run(inputs, None)[2]):
            newest = weights[:, 0, max(0, weights.shape[-1] - step) :]
            before = step - newest.shape[-1]  # steps that have left the tape
            rows.append(nn.functional.pad(newest, (before, steps - step)))
        return torch.stack(rows, 1)

    def _run(
        self, inputs: Tensor, state: State | None, added: Tensor | None = None
    ) -> tuple[Tensor, State, list[Tensor]]:
        """Outputs `(N, T, H)`, the state behind them, and each step's weights `(N, 1, M)`."""
        size = self.hidden_size
        queries = self.query_of_input(inputs).unbind(1)
        gates = self.gates_of_input(inputs).unbind(1)
        hidden, read, tapes, real = self.empty(inputs[:, 0]) if state is None else state
        tapes = tapes.to(gates[0].dtype)
        memory = self.attention.prepare(tapes[..., :size], tapes, real[:, None])
        # One product of h~_t serves the gates of this step and the query of the next.
        of_read = torch.cat([self.gates_of_read.weight, self.query_of_read.weight])
        asked, outputs, seen = self.query_of_read(read), [], []
        for step, (of_input, gate) in enumerate(zip(queries, gates, strict=True)):
            attended = self.attention((of_input + asked).unsqueeze(1), memory)
            read, cell = attended.context[:, 0].chunk(2, -1)
            from_read, asked = linear(read, of_read).split((4 * size, size), -1)
            opened, new = (gate + from_read).split((3 * size, size), -1)
            add, keep, show = opened.sigmoid().chunk(3, -1)
            cell = torch.addcmul(keep * cell, add, new.tanh())
            cell = cell if added is None else cell + added[:, step]
            hidden = show * cell.tanh()
            entry = torch.cat([hidden, cell], -1).unsqueeze(1)
            memory = self._newest(self.attention.extend(memory, hidden.unsqueeze(1), entry))
            outputs.append(hidden)
            seen.append(attended.weights)
        assert memory.keep_mask is not None
        state = (hidden, read, memory.values, memory.keep_mask[:, 0])
        return torch.stack(outputs, 1), state, seen

    def _newest(self, memory: Memory) -> Memory:
        """The memory without the places beyond the limit."""
        if self.tape is None:
            return memory
        first = memory.values.shape[-2] - self.tape
        assert memory.keep_mask is not None
        return Memory(
            memory.projected[..., first:, :], memory.values[..., first:, :], memory.keep_mask[..., first:]
        )
