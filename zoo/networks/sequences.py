"""An LSTM and a Transformer that answer sequences of bit vectors: the controls of `zoo.networks.ntm`.

Shapes: B sequences, T steps, C input and O output channels, D hidden size.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Score, Selection, Soft, causal_mask
from zoo.core.spec import DataSpec, VectorSpec
from zoo.kernels import Linear
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.positions import Positions
from zoo.networks.seq2seq import AttentionParts
from zoo.networks.transformer import Settings, TransformerDecoder


class Trace(NamedTuple):
    """What the heads did, as figure 6 shows it.

    Attributes:
        read_weights: `(B, T, R, N)`.
        write_weights: `(B, T, W, N)`; W = 0 where nothing is written.
        over_steps: whether the N are the T steps of the sequence, or places of a memory.
    """

    read_weights: Tensor
    write_weights: Tensor
    over_steps: bool = False


class Answer(NamedTuple):
    """What a network answers.

    Attributes:
        logits: `(B, T, O)`, log-odds of each bit.
        trace: None of a network that attends to nothing.
    """

    logits: Tensor
    trace: Trace | None = None


class LateAnswer(NamedTuple):
    """An `Answer` whose trace is computed where it is asked for: fused attention keeps no weights.

    Attributes:
        logits: see there.
        find_trace: computes the trace.
    """

    logits: Tensor
    find_trace: Callable[[], Trace]

    @property
    def trace(self) -> Trace:
        """See `Answer`; to be asked for once."""
        return self.find_trace()


class SequenceLSTM(nn.Module):
    """The control of section 4: LSTM layers alone.

    With an `attention` the answer depends also on what it read from the states of its own past, the step
    itself included: `[h_t; c_t]`, as in Luong et al. 2015 without input feeding.

    Args:
        spec: the widths of `inputs` and `targets`.
        hidden_size: D.
        layers: number of layers.
        attention: score and selection, completed here; None: no attention.

    Raises:
        ValueError: a size is below 1, or the data has other fields.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        hidden_size: int,
        layers: int,
        attention: Mapping[str, Callable[..., Score] | Callable[..., Selection]] | None = None,
    ) -> None:
        super().__init__()
        check_sizes(hidden_size=hidden_size, layers=layers)
        channels, outputs = widths(spec)
        self.lstm = nn.LSTM(channels, hidden_size, layers, batch_first=True)
        self.attention = None
        if attention is not None:
            parts = AttentionParts(**attention)  # type: ignore[arg-type]
            self.attention = parts.build(query_size=hidden_size, key_size=hidden_size)
        self.output = Linear(hidden_size * (1 if attention is None else 2), outputs)

    def forward(self, inputs: Tensor) -> Answer:
        """Reads `inputs (B, T, C)`; the answer to a step depends on no later one."""
        states, _ = self.lstm(inputs)
        if self.attention is None:
            return Answer(self.output(states))
        steps = states.shape[1]
        memory = self.attention.prepare(states, None, causal_mask(steps, steps, device=states.device))
        read = self.attention(states, memory)
        return Answer(
            self.output(torch.cat([states, read.context], -1)), _of_reads(read.weights.unsqueeze(1))
        )


class SequenceTransformer(nn.Module):
    """A Transformer in which every step sees those before it (Vaswani et al. 2017, without an encoder).

    Args:
        spec: the widths of `inputs` and `targets`.
        attention: the score of every attention; completed here.
        positions: completed here.
        hidden_size: D.
        feed_forward_size: hidden units of the feed-forward networks.
        heads: h.
        layers: number of layers.
        dropout: of every sublayer's output.

    Raises:
        ValueError: a size is below 1, the dropout is no probability below 1, or the data has other fields.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        attention: Mapping[str, Callable[..., Score]],
        positions: Callable[..., Positions],
        hidden_size: int,
        feed_forward_size: int,
        heads: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(hidden_size=hidden_size, feed_forward_size=feed_forward_size, heads=heads, layers=layers)
        check_dropouts(dropout=dropout)
        channels, outputs = widths(spec)
        self.positions = positions(size=hidden_size)
        settings = Settings(
            model_size=hidden_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            score=attention["score"],
            selection=Soft,
            head_key_size=None,
            head_value_size=None,
            rotary=self.positions.rotary,
            window=None,
            activation=nn.ReLU,
            dropout=dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            pre_norm=True,
        )
        self.enter = Linear(channels, hidden_size)
        self.stack = TransformerDecoder(settings, layers=layers, memory_size=None)
        self.output = Linear(hidden_size, outputs)

    def forward(self, inputs: Tensor) -> LateAnswer:
        """See `SequenceLSTM`. The read heads are those of the first layer, then those of the next ones."""
        entered = self.positions(self.enter(inputs))

        def trace() -> Trace:
            own = self.stack(entered, weights=True).own
            return _of_reads(torch.cat([weights for weights in own if weights is not None], 1))

        return LateAnswer(self.output(self.stack(entered).features), trace)


def _of_reads(weights: Tensor) -> Trace:
    """The trace of heads that read all steps by weights `(B, R, T, T)`."""
    reads = weights.transpose(1, 2)
    return Trace(reads, reads[:, :, :0], over_steps=True)


def widths(spec: DataSpec) -> tuple[int, int]:
    """C and O of the data.

    Raises:
        ValueError: the data has no `inputs` or no `targets`.
    """
    sizes = []
    for name in ("inputs", "targets"):
        if not isinstance(field := spec.fields.get(name), VectorSpec):
            raise ValueError(f"the data {spec.name} has no bit vectors {name!r}; take data=copy_bits")
        sizes.append(field.size)
    return sizes[0], sizes[1]
