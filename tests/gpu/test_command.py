"""The command that measures a GPU, tried on a CPU."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(COMMAND), *arguments], capture_output=True, text=True)


@pytest.mark.slow
def test_every_part_runs_on_a_cpu(tmp_path: Path) -> None:
    file = tmp_path / "gpu.json"
    done = ran("--device", "cpu", "--minutes", "15", "--output", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["not_reached"] == []
    assert [name for name, figures in found["parts"].items() if "cut" in figures] == []
    taken = [figures for part in found["parts"].values() for figures in part.values()]
    assert [figures["error"] for figures in taken if "error" in figures] == []
    assert found["parts"]["tests"]["all"]["exit_code"] == 0, found["parts"]["tests"]["all"]["output"]
    for figures in found["parts"]["base"].values():
        # 32 tokens; the formula of docs/speed.md, by hand: both layers, what crosses, the vocabulary
        layer = 4 * 32 * 32 + 2 * 32 * 64 + 2 * 8 * 32
        assert figures["flops"] == 3 * 2 * 32 * (2 * layer + 4 * 32 * 32 + 2 * 8 * 32 + 100 * 32)
    counted = found["parts"]["models"]["transformer base, 32-true"]["flops_per_token"]
    assert counted * 32 == found["parts"]["base"]["32-true"]["flops"], "the counter agrees with the formula"


@pytest.mark.slow
def test_what_was_measured_before_the_end_counts(tmp_path: Path) -> None:
    file = tmp_path / "gpu.json"
    parts = ("--only", "base", "--only", "windows")
    done = ran("--device", "cpu", "--minutes", "0.01", *parts, "--output", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["not_reached"] == ["windows"]
    *measured, last = found["parts"]["base"]
    assert last == "cut"
    assert 1 <= len(measured) < 4  # how many begin in 0.6 seconds depends on the machine


@pytest.mark.slow
def test_an_error_costs_one_measurement(tmp_path: Path) -> None:
    """As one that a smaller card has no memory for."""
    file = tmp_path / "gpu.json"
    broken = f"""
import sys
sys.argv[1:] = ["--device", "cpu", "--only", "windows", "--output", {str(file)!r}]
sys.path.insert(0, {str(COMMAND.parent)!r})
import gpu, typer, on_gpu.parts as parts
read = parts._read_near
parts._read_near = lambda setting, length, window: 1 / 0 if length == 64 else read(setting, length, window)
typer.run(gpu.main)
"""
    subprocess.run([sys.executable, "-c", broken], check=True)
    windows = json.loads(file.read_text(encoding="utf-8"))["parts"]["windows"]
    assert "ZeroDivisionError" in windows["64 positions, all"]["error"]
    assert windows["128 positions, window"]["milliseconds"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nothing"], "there is no part nothing; allowed: tests, base"),
        (["--device", "tpu"], "cuda or cpu"),
        (["--device", "cpu", "--minutes", "0"], "--minutes must be above 0, got 0"),
        (["--device", "cpu", "--output", "/tmp"], "/tmp cannot be written: Is a directory"),
    ],
)
def test_mistakes(arguments: list[str], said: str) -> None:
    done = ran(*arguments)
    assert done.returncode
    assert said in done.stderr
    assert "Traceback" not in done.stderr
