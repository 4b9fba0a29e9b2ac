"""Every command that docs/sweeps.md shows is executed; the jobs are stand-ins that take no time."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra
from typer.testing import CliRunner

import train
from zoo.cli.app import main as zoo
from zoo.config import resolvers
from zoo.runs.status import State, StatusFile
from zoo.sweeps.record import read_sweep

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "sweeps.md"
BLOCKS = re.findall(r"^```bash\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
COMMANDS = [shlex.split(line) for block in BLOCKS for line in block.splitlines()]
SWEEPS = [command[2:] for command in COMMANDS if command[:2] == ["python", "train.py"]]
NEEDS = {"hydra/launcher=slurm": "hydra_submitit_launcher"}
JOBS = {
    "sweep=policy_matrix": 9,
    "sweep.name=scores": 18,
    "either=(attention=dot,model.hidden_size=64),(attention=additive,model.hidden_size=32)": 4,
    "either=(selection=soft,hard),(selection=local_monotonic,selection.window=1,2,4)": 5,
    "seed=1,2,3": 3,
    "seed=1,2,3,4": 4,
    "trainer=ddp_cpu": 2,
}
"""How many jobs a command starts, by a word of it."""


def test_all_kinds_are_known() -> None:
    others = [" ".join(command) for command in COMMANDS if command[:2] != ["python", "train.py"]]
    assert {line.partition(" ")[0] for line in others} == {"pip", "zoo"}


@pytest.mark.parametrize("line", SWEEPS, ids=" ".join)
def test_is_executed(
    line: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_script: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for word, plugin in NEEDS.items():
        if word in line and not importlib.util.find_spec(f"hydra_plugins.{plugin}"):
            pytest.skip("needs an extra")
    if "hydra/launcher=slurm" in line:
        line = [*line, "check=true"]  # there is no SLURM here; tests/sweeps/test_slurm.py has a stand-in
    monkeypatch.setattr(train, "SCRIPT", fake_script)
    monkeypatch.setattr(sys, "argv", ["train.py", *line, f"paths.runs_dir={tmp_path}/runs"])
    resolvers.register()
    try:
        code = train.main()
    finally:
        GlobalHydra.instance().clear()
    if "check=true" in line:
        assert code == 0, capsys.readouterr().err
        assert "configurations are fine" in capsys.readouterr().out
        return
    (record,) = tmp_path.glob("runs/*/*/sweep.json")
    sweep = read_sweep(record.parent)
    fails = any(job.config["seed"] in (2, 4) for job in sweep.jobs)  # by the nature of the stand-in
    assert code == int(fails), capsys.readouterr().err
    expected = next((jobs for word, jobs in JOBS.items() if word in line), None)
    assert expected is None or len(sweep.jobs) == expected

    checkout = project(tmp_path, fake_script)
    again = CliRunner().invoke(zoo, ["resume", str(sweep.folder), "--project", str(checkout)])
    assert again.exit_code == 0, again.output
    assert {StatusFile(job.folder).read().state for job in sweep.jobs} == {State.FINISHED}


def project(tmp_path: Path, script: Path) -> Path:
    """A checkout whose train.py is the stand-in."""
    (tmp_path / "project" / "conf").mkdir(parents=True)
    (tmp_path / "project" / "train.py").symlink_to(script)
    return tmp_path / "project"
