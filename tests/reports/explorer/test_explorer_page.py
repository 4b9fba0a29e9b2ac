"""The page of `zoo explore` as it is written."""

import base64
import io
import json
import re

import numpy as np
import pytest
import torch
from PIL import Image

from zoo.figures import ShadedSentence, ShadedText
from zoo.reports.explorer import page_data
from zoo.reports.explorer.page import page
from zoo.reports.explorer.page_data import image, packed, run_data
from zoo.tasks.exploration import Answer, Exploration, Shading, TokenReading

HOSTILE = '</script><img src=x onerror="alert(1)"><b>\u202eabc\u2028'


def reading(layers: int = 1, heads: int = 1, queries: int = 2, keys: int = 3) -> TokenReading:
    weights = torch.rand(layers, heads, queries, keys, generator=torch.Generator().manual_seed(0))
    words = [f"w{number}" for number in range(max(queries, keys))]
    return TokenReading("attention", weights, words[:queries], words[:keys], "written", "read")


def test_weights_are_bytes_of_the_largest() -> None:
    weights = reading(2, 3).weights * 0.01
    found = packed(weights)
    levels = np.frombuffer(base64.b64decode(found["weights"]), np.uint8)
    restored = levels.astype(np.float32) / 255 * found["largest"]
    assert restored == pytest.approx(weights.flatten().numpy(), abs=0.01 / 255)
    assert levels.max() == 255


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_weights_of_nothing_or_not_finite_count_as_nothing(value: float) -> None:
    found = packed(torch.full((1, 1, 2, 2), value))
    assert found["largest"] == 0
    assert base64.b64decode(found["weights"]) == bytes(4)


def test_nothing_in_the_data_ends_the_script() -> None:
    view = reading()._replace(queries=[HOSTILE, "b"], candidates=[[Answer(HOSTILE, 0.5)], []])
    text = page(HOSTILE, {HOSTILE: Exploration([Answer(HOSTILE)], [view], [HOSTILE])})
    assert HOSTILE not in text
    assert "<img" not in text
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert data["given"] == data["runs"][0]["name"] == data["runs"][0]["views"][0]["queries"][0] == HOSTILE


def test_what_looks_like_a_place_of_the_template_stays() -> None:
    assert "{{script}}" in page("{{script}}", {"run": Exploration([])})


def test_a_run_whose_name_is_no_text_has_a_page() -> None:
    assert b"What a\\udcff read" in page("x", {"a\udcff": Exploration([])}).encode()


def test_too_many_weights_are_cut_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_data, "MOST_WEIGHTS", 400)
    view = reading(2, 2, 30, 8)._replace(candidates=[[] for _ in range(30)])
    found = run_data("run", Exploration([], [view]))
    (cut,) = found["views"]
    assert (len(cut["queries"]), len(cut["keys"])) == (10, 8)
    assert len(base64.b64decode(cut["weights"])) == 2 * 2 * 10 * 8
    assert len(cut["candidates"]) == 10
    assert "first 10 of 30" in found["notes"][0]


def test_nothing_of_the_page_comes_from_elsewhere() -> None:
    text = page("a", {"run": Exploration([Answer("b", 0.5)], [reading()])})
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in text


@pytest.mark.parametrize("channels", [1, 3])
def test_small_images_are_exact(channels: int) -> None:
    pixels = torch.arange(channels * 6).view(channels, 2, 3) / 255
    found = image(pixels)
    assert (found["width"], found["height"]) == (3, 2)
    with Image.open(io.BytesIO(base64.b64decode(found["uri"].partition(",")[2]))) as read:
        levels = np.asarray(read).reshape(2, 3, channels)
    assert (levels == (pixels * 255).round().permute(1, 2, 0).numpy()).all()


def test_large_images_are_small_files() -> None:
    found = image(torch.rand(3, 400, 300))
    assert found["uri"].startswith("data:image/jpeg;base64,")
    assert (found["width"], found["height"]) == (300, 400)


def test_pages_are_small() -> None:
    """A sentence of 60 words with three kinds of attention in 8 layers of 8 heads, and a long document."""
    views = [reading(8, 8, 60, 60)] * 3
    assert len(page("words", {"run": Exploration([], views)})) < 1_000_000
    sentences = [ShadedSentence([" longer"] * 20, [0.05] * 20, 0.01)] * 100
    text = Shading("words", ShadedText(sentences))
    assert len(page(" longer" * 2000, {"run": Exploration([], [text])})) < 100_000
