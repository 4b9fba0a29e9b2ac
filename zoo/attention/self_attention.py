"""Attention of a sequence to itself: full, causal, or within a window."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.attention.flexible import can_flex, flex_context
from zoo.attention.masks import causal_mask, combine
from zoo.attention.memory import Attended, Memory
from zoo.attention.multi_head import MultiHeadAttention
from zoo.attention.shield import finite_rows
from zoo.kernels import as_factor

_SMALLEST_BLOCK = 32
"""The fewest queries that share one slice of keys: small blocks are slow."""


class SelfAttention(nn.Module):
    """Every position is a query, a key and a value (Vaswani et al. 2017, section 3.2.3).

    With a window of r it is the restricted self-attention of section 4: blocks of neighbouring queries read
    one slice of keys each, so time and memory grow with N r instead of N². The paper's neighbourhood "of size
    r" has r/2 positions to either side, this one r.

    Args:
        attention: of queries, keys and values of one size.
        causal: whether a position sees only itself and those before it, as in a decoder.
        window: r >= 1; a position sees itself and the r nearest to either side (the r before it where
            causal). None: all of them.

    Raises:
        ValueError: if the sizes of the attention differ, the window is too small, or score or selection
            depends on positions, which slices change.
    """

    def __init__(
        self, *, attention: MultiHeadAttention, causal: bool = False, window: int | None = None
    ) -> None:
        super().__init__()
        if not attention.query_size == attention.key_size == attention.value_size:
            raise ValueError(
                f"a sequence that attends to itself has one size, given query_size={attention.query_size}, "
                f"key_size={attention.key_size} and value_size={attention.value_size}"
            )
        if window is not None and window < 1:
            raise ValueError(f"window={window}, must be at least 1")
        for part in (attention.attention.score, attention.attention.selection):
            if window is not None and part.counts_positions:
                name = type(part).__name__
                raise ValueError(f"window={window} slices the sequence, and {name} counts positions in it")
        self.attention, self.causal, self.window = attention, causal, window

    def forward(self, inputs: Tensor, keep_mask: Tensor | None = None, *, weights: bool = True) -> Attended:
        """Reads a whole sequence.

        Args:
            inputs: `(*lead, N, D)`.
            keep_mask: boolean, `(*lead, N)`, True = may be attended to; None = all may.
            weights: False may leave the weights None, which is faster.

        Returns:
            The context `(*lead, N, D)`, and weights `(*lead, h, N, N)`.
        """
        if self.window is not None and self.window < inputs.shape[-2] - 1:
            return self._near(inputs, keep_mask, self.window, weights=weights)
        inputs = as_factor(inputs)
        mask = None if keep_mask is None else keep_mask.unsqueeze(-2)
        if self.causal:
            size = inputs.shape[-2]
            mask = combine(mask, causal_mask(size, size, device=inputs.device))
        causal = self.causal and keep_mask is None
        return self.attention.read_itself(inputs, mask, weights=weights, causal=causal)

    def init_memory(self, inputs: Tensor) -> Memory:
        """The empty memory before the first step, for inputs like `(*lead, 1, D)`.

        Raises:
            ValueError: the attention is not causal, or the selection has a state of its own.
        """
        if not self.causal:
            raise ValueError("a step sees nothing ahead: SelfAttention needs causal=True")
        memory = self.attention.prepare(inputs[..., :0, :])
        if self.attention.init_state(memory) is not None:
            name = type(self.attention.attention.selection).__name__
            raise ValueError(f"{name} has a state, which a memory does not keep: read all positions at once")
        return memory

    def step(self, inputs: Tensor, memory: Memory) -> tuple[Attended, Memory]:
        """Appends one position `(*lead, 1, D)`, which sees the memory and itself.

        Returns:
            Its reading, with weights unless a fused kernel is faster, and the longer memory.
        """
        memory = self.attention.extend(memory, inputs)
        near = memory
        if self.window is not None:
            near = Memory(*(part[..., -self.window - 1 :, :] for part in memory[:2]))
        last = memory.values.shape[-2] - 1
        query = self.attention.project_query(inputs, first=last)
        return self.attention.join(self.attention.read(query, near, None, weights=False), None), memory

    def _near(self, inputs: Tensor, keep_mask: Tensor | None, window: int, *, weights: bool) -> Attended:
        """Every position reads its window."""
        finite = finite_rows(inputs)
        kept = torch.ones_like(finite) if keep_mask is None else keep_mask
        memory = self.attention.prepare(torch.where((finite & kept).unsqueeze(-1), inputs, 0.0))
        query = self.attention.project_query(inputs, first=0)
        read = None
        if not weights and can_flex(self.attention.attention, inputs.device):
            read = flex_context(
                self.attention.attention, query, memory, kept, window=window, causal=self.causal
            )
        if read is None:
            read = self._slice_by_slice(query, memory, kept, window, weights=weights)
        return self.attention.join(read, self._any_near(kept & ~finite, window))

    def _slice_by_slice(
        self, query: Tensor, memory: Memory, kept: Tensor, window: int, *, weights: bool
    ) -> Attended:
        """Each block of queries `(*lead, h, N, d)` reads its own keys and the window's to either side."""
        size, ahead = query.shape[-2], 0 if self.causal else window
        block = max(window, _SMALLEST_BLOCK)
        blocks = -(-size // block)
        before, behind = window, blocks * block - size + ahead  # padding of the sequence

        def slices(rows: Tensor) -> Tensor:
            """`(*lead, h, N, A)` to `(*lead, blocks, h, keys, A)`."""
            padded = pad(rows, (0, 0, before, behind))
            return padded.unfold(-2, window + block + ahead, block).movedim(-3, -4).transpose(-1, -2)

        def whole(rows: Tensor) -> Tensor:
            """`(*lead, blocks, h, block, A)` to `(*lead, h, N, A)`."""
            return rows.movedim(-4, -3).flatten(-3, -2)[..., :size, :]

        place = torch.arange(window + block + ahead, device=query.device)
        own = torch.arange(block, device=query.device)[:, None]
        # Kept keys within the window: (*lead, blocks, 1, block, keys)
        mask = slices(kept[..., None, :, None])[..., 0].unsqueeze(-2)
        mask = mask & (place >= own) & (place <= own + window + ahead)
        heads = pad(query, (0, 0, 0, blocks * block - size)).unflatten(-2, (blocks, block)).movedim(-3, -4)
        near = Memory(slices(memory.projected), slices(memory.values), mask)
        place = place + block * torch.arange(blocks, device=query.device)[:, None, None, None]

        def spread(rows: Tensor | None) -> Tensor | None:
            """`(*lead, blocks, h, block, keys)` to `(*lead, h, N, N)`, zeros for all other keys."""
            if rows is None:
                return None
            wide = rows.new_zeros(*rows.shape[:-1], before + size + behind)
            return whole(wide.scatter(-1, place.expand_as(rows), rows))[..., before : before + size]

        def each(numbers: Tensor | None) -> Tensor | None:
            """`(*lead, blocks, h, block)` to `(*lead, h, N)`."""
            return None if numbers is None else whole(numbers.unsqueeze(-1)).squeeze(-1)

        context, found, _, log_prob, entropy, probabilities = self.attention.read(
            heads, near, None, weights=weights
        )
        return Attended(
            whole(context),
            spread(found) if weights else None,  # of all pairs of positions
            None,
            each(log_prob),
            each(entropy),
            spread(probabilities),
        )

    def _any_near(self, flags: Tensor, window: int) -> Tensor:
        """Whether each position has a flag `(*lead, N)` in its window."""
        size, ahead = flags.shape[-1], 0 if self.causal else window
        count = pad(flags.cumsum(-1), (1, 0))
        position = torch.arange(size, device=flags.device)
        last, first = (position + ahead + 1).clamp(max=size), (position - window).clamp(min=0)
        return count[..., last] > count[..., first]
