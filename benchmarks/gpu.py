"""All measurements on a GPU by one command, in minutes, without a data set or a network connection.

    python benchmarks/gpu.py                       # 8 minutes at most; results/benchmarks/gpu_<card>.json
    python benchmarks/gpu.py --only base --only models --minutes 4
    python benchmarks/gpu.py --device cpu          # the same at tiny sizes: whether it runs at all

The file is written anew after every measurement, so an interrupted run keeps its results. The parts, most
important first: `tests` (those with the marker gpu), `base` (Transformer base on 64 x 512 tokens: model FLOPs
utilisation), `models` (speed, memory and loss of the large models in every precision), `search` (beam 5),
`reading` (fused attention beside plain products), `windows` (self-attention of up to 65,536 positions),
`others` (as `models`, of text classifiers, matching, language models and the Neural Turing Machine) and
`peers` (Hugging Face's Marian). `gpu_wheels.txt` lists what a bare machine needs, and how to install it.
"""

import math
import re
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import typer
from on_gpu.parts import PARTS
from on_gpu.setting import Setting

from zoo.core.files import write_json
from zoo.runs.results import machine
from zoo.runtime.flops import peak_flops

RESULTS = Path(__file__).resolve().parents[1] / "results" / "benchmarks"


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"parts: {', '.join(PARTS)}; all by default")] = None,
    minutes: Annotated[float, typer.Option(help="after which nothing new begins")] = 8.0,
    device: Annotated[str, typer.Option(help="cuda, or cpu at tiny sizes")] = "cuda",
    output: Annotated[Path | None, typer.Option(help="the file; of the card's name by default")] = None,
) -> None:
    """Measures part after part, and writes the file after every measurement."""
    if unknown := set(only or ()) - PARTS.keys():
        raise SystemExit(f"there is no part {', '.join(sorted(unknown))}; allowed: {', '.join(PARTS)}")
    if device.partition(":")[0] not in ("cuda", "cpu"):
        raise SystemExit(f"--device is cuda or cpu, got {device}")
    if not 0 < minutes < math.inf:
        raise SystemExit(f"--minutes must be above 0, got {minutes:g}")
    where = torch.device(device)
    if where.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU on this machine; --device cpu tries everything at tiny sizes")
    card = torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu"
    file = output or RESULTS / f"gpu_{re.sub('[^a-z0-9]+', '_', card.lower().removeprefix('nvidia '))}.json"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends what `tests` started, too
    measure(Setting(where, tiny=where.type == "cpu", minutes=minutes), only or list(PARTS), card, file)


def measure(setting: Setting, names: Sequence[str], card: str, file: Path) -> None:
    """Runs the parts in order; one that fails does not stop the others."""
    peak = peak_flops(setting.device)
    found: dict[str, Any] = {
        "card": card,
        "peak_tflops": peak and peak / 1e12,
        "tiny": setting.tiny,
        "torch": torch.__version__,
        "machine": machine(),
        "seconds": {},
        "parts": {},
        "not_reached": [name for name in PARTS if name in names],
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, found)
    except OSError as error:
        raise SystemExit(f"{file} cannot be written: {error.strerror}") from error
    for name in list(found["not_reached"]):
        if setting.seconds_left <= 0:
            break
        found["not_reached"].remove(name)
        figures, start = found["parts"].setdefault(name, {}), time.monotonic()
        for what, take in PARTS[name](setting):
            try:
                measured = take()
            except Exception:  # the other measurements are worth as much
                measured = {"error": traceback.format_exc()[-3000:]}
            figures[what] = measured
            found["seconds"][name] = round(time.monotonic() - start, 1)
            write_json(file, found)
            print(f"{name}: {what}: {_line(measured)}", flush=True)
            if setting.seconds_left <= 0:
                figures["cut"] = f"after {what}: {setting.minutes:g} minutes were over"
                write_json(file, found)
                break
    print(f"written: {file}")


def _line(figures: dict[str, Any]) -> str:
    if "error" in figures:
        return str(figures["error"])
    numbers = {key: value for key, value in figures.items() if isinstance(value, int | float)}
    return ", ".join(f"{key} {value:.4g}" for key, value in numbers.items())


if __name__ == "__main__":
    typer.run(main)
