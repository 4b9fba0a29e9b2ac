"""Trains `experiment=ram_mnist_6` with train.py, one episode with each image, in float32; prints the speed.

python zoo_ram.py DATA_DIR STEPS
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

data_dir, steps = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    command = [
        *(sys.executable, str(Path(__file__).resolve().parents[2] / "train.py")),
        *(
            "experiment=ram_mnist_6",
            "data.shift=0",  # as its peer has it
            "task.episodes=1",
            "trainer=cpu",
            "trainer.precision=32-true",
            "scheduler=constant",
        ),
        *(f"trainer.max_steps={steps}", "test=false", "logger=csv"),
        *(f"paths.data_dir={Path(data_dir).resolve()}", f"paths.runs_dir={folder}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    (results,) = Path(folder).rglob("results.json")
    trained = json.loads(results.read_text(encoding="utf-8"))
print(
    json.dumps(
        {
            "images_per_second": trained["per_second"]["images"],
            "peak_memory_mib": trained["peak_memory_bytes"] / 2**20,
        }
    )
)
