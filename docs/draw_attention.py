"""Draws the pictures of docs/attention.md from the library itself: `python docs/draw_attention.py`.

The pictures of scores answer one question: where in the plane must a key lie to be read by a given query?
Every score with parameters was trained on one task, to read the nearest of 16 random keys, so each picture
shows what its equation can say and what it cannot.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from zoo.attention import (
    Additive,
    Attention,
    Baseline,
    ConstantBaseline,
    Cosine,
    Dot,
    Entmax,
    General,
    GumbelHard,
    Hard,
    LearnedBaseline,
    LinearConcat,
    LocalMonotonic,
    LocalPredictive,
    Location,
    MovingAverageBaseline,
    NoBaseline,
    Reinforce,
    ScaledDot,
    Score,
    Soft,
    Sparsemax,
    Static,
    causal_mask,
    combine,
    masked_softmax,
    padding_mask,
)

FOLDER = Path(__file__).parent / "pictures"
QUERIES = torch.tensor([[1.0, 0.4], [-0.6, -0.8]])
STEPS, KEYS = 10, 12


def new_figure(columns: int, width: float = 2.3, height: float = 2.3) -> tuple[Figure, list[Axes]]:
    """A row of panels."""
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def save(figure: Figure, name: str) -> None:
    """Writes the same bytes for the same picture."""
    figure.savefig(FOLDER / f"{name}.png", dpi=90, metadata={"Software": None})


def nearest_key_task(score: Score, *, steps: int = 1500) -> float:
    """Trains a score to read the nearest key; returns how often it does."""
    optimizer = torch.optim.Adam(score.parameters(), 0.02) if list(score.parameters()) else None
    for step in range(steps + 1):
        size = 2000 if step == steps else 64
        query, keys = 3 * torch.rand(size, 1, 2) - 1.5, 3 * torch.rand(size, 16, 2) - 1.5
        target = (query - keys).norm(dim=-1).argmin(-1)
        scores = score(query, score.project_keys(keys))[:, 0]
        if optimizer is None or step == steps:
            break
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(scores, target).backward()
        optimizer.step()
    return float((scores.argmax(-1) == target).float().mean())


def draw_score(name: str, score: Score) -> None:
    """The weights of a plane full of keys, for two queries."""
    found = nearest_key_task(score)
    line = torch.linspace(-2, 2, 81)
    plane = torch.cartesian_prod(line, line)
    with torch.no_grad():
        scores = score(QUERIES, score.project_keys(plane)).unflatten(-1, (81, 81)).mT
    figure, axes = new_figure(2)
    for axis, query, field in zip(axes, QUERIES, scores, strict=True):
        field = (field - field.max()).numpy()
        axis.imshow(field, vmin=-6, vmax=0, cmap="Blues", origin="lower", extent=(-2, 2, -2, 2))
        axis.annotate(
            "", query.tolist(), (0, 0), arrowprops={"arrowstyle": "-|>", "color": "crimson", "lw": 2}
        )
        axis.set(xticks=[-2, 0, 2], yticks=[-2, 0, 2])
        axis.tick_params(labelsize=7)
    figure.suptitle(f"reads the nearest of 16 keys: {found:.0%}", fontsize=9)
    save(figure, name)


def draw_location() -> None:
    """Weights by position: the keys have no say."""
    score = Location(query_size=2, key_size=2, maximum_length=8)
    torch.nn.init.normal_(score.W.weight, std=1.5)
    figure, axes = new_figure(2)
    for axis, query in zip(axes, QUERIES, strict=True):
        for keys, colour, shift in (
            (torch.randn(8, 2), "steelblue", -0.2),
            (torch.randn(8, 2), "darkorange", 0.2),
        ):
            weights = score(query[None], score.project_keys(keys)).softmax(-1)[0]
            axis.bar((torch.arange(8) + shift).numpy(), weights.detach().numpy(), width=0.4, color=colour)
        axis.set(ylim=(0, 1), xlabel="position")
        axis.tick_params(labelsize=7)
    figure.suptitle("two queries, each with two sets of keys", fontsize=9)
    save(figure, "location")


def example_scores() -> Tensor:
    """Steps that look along a curve, with some doubt."""
    steps, keys = torch.arange(STEPS)[:, None], torch.arange(KEYS)
    centre = KEYS * (steps / STEPS) ** 1.5
    generator = torch.Generator().manual_seed(4)
    return (4 * torch.exp(-((keys - centre) ** 2) / 6) + 0.7 * torch.randn(STEPS, KEYS, generator=generator))[
        None
    ]


def show(axis: Axes, weights: Tensor, title: str) -> None:
    """A map of steps and keys."""
    axis.imshow(weights.detach().numpy(), vmin=0, vmax=1, cmap="Blues", aspect="auto")
    axis.set_title(title, fontsize=9)
    axis.set_xlabel("key", fontsize=8)
    axis.set_ylabel("step", fontsize=8)
    axis.tick_params(labelsize=7)


def draw_selections() -> None:
    """What each selection makes of the same scores."""
    scores, none = example_scores(), torch.zeros(1, STEPS, 1)

    for kind in (Soft, Entmax, Sparsemax):
        figure, axes = new_figure(3)
        for axis, temperature in zip(axes, (0.3, 1.0, 3.0), strict=True):
            weights = kind(query_size=1, temperature=temperature)(scores, none).weights[0]
            show(axis, weights, f"temperature {temperature:g}")
            if kind is not Soft:
                axis.plot(*(weights > 0).nonzero().T.flip(0).numpy(), ".", color="crimson", markersize=2)
        save(figure, kind.__name__.lower())

    figure, axes = new_figure(2)
    show(axes[0], Soft(query_size=1)(scores, none).weights[0], "dynamic: soft")
    show(axes[1], Static(query_size=1)(scores, none).weights[0], "static")
    save(figure, "static")

    figure, axes = new_figure(3)
    sampled, likeliest = Hard(query_size=1), Hard(query_size=1).eval()
    torch.manual_seed(2)
    show(axes[0], sampled(scores, none).probabilities[0], "probabilities")
    show(axes[1], sampled(scores, none).weights[0], "weights: a sample")
    show(axes[2], likeliest(scores, none).weights[0], "weights in eval mode")
    save(figure, "hard")

    figure, axes = new_figure(3)
    show(axes[0], GumbelHard(query_size=1)(scores, none).probabilities[0], "probabilities")
    for axis, temperature in zip(axes[1:], (0.3, 2.0), strict=True):
        asked = scores.clone().requires_grad_()
        torch.manual_seed(2)
        weights = GumbelHard(query_size=1, temperature=temperature)(asked, none).weights
        reached = torch.autograd.grad((weights * torch.arange(KEYS)).sum(), asked)[0].abs()[0]
        show(axis, reached / reached.max(), f"|gradient|, temperature {temperature:g}")
        axis.plot(weights[0].detach().argmax(-1).numpy(), range(STEPS), "x", color="crimson", markersize=5)
    save(figure, "gumbel_hard")

    figure, axes = new_figure(3)
    for axis, window in zip(axes, (0, 2, 10), strict=True):
        show(axis, LocalMonotonic(query_size=1, window=window)(scores, none).weights[0], f"window {window}")
    save(figure, "local_monotonic")

    figure, axes = new_figure(3)
    query = torch.linspace(-1.5, 1.5, STEPS)[None, :, None]
    for axis, window in zip(axes, (1, 3, 10), strict=True):
        selection = LocalPredictive(query_size=1, window=window)
        torch.nn.init.ones_(selection.W_p.weight)
        torch.nn.init.constant_(selection.v_p.weight, 3)
        show(axis, selection(scores, query).weights[0], f"window {window}")
        centre = KEYS * selection.v_p(selection.W_p(query).tanh()).sigmoid()[0, :, 0]
        axis.plot(centre.detach().numpy(), range(STEPS), color="crimson", linewidth=1)
        axis.set_xlim(-0.5, KEYS - 0.5)
    save(figure, "local_predictive")


def draw_masks() -> None:
    """Padding, the future, both, and what a softmax makes of them."""
    padding, causal = padding_mask(torch.tensor(5), 7), causal_mask(5, 7)
    figure, axes = new_figure(4, 2, 1.9)
    both = combine(padding, causal)
    weights = masked_softmax(torch.zeros(5, 7), both)
    for axis, mask, title in zip(
        axes,
        (padding.expand(5, 7).float(), causal.float(), both.float(), weights),
        ("padding_mask", "causal_mask", "combine", "masked_softmax of 0"),
        strict=True,
    ):
        show(axis, mask, title)
        axis.set_ylabel("query", fontsize=8)
    save(figure, "masks")


def draw_baselines() -> None:
    """Estimates of one gradient, batch by batch: the same mean, another spread."""
    kinds: dict[str, Callable[[], Baseline]] = {
        "NoBaseline": lambda: NoBaseline(state_size=1),
        "ConstantBaseline(3)": lambda: ConstantBaseline(state_size=1, value=3),
        "MovingAverageBaseline": lambda: MovingAverageBaseline(state_size=1, decay=0.9),
        "LearnedBaseline": lambda: LearnedBaseline(state_size=1),
    }
    figure, axes = new_figure(4, 2.1, 1.9)
    for axis, (name, make) in zip(axes, kinds.items(), strict=True):
        torch.manual_seed(0)
        reinforce = Reinforce(baseline=make())
        parameters = list(reinforce.parameters())
        optimizer = torch.optim.SGD(parameters, 0.02) if parameters else None
        estimates = []
        for batch in range(1200):
            state = 2 * torch.randn(16, 1, 1)
            scores = torch.zeros(16, 1, 2, requires_grad=True)
            selected = Hard(query_size=1)(scores, state)
            # Key 0 earns 1 more; the state decides about most of the reward.
            reward = 4 + 2 * state[..., 0] + selected.weights[..., 0]
            keep = torch.ones(16, 1, dtype=torch.bool)
            terms = reinforce(log_prob=selected.log_prob, reward=reward, state=state, keep_mask=keep)
            if optimizer is not None:
                optimizer.zero_grad()
            terms.loss.backward()
            if optimizer is not None:
                optimizer.step()
            if batch >= 200:
                estimates.append(-scores.grad[..., 0].sum())
        spread = torch.stack(estimates)
        axis.hist(spread, bins=40, range=(-4, 4), color="steelblue")
        axis.axvline(0.25, color="crimson", linewidth=1)
        axis.set_title(f"{name}\nmean {spread.mean():.2f}, spread {spread.std():.2f}", fontsize=8)
        axis.set_yticks([])
        axis.tick_params(labelsize=7)
    save(figure, "baselines")


def draw_reading() -> None:
    """What the parts do: scores, selection, mask, reading."""
    torch.manual_seed(3)
    attention = Attention(score=Dot(query_size=2, key_size=2), selection=Soft(query_size=2))
    keys = 1.6 * torch.randn(1, 8, 2)
    keep = padding_mask(torch.tensor([6]), 8)
    memory = attention.prepare(keys, keep_mask=keep)
    figure, axes = new_figure(3)
    for axis, query in zip(
        axes, (torch.tensor([1.2, 0.0]), torch.tensor([0.0, 1.2]), torch.tensor([-0.9, -0.9])), strict=True
    ):
        context, weights, *_ = attention(query.view(1, 1, 2), memory)
        size = 20 + 500 * weights[0, 0]
        axis.scatter(*keys[0, :6].T.numpy(), s=size[:6].numpy(), color="steelblue")
        axis.scatter(*keys[0, 6:].T.numpy(), s=20, color="lightgrey")
        axis.annotate(
            "", query.tolist(), (0, 0), arrowprops={"arrowstyle": "-|>", "color": "crimson", "lw": 2}
        )
        axis.plot(*context[0, 0].numpy(), "P", color="darkorange", markersize=9)
        axis.set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5), xticks=[], yticks=[])
    save(figure, "reading")


def main() -> None:
    """Draws all pictures."""
    FOLDER.mkdir(exist_ok=True)
    sizes = {"query_size": 2, "key_size": 2}
    scores: dict[str, Callable[[], Score]] = {
        "dot": lambda: Dot(**sizes),
        "scaled_dot": lambda: ScaledDot(**sizes),
        "general": lambda: General(**sizes),
        "additive": lambda: Additive(**sizes, hidden_size=32),
        "linear_concat": lambda: LinearConcat(**sizes),
        "cosine": lambda: Cosine(**sizes),
    }
    for name, make in scores.items():
        torch.manual_seed(1)
        draw_score(name, make())
    torch.manual_seed(1)
    draw_location()
    draw_selections()
    draw_masks()
    draw_baselines()
    draw_reading()


if __name__ == "__main__":
    main()
