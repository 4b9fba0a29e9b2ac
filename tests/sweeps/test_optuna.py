"""Optimisation by Optuna: every trial counts something, and the same command takes a study up again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra `optuna`")
pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="needs the extra `optuna`")

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
START = (
    "import sys; from pathlib import Path; import train\n"
    "train.SCRIPT = Path(sys.argv[1]); sys.argv[:] = ['train.py', *sys.argv[2:]]; sys.exit(train.main())"
)
TINY = ["data=reverse", "trainer=debug", "logger=csv", "model.embedding_size=8", "model.hidden_size=8"]


def run(tmp_path: Path, script: Path, *line: str) -> tuple[int, str]:
    path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", START, str(script), *TINY, f"paths.runs_dir={tmp_path}/runs", "-m", *line],
        env={**os.environ, "PYTHONPATH": path},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def trials(tmp_path: Path) -> list[dict[str, object]]:
    (path,) = (tmp_path / "runs").glob("*.sqlite")
    code = (
        "import json, optuna, sys\n"
        "study = optuna.load_study(study_name=sys.argv[1], storage='sqlite:///' + sys.argv[2])\n"
        "print(json.dumps([{'state': t.state.name, 'value': t.value, 'params': t.params, "
        "'direction': study.direction.name} for t in study.trials]))"
    )
    import json

    said = subprocess.check_output([sys.executable, "-c", code, path.stem, str(path)], text=True)
    found: list[dict[str, object]] = json.loads(said.splitlines()[-1])
    return found


def test_a_trial_without_a_value_counts_the_worst(tmp_path: Path, fake_script: Path) -> None:
    """Seed 2 fails, whenever it is drawn; every other seed reaches 1.5 times itself."""
    line = ["hydra/sweeper=optuna", "hydra/sweeper/sampler=grid", "seed=choice(3,2,1)", "sweep.worst=-7"]
    code, said = run(tmp_path, fake_script, *line)
    assert code == 1, said
    found = trials(tmp_path)
    assert {trial["params"]["seed"]: trial["value"] for trial in found} == {3: 4.5, 2: -7.0, 1: 1.5}  # type: ignore[index]
    assert {trial["state"] for trial in found} == {"COMPLETE"}
    assert {trial["direction"] for trial in found} == {"MAXIMIZE"}


def test_the_same_command_goes_on(tmp_path: Path, fake_script: Path) -> None:
    line = ["hydra/sweeper=optuna", "optimizer.lr=interval(0.001,0.01)"]
    for wanted in (2, 3):
        code, said = run(tmp_path, fake_script, *line, f"hydra.sweeper.n_trials={wanted}")
        assert code == 0, said
        found = trials(tmp_path)
        assert len(found) == wanted
        assert len({str(trial["params"]) for trial in found}) == wanted, "nothing is drawn twice"
    code, said = run(tmp_path, fake_script, *line, "hydra.sweeper.n_trials=3")
    assert code == 2
    assert "has 3 trials already" in said
    assert len(list(tmp_path.glob("runs/*/*/sweep.json"))) == 2, "a refused command leaves nothing"
