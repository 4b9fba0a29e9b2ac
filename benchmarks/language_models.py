"""Training speed of language models, beside nanoGPT and beside the same networks as mostly written.

All sides train on the same batches of made-up tokens, with the same sizes, in float32 on one thread. GPT has
the sizes of `shakespeare_gpt_small` and stands beside nanoGPT's own code, once more in `bf16-mixed`, which
nanoGPT does not have on a CPU; the others are plain torch: a loop over the steps of a window where attention
reads the past, and scores of all tokens where few are masked. The figure is tokens per second, embeddings,
clipping and optimiser included. Sides run in turn, each in its own process, the peers as they are shipped;
the ratio is taken round by round.

    python benchmarks/language_models.py --peer FOLDER

where FOLDER holds https://github.com/karpathy/nanoGPT. With `--train` it runs nanoGPT's recipe for a CPU and
`experiment=shakespeare_gpt_small` instead, and that once more with as many steps as fit into nanoGPT's time,
and prints seconds of training and the loss over all of the validation text; nanoGPT trains on the 5 % more of
the text that are a test here.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from side_by_side import DRIVERS, HERE, DataDir, Output, Rounds, Side, compare, save

sys.path.insert(0, str(DRIVERS))

from languages import NETWORKS

STEPS = 2000
MIXED = "gpt_bf16"
"""GPT in bfloat16, beside nanoGPT in float32 again: on a CPU it has nothing else."""


def main(
    peer: Annotated[str, typer.Option(help="the folder of nanoGPT; without, it is left out")] = "",
    train: Annotated[bool, typer.Option(help="whole trainings on tiny Shakespeare instead")] = False,
    network: Annotated[list[str] | None, typer.Option(help="only this one; all by default")] = None,
    data_dir: DataDir = Path("."),
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option(help="least time of one run")] = 8.0,
    same_allocator: Annotated[bool, typer.Option(help="peers get our allocator setting too")] = False,
    output: Output = None,
) -> None:
    """Runs every network on both sides in turn and prints the ratios."""
    if train:
        if not peer:
            raise typer.BadParameter("give the folder of nanoGPT", param_hint="--peer")
        save(trainings(peer, data_dir), output)
        return
    summary = {}
    for name in network or [*NETWORKS, MIXED]:
        beside_nanogpt = name in ("gpt", MIXED)
        if beside_nanogpt and not peer:
            continue
        print(name)
        ours = ["gpt", str(seconds), "bf16"] if name == MIXED else [name, str(seconds)]
        sides = {"attention-zoo": Side(sys.executable, "zoo_languages.py", ours, True)}
        if beside_nanogpt:
            sides["nanoGPT"] = Side(sys.executable, "nanogpt.py", [peer, str(seconds)], same_allocator)
        else:
            arguments = [name, str(seconds)]
            written = Side(sys.executable, "torch_languages.py", arguments, same_allocator)
            sides["as mostly written"] = written
        summary[name] = compare(sides, "tokens_per_second", rounds)
        save(summary, output)


def trainings(peer: str, data_dir: Path) -> dict[str, Any]:
    """Seconds of training and loss on validation text: nanoGPT's, ours, and ours in nanoGPT's time."""
    text = str(data_dir.resolve() / "tinyshakespeare" / "input.txt.gz")
    command = [sys.executable, "nanogpt.py", str(Path(peer).resolve()), str(STEPS), text]
    done = subprocess.run(command, cwd=DRIVERS, check=True, stdout=subprocess.PIPE, text=True)
    theirs = {"steps": STEPS, **json.loads(done.stdout.splitlines()[-1])}
    print("nanoGPT", theirs, flush=True)
    ours = _ours(STEPS, data_dir)
    print("attention-zoo", ours, flush=True)
    as_long = _ours(round(STEPS * theirs["seconds"] / ours["seconds"]), data_dir)
    print("attention-zoo, nanoGPT's time", as_long, flush=True)
    return {"nanoGPT": theirs, "attention-zoo": ours, "attention-zoo, nanoGPT's time": as_long}


def _ours(steps: int, data_dir: Path) -> dict[str, float]:
    """A run of the recipe."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [
            *("trainer=cpu", "logger=csv", "test=false", f"paths.runs_dir={folder}"),
            *(f"paths.data_dir={data_dir.resolve()}", f"trainer.max_steps={steps}"),
        ]
        command = [sys.executable, "train.py", "experiment=shakespeare_gpt_small", *settings]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.DEVNULL, env=environment)
        (results,) = Path(folder).rglob("results.json")
        found = json.loads(results.read_text())
    sizes = NETWORKS["gpt"]
    seconds = steps * sizes.rows * sizes.steps / found["per_second"]["tokens"]
    return {"steps": steps, "seconds": seconds, "loss": found["val"]["loss"]}


if __name__ == "__main__":
    typer.run(main)
