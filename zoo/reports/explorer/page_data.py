"""What the page of `zoo explore` shows, as plain containers."""

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.colors import to_hex
from PIL import Image
from torch import Tensor

from zoo.figures.glimpse_boxes import boxes, places, step_colours
from zoo.figures.pixels import channels_last
from zoo.tasks.exploration import (
    Answer,
    Exploration,
    Glimpses,
    MemoryReading,
    PictureReading,
    Shading,
    TokenReading,
    View,
)

MOST_WEIGHTS = 2**21
"""Weights of one kind of attention that a page holds; each takes a byte."""

_EXACT = 128 * 128  # pixels of an image that is kept to the last bit


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
    match view:
        case TokenReading():
            return _tokens(view, notes)
        case Shading():
            return _text(view)
        case PictureReading():
            return _picture(view)
        case Glimpses():
            return _glimpses(view)
        case MemoryReading():
            return _memory(view)


def _memory(view: MemoryReading) -> dict[str, Any]:
    return {
        "kind": "memory",
        "name": view.name,
        "mechanism": view.mechanism,
        "strips": [
            {"name": one.name, "unit": one.unit, "size": one.values.shape[1], **packed(one.values)}
            for one in view.strips
        ],
        "steps": len(view.strips[0].values),
    }


def _picture(view: PictureReading) -> dict[str, Any]:
    _, rows, columns = view.weights.shape
    return {
        "kind": "picture",
        "name": view.name,
        "mechanism": view.mechanism,
        "image": image(view.image),
        "words": list(view.words),
        "rows": rows,
        "columns": columns,
        "sampled": bool(torch.isin(view.weights, torch.tensor([0.0, 1.0])).all()),
        "candidates": [[_answer(one) for one in row] for row in view.candidates],
        **packed(view.weights),
    }


def _glimpses(view: Glimpses) -> dict[str, Any]:
    _, height, width = view.image.shape
    steps, scales, _, size, _ = view.glimpses.shape
    return {
        "kind": "glimpses",
        "name": view.name,
        "mechanism": view.mechanism,
        "image": image(view.image),
        "places": places(view.locations, height, width).round(3).tolist(),
        "boxes": boxes(view.locations, height, width, size=size, scales=scales).tolist(),
        "colours": [to_hex(one) for one in step_colours(steps)],
        "glimpses": [[image(one)["uri"] for one in step] for step in view.glimpses],
    }


def image(pixels: Tensor) -> dict[str, Any]:
    """An image `(C, H, W)` in [0, 1] as a data URI, with its size: small ones exact, photos as JPEG."""
    levels = (channels_last(pixels.float().cpu().numpy()) * 255).round().astype(np.uint8)
    kind = "PNG" if levels.shape[0] * levels.shape[1] <= _EXACT else "JPEG"
    file = io.BytesIO()
    Image.fromarray(levels).save(file, kind, quality=90)
    uri = f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
    return {"uri": uri, "width": levels.shape[1], "height": levels.shape[0]}


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
