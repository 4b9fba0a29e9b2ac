"""Beam search with a length penalty, for all models, sentences and hypotheses at once."""

from collections.abc import Sequence
from itertools import count
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from zoo.decoding.checks import check_start, check_step
from zoo.decoding.step import Hypothesis, Search, StepFn
from zoo.decoding.top import top
from zoo.decoding.trace import Ends, Trace
from zoo.decoding.tree import take_hypotheses, take_sentences

_Length = TypeVar("_Length", int, Tensor)


def length_penalty(length: _Length, alpha: float) -> Any:
    """lp(Y) = ((5 + |Y|) / (5 + 1))^alpha, by which a log-probability is divided (Wu et al. 2016, eq. 14).

    Args:
        length: |Y|, tokens of the hypothesis with its EOS; a number or a tensor.
        alpha: 0 = no penalty on short hypotheses; 0.6 to 1 in the paper.
    """
    return ((5.0 + length) / 6.0) ** alpha


_LARGEST = 1000
"""The largest beam: each hypothesis holds scores of the whole vocabulary."""


class Beam(Search):
    """Keeps the `beam_size` most probable open hypotheses of every sentence.

    At each step the `beam_size` best continuations are kept. Those that end in EOS are finished and compete
    by log-probability over length penalty; the others are continued. A sentence is done when no open
    hypothesis, continued to the length limit with probability 1, could enter its `n_best`: so a smaller
    `n_best` gives the first hypotheses of a larger one. With `beam_size=1` this is greedy decoding. Ties go
    to the earlier hypothesis, then to the lower token id.

    Args:
        beam_size: hypotheses kept per sentence.
        length_penalty: alpha of Wu et al. 2016, eq. 14; 0 = rank by log-probability.
        n_best: hypotheses returned per sentence, at most `beam_size`.

    Raises:
        ValueError: an argument is out of its range.
    """

    def __init__(self, *, beam_size: int, length_penalty: float, n_best: int = 1) -> None:
        if beam_size < 1:
            raise ValueError(f"beam_size must be at least 1, got {beam_size}")
        if beam_size > _LARGEST:
            raise ValueError(f"beam_size must be at most {_LARGEST:,}, got {beam_size:,}")
        if not 1 <= n_best <= beam_size:
            raise ValueError(f"n_best must be from 1 to beam_size ({beam_size}), got {n_best}")
        if not length_penalty >= 0:
            raise ValueError(f"length_penalty must be at least 0, got {length_penalty}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.n_best = n_best

    @torch.no_grad()
    def __call__(
        self,
        step: StepFn,
        state: Any,
        memory: Any,
        *,
        bos: int,
        eos: int,
        forbidden: Sequence[int],
        maximum_length: Tensor,
    ) -> list[list[Hypothesis]]:
        """See `Search`: `n_best` hypotheses per sentence, fewer only where fewer have a probability above 0.

        Where too few finished, the best that the length limit cut off follow.
        """
        check_start(state, memory, maximum_length)
        batch, device = len(maximum_length), maximum_length.device
        if batch == 0:
            return []
        never = torch.tensor(list(forbidden), dtype=torch.int64, device=device)
        sentences = torch.arange(batch, device=device)  # those still searched, by their place in the batch
        limits = maximum_length
        tokens = torch.full((batch, 1), bos, device=device)
        open_log_prob = torch.zeros(batch, 1, device=device)
        slots = torch.arange(self.beam_size, device=device)
        finished = _no_ends(batch, self.n_best, device)
        best = _no_ends(batch, self.n_best, device)
        best_finished = torch.zeros(batch, self.n_best, dtype=torch.bool, device=device)
        trace = Trace(batch, self.beam_size)
        for length in count(1):
            result = step(tokens, state, memory)
            check_step(result, tokens)
            log_prob, parents, tokens = self._continuations(result.log_probs, open_log_prob, never)
            trace.add(sentences, tokens, parents, result.weights)

            ends = tokens == eos
            open_log_prob = log_prob.masked_fill(ends, float("-inf"))
            position = ((length - 1) * self.beam_size + slots).expand_as(log_prob)
            score = log_prob / length_penalty(length, self.length_penalty)
            ending = Ends(score.masked_fill(~ends, float("-inf")), log_prob, position)
            finished = _best(finished.beside(ending), self.n_best)

            # log-probabilities only fall and the penalty only grows: no continuation can score above this
            attainable = open_log_prob.amax(dim=1) / length_penalty(limits, self.length_penalty)
            # the one synchronisation of a step
            stays = ((length < limits) & (finished.score[:, -1] < attainable)).cpu()
            if stays.all():
                rows = torch.arange(len(sentences), device=device)
            else:
                left = (~stays).nonzero().squeeze(1).to(device)
                cut_off = Ends(score.masked_fill(ends, float("-inf")), log_prob, position)
                leaving, leaving_finished = _finished_first(finished.of(left), cut_off.of(left), self.n_best)
                for total, part in zip(best, leaving, strict=True):
                    total[sentences[left]] = part
                best_finished[sentences[left]] = leaving_finished
                rows = stays.nonzero().squeeze(1).to(device)
                if len(rows) == 0:
                    break
                sentences, limits, finished = sentences[rows], limits[rows], finished.of(rows)
                tokens, parents, open_log_prob = tokens[rows], parents[rows], open_log_prob[rows]
                memory = take_sentences(memory, rows)
            state = take_hypotheses(result.state, rows, parents)
        return trace.hypotheses(best, best_finished)

    def _continuations(
        self, log_probs: Tensor, open_log_prob: Tensor, never: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The `beam_size` best continuations of each sentence: log_prob, parent and token, each `(R, beam)`.

        Args:
            log_probs: `(R, W, V)` of the next token.
            open_log_prob: `(R, W)` of the hypotheses so far; -inf = not open.
            never: `(F,)` forbidden tokens.
        """
        # The best of a sentence are among the best of each hypothesis. Forbidden tokens are dropped from a
        # list that is F longer than needed, so the wide (R, W, V) tensor is not copied.
        shortlist = min(self.beam_size + len(never), log_probs.shape[-1])
        values, ids = top(log_probs.float(), shortlist)
        values = values.masked_fill(torch.isin(ids, never) | values.isnan(), float("-inf"))
        candidates = (open_log_prob[:, :, None] + values).flatten(1)
        ids = ids.flatten(1)
        missing = self.beam_size - candidates.shape[1]
        if missing > 0:  # a vocabulary smaller than the beam: the rest of the beam stays closed
            candidates, ids = pad(candidates, (0, missing), value=float("-inf")), pad(ids, (0, missing))
        log_prob, order = candidates.sort(dim=1, descending=True, stable=True)
        order = order[:, : self.beam_size]
        parents = (order // shortlist).clamp(max=log_probs.shape[1] - 1)
        return log_prob[:, : self.beam_size], parents, ids.gather(1, order)


def _no_ends(batch: int, count: int, device: torch.device) -> Ends:
    nothing = torch.full((batch, count), float("-inf"), device=device)
    return Ends(nothing, nothing.clone(), torch.full((batch, count), -1, device=device))


def _best(ends: Ends, count: int) -> Ends:
    """The `count` highest scores of each sentence; ties go to the first."""
    return ends.take(ends.score.argsort(dim=1, descending=True, stable=True)[:, :count])


def _finished_first(finished: Ends, cut_off: Ends, count: int) -> tuple[Ends, Tensor]:
    """The first `count` of the finished hypotheses followed by those cut off, without empty places."""
    both = finished.beside(cut_off)
    is_finished = torch.arange(both.score.shape[1], device=both.score.device) < finished.score.shape[1]
    columns = (both.score == float("-inf")).to(torch.uint8).argsort(dim=1, stable=True)[:, :count]
    return both.take(columns), is_finished.expand_as(both.score).gather(1, columns)
