"""Uses to come, each against a plain loop: caches, heads, hierarchies, a memory that is written to."""

import torch
from attention_cases import equal, randn, randomise

from zoo.attention import (
    Additive,
    Attention,
    Cosine,
    General,
    ScaledDot,
    Soft,
    causal_mask,
    padding_mask,
)

SIZE = 4


def soft(score: object, heads: int | None = None) -> Attention:
    return randomise(Attention(score=score, selection=Soft(query_size=SIZE, heads=heads))).double()


def test_a_self_attention_cache_grows_by_extend() -> None:
    """Token by token with a cache = all at once under a causal mask = a loop over prefixes."""
    attention = soft(General(query_size=SIZE, key_size=SIZE))
    tokens, values = randn(2, 6, SIZE), randn(2, 6, 3, seed=7)
    whole = attention(tokens, attention.prepare(tokens, values, causal_mask(6, 6)))
    memory = attention.prepare(tokens[:, :0], values[:, :0])
    for t in range(6):
        now = slice(t, t + 1)
        memory = attention.extend(memory, tokens[:, now], values[:, now])
        step = attention(tokens[:, now], memory)
        for b in range(2):
            scores = torch.stack(
                [tokens[b, t] @ attention.score.W.weight @ tokens[b, i] for i in range(t + 1)]
            )
            equal(step.context[b, 0], scores.softmax(0) @ values[b, : t + 1])
        equal(step.context, whole.context[:, now])


def test_a_cache_with_padding_grows_by_chunks() -> None:
    """A prompt with padding, then several tokens at a time, each chunk causal."""
    attention = soft(ScaledDot(query_size=SIZE, key_size=SIZE))
    prompt, tokens = randn(2, 4, SIZE), randn(2, 3, SIZE, seed=8)
    mask = padding_mask(torch.tensor([4, 2]), 4)
    memory = attention.extend(attention.prepare(prompt, keep_mask=mask), tokens)
    assert memory.keep_mask.tolist() == [[[True] * 7], [[True, True, False, False, True, True, True]]]
    chunk = attention(tokens, memory._replace(keep_mask=memory.keep_mask & causal_mask(3, 7)))
    for b, length in enumerate((4, 2)):
        for t in range(3):
            keys = torch.cat([prompt[b, :length], tokens[b, : t + 1]])
            scores = keys @ tokens[b, t] / 2
            equal(chunk.context[b, t], scores.softmax(0) @ keys)


def test_a_mask_broadcast_over_keys_does_not_hold_for_appended_keys() -> None:
    attention = soft(ScaledDot(query_size=SIZE, key_size=SIZE))
    for size in (1, 3):
        reads_nothing = torch.tensor([[[True]], [[False]]])
        memory = attention.extend(
            attention.prepare(randn(2, size, SIZE), keep_mask=reads_nothing), randn(2, 1, SIZE)
        )
        assert memory.keep_mask.tolist() == [[[True] * (size + 1)], [[False] * size + [True]]]


def test_every_head_has_its_own_additive_parameters() -> None:
    heads, batch = 3, 2
    attention = soft(Additive(query_size=SIZE, key_size=SIZE, heads=heads, hidden_size=5), heads)
    query, keys = randn(batch, heads, 2, SIZE), randn(batch, heads, 6, SIZE, seed=7)
    values = randn(batch, heads, 6, 3, seed=8)
    lengths = torch.tensor([6, 4])
    read = attention(query, attention.prepare(keys, values, padding_mask(lengths[:, None], 6)))
    W, U, v = (getattr(attention.score, name).weight for name in "WUv")
    assert W.shape == (heads, 5, SIZE)
    for b in range(batch):
        for h in range(heads):
            for q in range(2):
                size = int(lengths[b])
                scores = torch.stack(
                    [v[h, 0] @ torch.tanh(W[h] @ query[b, h, q] + U[h] @ keys[b, h, i]) for i in range(size)]
                )
                equal(read.context[b, h, q], scores.softmax(0) @ values[b, h, :size])


def test_words_in_sentences_and_then_sentences() -> None:
    """Hierarchical reading: lead (B, S) over words gives a vector for each sentence, lead (B,) over those."""
    words, sentences = (
        soft(Additive(query_size=SIZE, key_size=SIZE)),
        soft(General(query_size=SIZE, key_size=SIZE)),
    )
    text, query = randn(2, 3, 5, SIZE), randn(SIZE, seed=7)
    word_counts = torch.tensor([[5, 2, 3], [4, 0, 0]])  # the second document has one sentence
    sentence_counts = (word_counts > 0).sum(-1)
    vectors = words(
        query.expand(2, 3, 1, SIZE), words.prepare(text, keep_mask=padding_mask(word_counts, 5))
    ).context.squeeze(-2)
    document = sentences(
        query.expand(2, 1, SIZE), sentences.prepare(vectors, keep_mask=padding_mask(sentence_counts, 3))
    ).context.squeeze(-2)

    W, U, v = (getattr(words.score, name).weight for name in "WUv")
    for b in range(2):
        read = []
        for s in range(int(sentence_counts[b])):
            real = text[b, s, : int(word_counts[b, s])]
            scores = torch.stack([v[0] @ torch.tanh(W @ query + U @ word) for word in real])
            read.append(scores.softmax(0) @ real)
        real = torch.stack(read)
        equal(document[b], (real @ sentences.score.W.weight.T @ query).softmax(0) @ real)


def test_a_memory_that_changes_every_step_with_cosine_addressing() -> None:
    """Reads, then erases and adds where it read; gradients flow through all steps."""
    attention = soft(Cosine(query_size=SIZE, key_size=SIZE))
    rows = torch.zeros(2, 5, SIZE, dtype=torch.float64)
    rows[:, 0, 0] = 1
    start = rows.clone().requires_grad_()
    queries, additions = randn(2, 4, SIZE), randn(2, 4, SIZE, seed=8)

    written, contexts = start, []
    for t in range(4):
        read = attention(queries[:, t : t + 1], attention.prepare(written))
        contexts.append(read.context)
        written = written + read.weights.mT * (additions[:, t : t + 1] - 0.5 * written)

    w, b = attention.score.w.weight[0].detach(), attention.score.b.detach()
    for item in range(2):
        table = [row.clone() for row in rows[item]]
        for t in range(4):
            query = queries[item, t]
            strength = torch.log(1 + torch.exp(w @ query + b))
            lengths = [float(row.norm()) for row in table]
            scores = torch.stack(
                [
                    (strength * (query @ row) / (query.norm() * length) if length else 0 * strength)[0]
                    for row, length in zip(table, lengths, strict=True)
                ]
            )
            weights = scores.softmax(0)
            equal(contexts[t][item, 0], sum(weight * row for weight, row in zip(weights, table, strict=True)))
            table = [
                row + weight * (additions[item, t] - 0.5 * row)
                for weight, row in zip(weights, table, strict=True)
            ]
    contexts[-1].square().sum().backward()
    assert start.grad.isfinite().all()
    assert start.grad[:, 0].abs().max() > 0
