"""A page in headless Chromium: steps are taken in it, and it says no error and asks nobody for anything."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--virtual-time-budget=20000",
)
WATCH = """
const problems = [];
addEventListener("error", (event) => problems.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => problems.push(`rejected: ${event.reason}`));
document.addEventListener("securitypolicyviolation", (event) =>
  problems.push(`${event.violatedDirective}: ${event.blockedURI}`));
for (const kind of ["error", "warn"])
  console[kind] = (...words) => problems.push(`${kind}: ${words.join(" ")}`);
"""
REPORT = """
const pause = () => new Promise((done) => setTimeout(done, 200));
(async () => {
  const found = {};
  try { await (async () => { %s })(); } catch (error) { problems.push(`step: ${error.stack}`); }
  await pause();
  found.problems = problems;
  found.requests = performance.getEntriesByType("resource").map((entry) => entry.name)
    .filter((name) => !name.startsWith("data:"));
  const report = document.createElement("pre");
  report.id = "report";
  report.textContent = JSON.stringify(found);
  document.body.append(report);
})();
"""


def watched(text: str, steps: str) -> str:
    """A page that watches for errors and, once it is there, takes steps and reports.

    Args:
        text: the page.
        steps: JavaScript that puts what it finds into `found`.
    """
    first, rest = text.split("<script", 1)
    text = f"{first}<script>{WATCH}</script><script{rest}"
    return text.replace("</body>", f"<script>{REPORT % steps}</script></body>")


def visit(address: str, folder: Path, *, width: int = 1280) -> dict[str, Any]:
    """Opens the address of a watched page and tells what it reports; no error is among it.

    Args:
        address: of the page.
        folder: where the browser keeps its files.
        width: of the window, in pixels.
    """
    own = (f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1000")
    done = subprocess.run(
        [str(CHROMIUM), *OPTIONS, *own, "--dump-dom", address],
        capture_output=True,
        text=True,
        timeout=120,
    )
    report = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, re.DOTALL)
    assert report, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(unescape(report[1]))
    assert found["problems"] == []
    return found


def open_page(text: str, folder: Path, steps: str, *, width: int = 1280) -> dict[str, Any]:
    """Opens a page that needs nothing but itself, does something in it and tells what was found.

    Args:
        text: the page.
        folder: where it is written, and where the browser keeps its files.
        steps: see `watched`.
        width: of the window, in pixels.
    """
    path = folder / "page.html"
    path.write_text(watched(text, steps), encoding="utf-8")
    found = visit(path.as_uri(), folder, width=width)
    assert found["requests"] == []
    return found
