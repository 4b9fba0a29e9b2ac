"""The loop of greedy decoding and sampling: one chosen token per step."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor

from zoo.decoding.checks import check_start, check_step
from zoo.decoding.step import Hypothesis, StepFn
from zoo.decoding.trace import Ends, Trace
from zoo.decoding.tree import take_hypotheses, take_sentences

Choose = Callable[[Tensor], Tensor]
"""`log_probs (B, W, V) -> tokens (B, W)`, called once a step; forbidden tokens hold -inf."""


def unroll(
    choose: Choose,
    step: StepFn,
    state: Any,
    memory: Any,
    *,
    width: int,
    bos: int,
    eos: int,
    forbidden: Sequence[int],
    maximum_length: Tensor,
) -> list[list[Hypothesis]]:
    """Feeds each chosen token back until EOS or the length limit, for `width` sequences per sentence.

    A sentence leaves the batch once all its sequences have ended. A sequence ends unfinished at a step where
    every token has probability 0.

    Args:
        choose: picks the next tokens.
        step: see `Search`, as for all that follow.
        state: see there.
        memory: see there.
        width: W, sequences per sentence, all starting from the same state.
        bos: see there.
        eos: see there.
        forbidden: see there.
        maximum_length: see there.

    Returns:
        For each sentence its `width` sequences, best first: finished ones, then by log-probability.
    """
    check_start(state, memory, maximum_length)
    batch, device = len(maximum_length), maximum_length.device
    if batch == 0:
        return []
    sentences = torch.arange(batch, device=device)
    slots = torch.arange(width, device=device).expand(batch, width)
    never = torch.tensor(list(forbidden), dtype=torch.int64, device=device)
    state = take_hypotheses(state, sentences, torch.zeros_like(slots))
    tokens = torch.full((batch, width), bos, device=device)
    log_prob = torch.zeros(batch, width, device=device)
    length = torch.zeros(batch, width, dtype=torch.int64, device=device)
    finished = torch.zeros(batch, width, dtype=torch.bool, device=device)
    going = torch.ones(batch, width, dtype=torch.bool, device=device)
    trace = Trace(batch, width)
    for steps in count(1):
        result = step(tokens, state, memory)
        check_step(result, tokens)
        log_probs = result.log_probs.index_fill(2, never, float("-inf"))
        tokens = choose(log_probs)
        trace.add(sentences, tokens, slots[: len(sentences)], result.weights)
        chosen = log_probs.gather(2, tokens[:, :, None]).squeeze(2).float()
        taken = going & (chosen > float("-inf"))  # False for NaN as well
        ended = taken & (tokens == eos)
        log_prob[sentences] += torch.where(taken, chosen, 0.0)
        length[sentences] += taken
        finished[sentences] |= ended
        going = taken & ~ended & (steps < maximum_length[sentences, None])
        stays = going.any(dim=1).cpu()  # the one synchronisation of a step
        state = result.state
        if not stays.all():
            rows = stays.nonzero().squeeze(1).to(device)
            if len(rows) == 0:
                break
            sentences, tokens, going = sentences[rows], tokens[rows], going[rows]
            state, memory = take_sentences(state, rows), take_sentences(memory, rows)
    position = torch.where(length > 0, (length - 1) * width + slots, -1)
    score = log_prob.masked_fill(length == 0, float("-inf"))
    found = trace.hypotheses(Ends(score, log_prob, position), finished)
    return [sorted(sequences, key=lambda one: (not one.finished, -one.score)) for sequences in found]
