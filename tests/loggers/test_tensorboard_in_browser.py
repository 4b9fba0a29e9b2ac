"""TensorBoard, in headless Chromium, shows the curves, pictures, samples and settings of a run."""

import importlib.util
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image

from zoo.loggers.tensorboard import TensorBoardLogger

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="needs the extra tensorboard"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--virtual-time-budget=30000", "--window-size=1280,4000"),
)
RUN, TEXT = "2026-01-31/12-00-00_a_1f2e3d4c/tensorboard", "val/samples/text_summary"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of TensorBoard as `zoo watch --tensorboard` starts it, on a run that has a bit of everything."""
    run = tmp_path / "runs" / Path(RUN).parent
    logger = TensorBoardLogger(folder=run)
    logger.log_hyperparams({"attention": {"_target_": "zoo.Dot"}, "task": {"monitor": "val/chrf"}})
    for step in (1, 2, 3):
        logger.log_metrics({"train/loss": 1.0 / step, "val/chrf": 10.0 * step}, step=step)
    Image.new("RGB", (120, 80), (10, 200, 30)).save(tmp_path / "a.png")
    logger.log_image("val/alignments", tmp_path / "a.png", 3)
    logger.log_table("val/samples", ["source", "prediction"], [["le 3 mars", "2021-03-03"]], 3)
    logger.finalize("success")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path / "runs")]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            yield _awaited(f"http://localhost:{port}")
        finally:
            server.terminate()


def _awaited(address: str) -> str:
    """The address, once the run can be seen there."""
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"{address}/data/runs", timeout=10) as answer:
                if b"1f2e3d4c" in answer.read():
                    return address
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError("TensorBoard does not answer")


def _asked(address: str, question: str, body: bytes | None = None) -> str:
    """What TensorBoard's server answers to its page."""
    request = urllib.request.Request(
        f"{address}/data/{question}", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def test_logged_values_are_shown(address: str, tmp_path: Path) -> None:
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [str(CHROMIUM), *OPTIONS, profile, "--dump-dom", f"{address}/#timeseries"],
        capture_output=True,
        text=True,
        timeout=180,
    )
    page = re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)
    for name in ("train/loss", "val/chrf", "val/alignments"):
        assert name in page
    assert re.search(r'<img[^>]+src="[^"]*(blob|image)[^"]*"', page, re.IGNORECASE), "the picture itself"
    # The other tabs draw in shadow roots, which no dump shows.
    samples = _asked(address, f"plugin/text/text?run={quote(RUN, safe='')}&tag={quote(TEXT, safe='')}")
    assert "<td>2021-03-03</td>" in samples
    settings = json.loads(_asked(address, "plugin/hparams/experiment", b"{}"))
    assert [setting["name"] for setting in settings["hparamInfos"]] == ["attention", "task/monitor"]
    assert {metric["name"]["tag"] for metric in settings["metricInfos"]} == {"val/chrf", "test/chrf"}
