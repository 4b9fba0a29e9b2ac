"""Multi-head attention: h small attentions side by side, for every score and every selection."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from zoo.attention.attention import Attention, check_queries, check_values, checked_mask
from zoo.attention.fused import can_fuse, fused_context, is_short, short_context
from zoo.attention.memory import Attended, Memory
from zoo.attention.rotary import Rotary
from zoo.attention.scores import ScaledDot, Score, covering
from zoo.attention.selections import Selection, Soft
from zoo.attention.shield import nan_queries, propagate_nan, shield, sums_up
from zoo.kernels import Linear, as_factor, linear, split_heads
from zoo.kernels.transforms import transformed
from zoo.kernels.unchanged import unchanged


class MultiHeadAttention(nn.Module):
    """`MultiHead(Q, K, V) = Concat(head_1 ... head_h) W^O` (Vaswani et al. 2017, section 3.2.2).

    `head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)`: queries, keys and values are projected, split among the
    heads, each head attends by itself, and their contexts are joined and projected back. The paper's score is
    `ScaledDot` and its selection `Soft`; every other one works as well, with parameters and choices of its
    own for each head.

    Memories are used as those of `Attention`:

        attention = MultiHeadAttention(query_size=8, heads=2)
        memory = attention.prepare(keys, keep_mask=padding_mask(lengths, keys.shape[1]))
        context, weights, *_ = attention(query, memory)

    Where this leaves the paper: the projections may have biases, as `torch.nn.MultiheadAttention` has.

    Args:
        query_size: features of queries and of the context, the paper's d_model.
        heads: h.
        key_size: features of keys; None: `query_size`.
        value_size: features of values; None: `key_size`.
        head_key_size: d_k, of a head's queries and keys; None: `query_size / heads`.
        head_value_size: d_v, of a head's values; None: `query_size / heads`.
        longest: the most keys, for a score with weights for each position; None: unknown.
        score: completed here with the heads and their sizes.
        selection: completed likewise.
        rotary: turns queries and keys by their positions; for attention of a sequence to itself.
        dropout: of the weights.
        bias: whether the projections have biases.

    Raises:
        ValueError: if a size is below 1, or `query_size` cannot be divided among the heads and their size is
            not given.
    """

    def __init__(
        self,
        *,
        query_size: int,
        heads: int,
        key_size: int | None = None,
        value_size: int | None = None,
        head_key_size: int | None = None,
        head_value_size: int | None = None,
        longest: int | None = None,
        score: Callable[..., Score] = ScaledDot,
        selection: Callable[..., Selection] = Soft,
        rotary: Callable[..., Rotary] | None = None,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        sizes = {
            "query_size": query_size,
            "key_size": key_size,
            "value_size": value_size,
            "heads": heads,
            "head_key_size": head_key_size,
            "head_value_size": head_value_size,
        }
        for name, size in sizes.items():
            if size is not None and size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if (head_key_size is None or head_value_size is None) and query_size % heads:
            raise ValueError(f"query_size={query_size} cannot be divided among heads={heads}")
        key_size = query_size if key_size is None else key_size
        value_size = key_size if value_size is None else value_size
        d_k = query_size // heads if head_key_size is None else head_key_size
        d_v = query_size // heads if head_value_size is None else head_value_size
        self.query_size, self.key_size, self.value_size, self.heads = query_size, key_size, value_size, heads
        self.attention = Attention(
            score=covering(score, longest)(query_size=d_k, key_size=d_k, heads=heads),
            selection=selection(query_size=d_k, heads=heads),
            dropout=dropout,
        )
        uses_query = self.attention.score.uses_query or self.attention.selection.uses_query
        # Unused projections are left out: parameters without a gradient stop distributed training.
        self.W_Q = Linear(query_size, heads * d_k, bias=bias) if uses_query else None
        self.W_K = Linear(key_size, heads * d_k, bias=bias) if self.attention.score.uses_keys else None
        self.W_V = Linear(value_size, heads * d_v, bias=bias)
        self.W_O = Linear(heads * d_v, query_size, bias=bias)
        for projection in (self.W_Q, self.W_K, self.W_V, self.W_O):
            if projection is not None:
                nn.init.xavier_uniform_(projection.weight)
                if bias:
                    nn.init.zeros_(projection.bias)
        self.rotary = None if rotary is None else rotary(size=d_k)

    def prepare(self, keys: Tensor, values: Tensor | None = None, keep_mask: Tensor | None = None) -> Memory:
        """Projects keys and values, once for all queries.

        Args:
            keys: `(*lead, K, key_size)`.
            values: `(*lead, K, value_size)`; None: the keys.
            keep_mask: boolean, broadcastable to `(*lead, Q, K)`, True = may attend; None = all may.

        Returns:
            A memory with an axis for the heads, `(*lead, h, K, ...)`.

        Raises:
            ValueError: if shapes disagree or the mask is not boolean.
        """
        self._check(keys, values)
        keep_mask = checked_mask(keep_mask, keys)
        keys, values, nonfinite = shield(as_factor(keys), values, keep_mask)
        projected, values = self._project(keys, values, first=0)
        if keep_mask is not None and keep_mask.ndim > 2:
            keep_mask = keep_mask.unsqueeze(-3)
        return Memory(projected, values, keep_mask, None if nonfinite is None else nonfinite.unsqueeze(-2))

    def extend(self, memory: Memory, keys: Tensor, values: Tensor | None = None) -> Memory:
        """Appends keys that every query may attend to; see `Attention.extend`."""
        self._check(keys, values)
        projected, values = self._project(keys, values, first=memory.values.shape[-2])
        return memory.extended(projected, values)

    def init_state(self, memory: Memory) -> Tensor | None:
        """The selection's state `(*lead, 1, h)` before a decoder's first step; None if it has none.

        Where the state is weights (`Selection.keeps_weights`) it is `(*lead, 1, h, K)`.
        """
        return self._swapped(self.attention.init_state(memory))

    def forward(
        self,
        query: Tensor,
        memory: Memory,
        state: Tensor | None = None,
        *,
        weights: bool = True,
        causal: bool = False,
    ) -> Attended:
        """Reads the memory.

        Args:
            query: `(*lead, Q, query_size)`. With rotary positions the last query stands at the last key.
            memory: from `prepare` or `extend`.
            state: `(*lead, Q, h)`, `init_state` or that of the previous reading; None: the queries are all
                steps of one sequence, from its first on.
            weights: False may leave them None, which lets a fused kernel read where it is faster.
            causal: whether the memory's mask is `causal_mask(Q, Q)`, which a fused kernel need not read.

        Returns:
            The context `(*lead, Q, query_size)` and every head's weights `(*lead, h, Q, K)`. `log_prob` and
            `entropy (*lead, Q)` are sums over the heads, which sample independently.

        Raises:
            ValueError: if the query's size does not fit.
        """
        if query.shape[-1] != self.query_size:
            raise ValueError(f"query_size={self.query_size}, given a query of size {query.shape[-1]}")
        check_queries(query, memory, memory.values.shape[:-3])
        heads = self.project_query(query, first=memory.values.shape[-2] - query.shape[-2])
        queries = nan_queries(memory, causal=causal)
        read = self.read(heads, memory, state, weights=weights, causal=causal)
        return self.join(read, None if queries is None else queries.squeeze(-2))

    def read_itself(
        self, inputs: Tensor, keep_mask: Tensor | None, *, weights: bool, causal: bool = False
    ) -> Attended:
        """`forward` with the inputs `(*lead, N, D)` as queries and as keys of a new memory.

        On a CPU one product makes queries, keys and values.
        """
        if not _project_together([self], inputs, queries=True):
            memory = self.prepare(inputs, keep_mask=keep_mask)
            attended: Attended = self(inputs, memory, weights=weights, causal=causal)
            return attended
        keep_mask = checked_mask(keep_mask, inputs)
        query, keys, values = _projected([self], inputs, queries=True)
        if keep_mask is not None and keep_mask.ndim > 2:
            keep_mask = keep_mask.unsqueeze(-3)
        memory = Memory(keys, values, keep_mask)
        return self.join(self.read(query, memory, None, weights=weights, causal=causal), None)

    def project_query(self, query: Tensor, *, first: int) -> Tensor:
        """The queries of every head, `(*lead, h, Q, d_k)`, at positions from `first` on."""
        return self._positioned(self.W_Q, query, first)

    def read(
        self, query: Tensor, memory: Memory, state: Tensor | None, *, weights: bool, causal: bool = False
    ) -> Attended:
        """`forward` between the projections: queries `(*lead, h, Q, d_k)` read `(*lead, h, Q, d_v)`."""
        if not weights and can_fuse(self.attention, memory):
            return Attended(fused_context(self.attention, query, memory, causal=causal), None)
        if not weights and is_short(self.attention, query, memory):
            return Attended(short_context(self.attention, query, memory), None)
        return self.attention.read(query, memory, self._swapped(state))

    def _swapped(self, state: Tensor | None) -> Tensor | None:
        """The state with the axes of queries and heads exchanged."""
        if state is None:
            return None
        return state.transpose(-3, -2) if self.attention.selection.keeps_weights else state.transpose(-2, -1)

    def join(self, read: Attended, queries: Tensor | None) -> Attended:
        """Concatenates and projects the contexts of the heads.

        Args:
            read: from `read`.
            queries: `(*lead, Q)`, those whose reading is NaN; None: no query's. It becomes NaN behind the
                projection, whose gradient stays finite.
        """
        context = self.W_O(read.context.transpose(-3, -2).flatten(-2))
        if queries is not None:
            context = context.masked_fill(queries.unsqueeze(-1), math.nan)
            read = propagate_nan(read, queries.unsqueeze(-2))
        _, weights, state, log_prob, entropy, probabilities = read
        return Attended(
            context,
            weights,
            self._swapped(state),
            None if log_prob is None else log_prob.sum(-2),
            None if entropy is None else entropy.sum(-2),
            probabilities,
        )

    def _project(self, keys: Tensor, values: Tensor | None, *, first: int) -> tuple[Tensor, Tensor]:
        heads = self._split(self.W_V, keys if values is None else values)
        return self.attention.score.project_keys(self._positioned(self.W_K, keys, first)), heads

    def _split(self, projection: nn.Linear | None, rows: Tensor) -> Tensor:
        """`(*lead, N, D)` to `(*lead, h, N, d)`; without a projection every head has all of D."""
        if projection is None:
            return rows.unsqueeze(-3).expand(*rows.shape[:-2], self.heads, *rows.shape[-2:])
        heads: Tensor = projection(rows).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        return heads

    def _positioned(self, projection: nn.Linear | None, rows: Tensor, first: int) -> Tensor:
        heads = self._split(projection, rows)
        return heads if projection is None or self.rotary is None else self.rotary(heads, first)

    def _check(self, keys: Tensor, values: Tensor | None) -> None:
        for name, size, tensor in (
            ("key", self.key_size, keys),
            ("value", self.value_size, keys if values is None else values),
        ):
            if tensor.shape[-1] != size:
                raise ValueError(f"{name}_size={size}, given {name}s of size {tensor.shape[-1]}")
        check_values(keys, values)


def prepare_all(
    attentions: Sequence[MultiHeadAttention], keys: Tensor, keep_mask: Tensor | None = None
) -> list[Memory]:
    """`prepare` of several attentions to the same keys, as the layers of a decoder have.

    On a CPU one product makes the keys and values of all of them.

    Args:
        attentions: with keys and values of one size.
        keys: `(*lead, K, key_size)`.
        keep_mask: as of `MultiHeadAttention.prepare`.
    """
    keys = as_factor(keys)
    if not _project_together(attentions, keys, queries=False):
        return [attention.prepare(keys, keep_mask=keep_mask) for attention in attentions]
    attentions[0]._check(keys, None)
    keep_mask = checked_mask(keep_mask, keys)
    if keep_mask is not None and keep_mask.ndim > 2:
        keep_mask = keep_mask.unsqueeze(-3)
    heads = _projected(attentions, keys, queries=False)
    return [Memory(*pair, keep_mask) for pair in zip(heads[::2], heads[1::2], strict=True)]


def _project_together(attentions: Sequence[MultiHeadAttention], inputs: Tensor, *, queries: bool) -> bool:
    """Whether one product can make keys, values and perhaps queries of finite inputs, and is faster."""
    if inputs.device.type != "cpu" or torch.compiler.is_compiling() or transformed() or not attentions:
        return False
    layers = [layer for one in attentions for layer in _projections(one, queries=queries)]
    plain = all(one.rotary is None and unchanged(one, MultiHeadAttention) for one in attentions)
    plain = plain and all(layer is not None and unchanged(layer, Linear) for layer in layers)
    shapes = {layer.weight.shape for layer in layers if layer is not None}
    one_kind = len(shapes) == len({(one.heads, one.W_V.bias is None) for one in attentions}) == 1
    # Without a number that is not finite, what is masked needs no shield: its weights are zero.
    return plain and one_kind and sums_up(inputs)


def _projections(attention: MultiHeadAttention, *, queries: bool) -> list[nn.Linear | None]:
    projections: list[nn.Linear | None] = [attention.W_Q, attention.W_K, attention.W_V]
    return projections if queries else projections[1:]


def _projected(
    attentions: Sequence[MultiHeadAttention], inputs: Tensor, *, queries: bool
) -> tuple[Tensor, ...]:
    """The queries, if asked for, projected keys and values `(*lead, h, N, d)` of each attention in turn."""
    weights, biases, scores = [], [], []
    for attention in attentions:
        score = attention.attention.score
        factor = score.key_factor  # of few weights, where it can be, not of all keys
        for layer in _projections(attention, queries=queries):
            assert layer is not None
            of_keys = layer is attention.W_K
            parameters = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
            if of_keys and factor is not None:
                parameters = [one * factor for one in parameters]
            weights.append(parameters[0])
            biases += parameters[1:]
            scores.append(score if of_keys and factor is None else None)
    rows = linear(inputs, torch.cat(weights), torch.cat(biases) if biases else None)
    heads = split_heads(rows, len(scores), attentions[0].heads)
    return tuple(
        head if score is None else score.project_keys(head) for head, score in zip(heads, scores, strict=True)
    )
