"""What the page of `zoo explore` shows, as plain containers."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoo.tasks.exploration import Answer, Exploration, Shading, TokenReading, View

MOST_WEIGHTS = 2**21
"""Weights of one kind of attention that a page holds; each takes a byte."""


def page_data(given: str, explorations: Mapping[str, Exploration]) -> dict[str, Any]:
    """Everything that the page shows.

    Args:
        given: the input, in words.
        explorations: of that input, by the names of runs.
    """
    return {"given": given, "runs": [run_data(name, one) for name, one in explorations.items()]}


def run_data(name: str, exploration: Exploration) -> dict[str, Any]:
    """What the page shows of one run.

    Args:
        name: of the run.
        exploration: of the input.
    """
    notes = list(exploration.notes)
    return {
        "name": name,
        "answers": [_answer(one) for one in exploration.answers],
        "views": [_view(view, notes) for view in exploration.views],
        "notes": notes,
    }


def _answer(answer: Answer) -> dict[str, Any]:
    known = answer.probability is not None and np.isfinite(answer.probability)
    probability = float(f"{answer.probability:.4g}") if known else None
    return {"text": answer.text, "probability": probability, "note": answer.note}


def _view(view: View, notes: list[str]) -> dict[str, Any]:
    return _text(view) if isinstance(view, Shading) else _tokens(view, notes)


def _text(view: Shading) -> dict[str, Any]:
    sentences = view.text.sentences
    shades = [shade for row in view.text.shades() for shade in row]
    weights = [weight for one in sentences for weight in one.weights or ()]
    return {
        "kind": "text",
        "name": view.name,
        "mechanism": view.mechanism,
        "sentences": [
            {"words": list(one.words), "weight": None if one.weight is None else float(f"{one.weight:.4g}")}
            for one in sentences
        ],
        "shades": packed(torch.tensor(shades))["weights"],
        **(packed(torch.tensor(weights)) if len(weights) == len(shades) else {}),
    }


def _tokens(view: TokenReading, notes: list[str]) -> dict[str, Any]:
    layers, heads, queries, keys = view.weights.shape
    most = int((MOST_WEIGHTS / max(1, layers * heads)) ** 0.5)
    if queries * keys > most**2:
        queries, keys = min(queries, most), min(keys, most)
        notes.append(
            f"{view.name}: the first {queries} of {len(view.queries):,} tokens are shown, and the first"
            f" {keys} of {len(view.keys):,} that they read: a page holds {MOST_WEIGHTS:,} weights of one kind"
        )
    return {
        "kind": "tokens",
        "name": view.name,
        "mechanism": view.mechanism,
        "queries": list(view.queries[:queries]),
        "keys": list(view.keys[:keys]),
        "queryName": view.query_name,
        "keyName": view.key_name,
        "layers": layers,
        "heads": heads,
        "candidatesName": view.candidates_name,
        "candidates": [[_answer(one) for one in row] for row in view.candidates[:queries]],
        **packed(view.weights[..., :queries, :keys]),
    }


def packed(weights: Tensor) -> dict[str, Any]:
    """Weights as bytes, in the order of the tensor: 255 stands for the largest.

    Args:
        weights: at least 0; what is not finite counts as 0.
    """
    values = np.nan_to_num(weights.numpy().astype(np.float32), posinf=0.0, neginf=0.0).clip(min=0)
    largest = float(values.max()) if values.size else 0.0
    levels = np.rint(values * (255 / largest)).astype(np.uint8) if largest > 0 else values.astype(np.uint8)
    return {"largest": round(largest, 6), "weights": base64.b64encode(levels.tobytes()).decode("ascii")}
