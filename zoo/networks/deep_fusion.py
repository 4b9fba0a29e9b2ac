"""Deep fusion: a decoder of LSTMN whose memory takes in what it reads of the source (Cheng et al. 2016).

Section 4 of the paper, "Deep Attention Fusion", with `γ_j` the source's annotations and `α_j` its cells:

    b_j = uᵀ tanh(W_γ γ_j + W_x x_t + W_γ~ γ~_{t-1})     inter-attention
    p = softmax(b),  [γ~_t; α~_t] = Σ_j p_j [γ_j; α_j]
    r_t = σ(W_r [γ~_t; x_t])
    c_t = r_t ⊙ α~_t + f_t ⊙ c~_t + i_t ⊙ ĉ_t,  h_t = o_t ⊙ tanh(c_t)

`c~`, the gates `i, f, o` and `ĉ` are those of `zoo.networks.lstmn`. (Shallow fusion is Bahdanau's or Luong's
decoder with `LSTMN` as its recurrent layer.)

Shapes: B sentences, W hypotheses of each, T target positions, H hidden size.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from zoo.attention import Attended, join_readings
from zoo.kernels import Linear
from zoo.networks.decoded import Decoded
from zoo.networks.lstmn import LSTMN
from zoo.networks.recurrent import State
from zoo.networks.seq2seq import AttentionDecoder, DecoderState, Sizes, Source, Stepped


class DeepFusionDecoder(AttentionDecoder):
    """Layers of LSTMN, the top one of which adds what it reads of the source to its memory.

    What is read of the source depends on the inputs and on earlier readings, never on the tapes. So a target
    first reads the source, and then its own past.

    These are the equations of the authors' program, too, whose gate r has a bias, as here.

    Where this leaves the paper: an encoder of any kind serves, in both directions, which has annotations and
    no cells of their size. `α~_t = W_α γ~_t` replaces them: the same as cells `α_j = W_α γ_j`. The
    query `W_x x_t + W_γ~ γ~_{t-1}` has H features, so that every score fits.

    Args:
        sizes: the layers; their kind is the encoder's, here it is LSTMN.
        attention: `{score, selection}` of the source.
        own: `{score, selection}` of the tapes.
        tape: how many states are remembered; None: all.
    """

    def __init__(
        self,
        *,
        sizes: Sizes,
        attention: Mapping[str, Callable[..., nn.Module]],
        own: Mapping[str, Callable[..., nn.Module]],
        tape: int | None = None,
    ) -> None:
        layers = sizes._replace(recurrent=partial(LSTMN, attention=own, tape=tape))
        super().__init__(sizes=layers, input_size=sizes.embedding_size, attention=attention)
        size = self.feature_size = sizes.hidden_size
        fused = sizes.embedding_size if sizes.layers == 1 else size
        self.query_of_input = Linear(fused, size, bias=False)
        self.query_of_read = Linear(size, size, bias=False)
        self.gate = Linear(size + fused, size)
        self.cells = Linear(size, size, bias=False)

    def init_state(self, source: Source) -> DecoderState:
        """See `Decoder`; before the first reading, γ~ is zero."""
        state = super().init_state(source)
        return state._replace(feed=torch.zeros_like(state.layers[-1][0]))

    def step(self, embedded: Tensor, state: DecoderState, source: Source) -> Stepped:
        """See `Decoder`."""
        hidden, _, state, (attended,) = self._run(embedded.unsqueeze(2), state, source)
        return Stepped(hidden[:, :, 0], state, attended.weights)

    def forward(self, embedded: Tensor, source: Source) -> Decoded:
        """See `Decoder`."""
        hidden, queries, _, readings = self._run(embedded.unsqueeze(1), self.init_state(source), source)
        read = join_readings(readings)
        return Decoded(hidden[:, 0], queries[:, 0], read.weights, read.log_prob, read.entropy)

    def _run(
        self, inputs: Tensor, state: DecoderState, source: Source
    ) -> tuple[Tensor, Tensor, DecoderState, list[Attended]]:
        """Reads `(B, W, T, E)`: features and queries `(B, W, T, H)`, the new state and T readings."""
        lead, layers = inputs.shape[:2], []
        *lower, top = (cast(LSTMN, layer) for layer in self.stack.layers)
        inputs = inputs.flatten(0, 1)
        states = [tuple(part.flatten(0, 1) for part in layer) for layer in state.layers]
        for layer, before in zip(lower, states[:-1], strict=True):
            outputs, after = layer.read(inputs, before)
            inputs = self.dropout(outputs)
            layers.append(after)
        asked = self.query_of_input(inputs).unflatten(0, lead).unbind(2)
        assert state.feed is not None
        read, selection, queries, readings = state.feed, state.selection, [], []
        for of_input in asked:
            queries.append(of_input + self.query_of_read(read))
            attended = self.read(queries[-1], source, selection)
            read, selection = attended.context, attended.state
            readings.append(attended)
        gamma = torch.stack([one.context for one in readings], 2).flatten(0, 1)
        fused = self.gate(torch.cat([gamma, inputs], -1)).sigmoid() * self.cells(gamma)
        hidden, after = top.read(inputs, states[-1], fused)
        layers.append(after)
        new: tuple[State, ...] = tuple(tuple(part.unflatten(0, lead) for part in layer) for layer in layers)
        features = self.dropout(hidden).unflatten(0, lead)
        return features, torch.stack(queries, 2), DecoderState(new, read, selection), readings
