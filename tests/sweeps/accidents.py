"""train.py with accidents: `ACCIDENTS="2:raise 4:SIGKILL 5:nan" python accidents.py ...`.

In the run with that seed the accident happens after its second step. Each start of a fit is a line in its
fits.txt.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import train

ACCIDENTS = dict(word.split(":") for word in os.environ.get("ACCIDENTS", "").split())
STEP = 2


class Accident(train.FinalValidation):
    """Added to every run."""

    def on_fit_start(self, trainer: Any, task: Any) -> None:
        with (Path(trainer.default_root_dir) / "fits.txt").open("a") as file:
            file.write(f"{os.getpid()} {trainer.global_rank}\n")

    def on_train_batch_end(self, trainer: Any, task: Any, outputs: Any, *rest: Any) -> None:
        accident = ACCIDENTS.get(os.environ["PL_GLOBAL_SEED"])
        if accident and trainer.global_step == STEP and trainer.is_global_zero:
            if accident == "nan":
                outputs["loss"].fill_(float("nan"))
            elif accident == "raise":
                raise RuntimeError("an accident")
            else:
                os.kill(os.getpid(), getattr(signal, accident))
        super().on_train_batch_end(trainer, task, outputs, *rest)


train.FinalValidation = Accident  # type: ignore[misc]
train.SCRIPT = Path(__file__).resolve()

if __name__ == "__main__":
    sys.exit(train.main())
