"""Stands in for train.py in tests of sweeps: a job without torch, which does what its configuration says."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from zoo.core.lock import RunLock
from zoo.runs.status import State, StatusFile


class Preempted(BaseException):
    pass


class Pruned(Exception):
    pass


def preempt(number: int, frame: object) -> None:
    raise Preempted(number)


def told(config: str) -> str:
    """What to do: `act`, or in a real configuration what the seed means."""
    act = re.search(r'"act": "(\w+)"', config)
    seed = re.search(r"^seed: (\d+)", config, re.MULTILINE)
    acts = {"2": "raise", "4": "die", "6": "prune"}
    return act[1] if act else acts.get(seed[1] if seed else "", "finish")


def work(act: str, folder: Path) -> None:
    print("works", flush=True)
    if act == "raise":
        raise RuntimeError("as it was told")
    if act == "prune":
        raise Pruned("as it was told")
    if act == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    if act in ("wait", "deaf"):
        (folder / "ready").touch()
        time.sleep(60)
    if act == "nap":
        time.sleep(0.5)
    if act == "leave":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (folder / "child").write_text(str(child.pid))


def main() -> int:
    config_file = Path(sys.argv[sys.argv.index("--frozen") + 1])
    folder, act = config_file.parent, told(config_file.read_text())
    resumed = "--resume" in sys.argv
    if act == "import":
        raise ImportError("no such thing")
    if resumed and act in ("raise", "die", "wait", "deaf"):
        act = "finish"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, preempt)
    status = StatusFile(folder)
    with RunLock(folder):
        status.start(status.read().overrides)
        seen = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")}
        seen |= {"session": os.getsid(0), "stdin": sys.stdin.read(), "start": time.time()}
        try:
            work(act, folder)
        except Preempted as error:
            status.end(State.PREEMPTED, exit_code=128 + error.args[0])
            return 128 + int(error.args[0])
        except Pruned as error:
            status.end(State.PRUNED, exit_code=0, exception=error)
            return 0
        except RuntimeError as error:
            status.end(State.FAILED, exit_code=1, exception=error)
            raise
        finally:
            (folder / "seen.json").write_text(json.dumps({**seen, "end": time.time(), "resumed": resumed}))
        seed = re.search(r"^seed: (\d+)", config_file.read_text(), re.MULTILINE)
        best = {"metric": "val/chrf", "value": 1.5 * int(seed[1]) if seed else 5.0}
        (folder / "results.json").write_text(json.dumps({"checkpoint": best, "seconds": 7.0}))
        (folder / "checkpoints").mkdir(exist_ok=True)
        (folder / "checkpoints" / "best.ckpt").write_bytes(b"weights")
        (folder / "metrics.csv").write_text("step,name,value\n1,val/chrf,5.0\n")
        status.end(State.FINISHED, exit_code=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
