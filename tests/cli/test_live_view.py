"""`zoo watch`: the runs of a folder in the terminal, live, from their own files."""

import threading
from io import StringIO
from pathlib import Path

import yaml
from rich.console import Console
from typer.testing import CliRunner

from zoo.cli.app import main
from zoo.cli.live_view import show
from zoo.cli.plot import plot
from zoo.runs.status import Progress, State, StatusFile


def make(folder: Path, name: str, values: dict[int, float], state: State | None = State.FINISHED) -> Path:
    """A run with these values of val/exact_match; None is one that still trains."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        yaml.safe_dump({"name": name, "task": {"monitor": "val/exact_match"}})
    )
    status = StatusFile(folder)
    status.start(["experiment=reverse"])
    if values:
        step, best = max(values), max(values.values())
        status.beat(Progress(step, 200, seconds_left=90.0, metric="val/exact_match", best=best))
        rows = [
            f"{step},{name},{value}"
            for step, value in values.items()
            for name in ("val/exact_match", "val/a")
        ]
        rows += [f"{step},train/loss,{2 - value}" for step, value in values.items()]
        (folder / "metrics.csv").write_text("\n".join(["step,name,value", *rows]) + "\n")
    if state is not None:
        status.end(state, exit_code=0)
    return folder


def printed(folder: Path, **console: int) -> str:
    screen = StringIO()
    show(folder, Console(file=screen, width=100, **console), seconds=0.1)  # type: ignore[arg-type]
    return screen.getvalue()


def test_only_runs_of_the_folder_by_their_names_with_the_monitored_metric_first(tmp_path: Path) -> None:
    make(tmp_path / "one" / "12_a_1f2e3d4c", "reverse attention=dot", {50: 0.25, 100: 0.75, 150: 0.5})
    make(tmp_path / "one" / "12_b_5a6b7c8d", "reverse attention=general", {50: 0.125}, State.FAILED)
    make(tmp_path / "two" / "12_c_00000000", "another", {50: 0.9})
    lines = printed(tmp_path / "one").splitlines()
    assert lines[0] == f"1 finished, 1 failed   {tmp_path}/one"
    assert lines[1].split() == [
        "run",
        "val/exact_match",
        "best",
        "state",
        "step",
        "train/loss",
        "left",
        "age",
    ]
    assert lines[2].split()[:7] == ["●", "reverse", "attention=dot", "0.5", "0.75", "finished", "150/200"]
    assert lines[3].split()[:6] == ["●", "reverse", "attention=general", "0.125", "0.125", "failed"]
    assert "another" not in "\n".join(lines)
    assert lines[5] == "val/exact_match"
    assert lines[6].lstrip().startswith("0.75 │")
    assert lines[-1].endswith("step 150")


def test_runs_with_one_name_are_told_apart(tmp_path: Path) -> None:
    for identity in ("1f2e3d4c", "5a6b7c8d"):
        make(tmp_path / f"12_a_{identity}", "reverse", {50: 0.5})
    text = printed(tmp_path)
    assert "reverse 1f2e3d4c" in text
    assert "reverse 5a6b7c8d" in text


def test_what_has_measured_nothing_yet_is_listed_without_curves(tmp_path: Path) -> None:
    make(tmp_path / "12_a_1f2e3d4c", "reverse", {}, State.PREEMPTED)
    lines = printed(tmp_path).splitlines()
    assert lines[2].split()[:2] == ["reverse", "preempted"]
    assert len(lines) == 3


def test_of_damaged_files_the_rest_is_shown(tmp_path: Path) -> None:
    folder = make(tmp_path / "12_a_1f2e3d4c", "reverse", {50: 0.5})
    (folder / "config.yaml").write_text("[")
    (folder / "metrics.csv").write_text("step,name,value\n1,2\n")
    assert "12_a_1f2e3d4c" in printed(tmp_path)


def test_a_terminal_shows_the_newest_that_fit(tmp_path: Path) -> None:
    for number in range(30):
        make(tmp_path / f"{number:02}_a_{number:08}", f"run{number:02}", {50: 0.5})
    text = printed(tmp_path, height=24, force_terminal=True)
    assert "run29" in text
    assert "run05" not in text
    assert "older runs are not shown" in text
    assert len(text.splitlines()) <= 24


def test_in_a_narrow_terminal_numbers_stay_whole(tmp_path: Path) -> None:
    make(tmp_path / "12_a_1f2e3d4c", "reverse attention=dot model.hidden_size=64", {50: 0.0625, 150: 0.125})
    screen = StringIO()
    show(tmp_path, Console(file=screen, width=60), seconds=0.1)
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    head, line, *_ = lines[next(place for place, text in enumerate(lines) if text.startswith("run ")) :]
    assert head.split() == ["run", "val/exact_match", "best", "state"]
    assert line.split()[-3:] == ["0.125", "0.125", "finished"]
    assert "reverse attention=dot" in line
    assert "…" in line


class Awaited(StringIO):
    """A screen that says when there is something on it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = threading.Event()

    def write(self, text: str, /) -> int:
        written = super().write(text)
        if "val/exact_match" in self.getvalue():
            self.seen.set()
        return written


def test_a_run_that_trains_is_followed_to_its_end(tmp_path: Path) -> None:
    folder = make(tmp_path / "12_a_1f2e3d4c", "reverse", {50: 0.25}, None)

    screen = Awaited()

    def go_on() -> None:
        screen.seen.wait(timeout=60)
        with (folder / "metrics.csv").open("a") as file:
            file.write("100,val/exact_match,0.875\n")
        StatusFile(folder).end(State.FINISHED, exit_code=0)

    later = threading.Thread(target=go_on)
    later.start()
    show(tmp_path, Console(file=screen, width=100, height=40, force_terminal=True), seconds=0.1)
    later.join()
    text = screen.getvalue()
    assert "Ctrl-C leaves" in text
    last = text.rpartition("1 finished")[2]
    assert "0.875" in last
    assert "Ctrl-C" not in last


def test_the_command_prints_where_there_is_no_terminal(tmp_path: Path) -> None:
    make(tmp_path / "runs" / "12_a_1f2e3d4c", "reverse", {50: 0.25}, None)
    result = CliRunner().invoke(main, ["watch", str(tmp_path / "runs")])
    assert result.exit_code == 0, result.output
    assert "1 running" in result.stdout
    for folder, said in (
        (tmp_path / "empty", "there is no run in"),
        (tmp_path / "rums", "does not exist; did you mean"),
    ):
        if "empty" in folder.name:
            folder.mkdir()
        result = CliRunner().invoke(main, ["watch", str(folder)])
        assert (result.exit_code, said in " ".join(result.stderr.split())) == (2, True)
    assert CliRunner().invoke(main, ["watch", "--wandb", "--tensorboard", str(tmp_path)]).exit_code == 2


def test_curves_go_from_the_lowest_value_to_the_highest() -> None:
    lines = [
        line.plain for line in plot({"red": [(0, 1.0), (10, float("nan")), (20, 3.0)]}, width=20, height=4)
    ]
    assert [line[:2] for line in lines[:4]] == ["3 ", "2 ", "  ", "1 "]
    assert lines[0][-1] != " " == lines[0][4]
    assert lines[3][3] != " " == lines[3][-1]
    assert lines[4].endswith("step 20")
    assert plot({"red": []}, width=20, height=4) == []
    flat = plot({"red": [(5, 2.0)]}, width=20, height=5)
    assert len(flat) == 6
