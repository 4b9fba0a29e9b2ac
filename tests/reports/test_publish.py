"""Measured results become files, tables and pictures."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import typer
from published_runs import MACHINE, TASKS, read
from published_runs import results as of_runs
from typer.testing import CliRunner

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.reports import drawings
from zoo.reports.pages import write_pages
from zoo.reports.publish import main, publish, published, runs_of
from zoo.reports.tables import fault_table, summary, tables
from zoo.runs.results import config_hash
from zoo.runs.status import State, StatusFile
from zoo.sweeps.record import Sweep, SweepJob

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def results(
    seed: int, exact: float, *, name: str = "toy", hashed: str = "a", **more: float
) -> dict[str, Any]:
    content = of_runs("toy", seed, exact_match=exact, bleu=50.0, **more)
    return {**content, "name": name, "config_hash": hashed, "seconds": 90.0}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    return tmp_path


def make_run(folder: Path, content: dict[str, Any], *overrides: str) -> Path:
    folder.mkdir(parents=True)
    StatusFile(folder).start(["experiment=toy", "seed=1", "paths.runs_dir=elsewhere", *overrides])
    (folder / "results.json").write_text(json.dumps(content), encoding="utf-8")
    rows = ["step,name,value", "2,train/seconds,30.0", "2,val/exact_match,0.25", "4,train/seconds,60.0"]
    (folder / "metrics.csv").write_text("\n".join([*rows, "4,val/exact_match,0.5"]) + "\n", encoding="utf-8")
    line = {"split": "test", "id": 0, "input": "a b c", "references": ["x y z w"], "prediction": "x y z w"}
    other = {**line, "split": "test_unseen", "input": "a b c d e f g h i j"}
    lines = f"{json.dumps(line)}\n{json.dumps(other)}\n"
    (folder / "predictions.jsonl").write_text(lines, encoding="utf-8")
    StatusFile(folder).end(State.FINISHED, exit_code=0)
    return folder


def test_seeds_of_one_configuration_are_one_row_with_mean_and_deviation() -> None:
    typed = {**results(1, 0.5, hashed="b"), "overrides": ["attention=dot"]}
    text = tables(read([results(2, 0.9), results(1, 0.7), typed]))
    assert "| toy | 1, 2 | 0.800 ± 0.141 | 12,345 | 1.5 ± 0.0 | 1,000 |" in text
    assert "| attention=dot | 1 | 0.500 | 12,345 | 1.5 | 1,000 |" in text
    assert "(Some CPU, 2 cores, threads: 2)" in text


def test_what_an_override_changes_is_said_with_its_interval() -> None:
    """Of differences 0.1, 0.2 and 0.3 the mean is 0.2; t(0.975, 2) = 4.303 times 0.1 / sqrt(3) is 0.248."""
    recipe = [results(seed, 0.5) for seed in (1, 2, 3)]
    other = [
        {**results(seed, 0.5 + seed / 10, hashed="b"), "overrides": ["attention=dot"]} for seed in (3, 1, 2)
    ]
    alone = [{**results(1, 0.9, hashed="c"), "overrides": ["attention=cosine"]}]
    text = tables(read([*recipe, *other, *alone]))
    expected = "- `attention=dot` against the recipe, over seeds 1, 2, 3: exact_match +0.200 [-0.048, +0.448]"
    assert expected in text
    assert "`attention=cosine` against" not in text, "one seed has no interval"
    assert "against the recipe" not in tables(read(other)), "and nothing is compared without a recipe"
    mine = [{**row, "experiment": "ram_toys"} for row in [*recipe, *other]]
    beside = [{**row, "experiment": "fc_toys", "config_hash": "d"} for row in recipe]
    assert expected.replace("`", "`ram_toys,", 1) in tables(read([*beside, *mine])), "recipes share a table"


def test_rows_are_configurations_and_columns_name_their_split() -> None:
    unseen = {"test_unseen": {"exact_match": 0.25}}
    rows = [
        {**results(10, 0.5, alignment_accuracy=0.75), **unseen},
        {**results(2, 0.5, alignment_accuracy=0.75), **unseen},
        {**results(2, 1.0, hashed="b"), **unseen},  # the same name, another configuration
    ]
    text = tables(read(rows))
    _, head, _, first, second = [line for line in text.splitlines() if line]
    assert head.startswith(
        "| run | seeds | exact_match | alignment_accuracy | exact_match (test_unseen) | par"
    )
    assert first.startswith("| toy (a) | 2, 10 | 0.500 ± 0.000 | 0.750 ± 0.000 | 0.250 ± 0.000 | ")
    assert second.startswith("| toy (b) | 2 | 1.000 |  | 0.250 | ")


def test_bleu_is_shown_for_languages_only() -> None:
    assert "bleu" not in tables(read([results(1, 0.5)]))
    assert "| 50.0 | 48.0 |" in tables(read([results(1, 0.5, bleu_tok_lc=48.0)]))


def test_a_run_is_kept_with_its_learning_curve_and_the_readme_follows(project: Path, tmp_path: Path) -> None:
    speed = project / "results" / "speed" / "speed.json"  # measured by a benchmark: no run
    speed.parent.mkdir(parents=True)
    speed.write_text("{}", encoding="utf-8")
    said = {"better": "max", "digits": 3, "role": "quality", "headline": True, "items": "exact_match"}
    publish([make_run(tmp_path / "run", {**results(1, 0.5), "metrics": {"exact_match": said}})], project)
    kept = json.loads((project / "results" / "toy" / "toy_seed1.json").read_text(encoding="utf-8"))
    assert kept["learning_curve"] == {"step": [2, 4], "seconds": [30.0, 60.0], "value": [0.25, 0.5]}
    assert kept["item_scores"]["exact_match"]["predictions"] == 1, "of the predictions, where a run has none"
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"before\n{BEGIN}\n")
    assert readme.endswith(f"{END}\nafter\n")
    assert "old" not in readme
    assert "| toy | 1 | 0.500 |" in readme
    publish([], project)  # from what was kept alone
    assert (project / "README.md").read_text(encoding="utf-8") == readme


def test_a_run_is_named_by_what_was_typed(project: Path, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", results(1, 0.5, name="0"), "attention=dot", "selection=hard")
    publish([run], project)
    kept = project / "results" / "toy" / "attention=dot,selection=hard_seed1.json"
    overrides = json.loads(kept.read_text(encoding="utf-8"))["overrides"]
    assert overrides == ["attention=dot", "selection=hard"], "no seed, no folder of a machine"


def test_a_folder_of_this_machine_is_not_published(project: Path, tmp_path: Path) -> None:
    typed = "model.pretrained=/home/me/runs/12-00-00_imdb_1f2e3d4c"
    publish([make_run(tmp_path / "run", results(1, 0.5, name="0"), typed)], project)
    (kept,) = (project / "results" / "toy").glob("*.json")
    assert kept.name == "model.pretrained=12-00-00_imdb_1f2e3d4c_seed1.json"
    assert "/home" not in kept.read_text(encoding="utf-8")
    assert json.loads(kept.read_text(encoding="utf-8"))["recipe"], (
        "recipes that build on a run are told which"
    )


def test_what_repeats_the_recipe_stands_for_it(project: Path, tmp_path: Path) -> None:
    (project / "conf").symlink_to(Path(__file__).parents[2] / "conf")
    resolvers.register()
    for policy in ("learned", "random"):
        typed = ["experiment=ram_tracking", f"policy={policy}"]
        (job,) = compose_jobs(project / "conf", typed, multirun=False)
        content = results(1, 0.5, hashed=config_hash(job.config))
        content = {**content, "experiment": "ram_tracking", "name": policy}
        publish([make_run(tmp_path / policy, content, f"policy={policy}")], project)
    kept, refused = published(project / "results")
    assert refused == []
    assert {run.results["name"]: run.results.get("recipe", False) for run in kept} == {
        "learned": True,
        "random": False,
    }
    assert [line.split(" | ")[0] for line in summary(kept).split("\n")[3:-2]] == ["| `ram_tracking`"]
    assert tables(kept).count("| policy=") == 2, "where all are told apart, what was typed names it"


def test_a_group_within_a_group_is_no_folder(project: Path, tmp_path: Path) -> None:
    overrides = ["sweep=matrix", "model/decoder=none", "~model.decoder.input_feeding=null"]
    publish([make_run(tmp_path / "run", results(1, 0.5), *overrides)], project)
    kept = json.loads((project / "results" / "toy" / "model-decoder=none_seed1.json").read_text("utf-8"))
    assert kept["overrides"] == ["model/decoder=none"]
    assert "| model/decoder=none | 1 | 0.500 |" in (project / "README.md").read_text(encoding="utf-8")


def test_however_much_was_typed_a_name_fits_and_tells_apart(project: Path, tmp_path: Path) -> None:
    much = [f"data.corpus.setting_{number}=value" for number in range(20)]
    runs = [
        make_run(tmp_path / last, results(1, 0.5), *much, f"attention={last}") for last in ("dot", "cosine")
    ]
    publish(runs, project)
    assert len(list((project / "results" / "toy").iterdir())) == 2


def test_of_a_sweep_the_finished_runs_are_kept(tmp_path: Path) -> None:
    sweep, done, failed = tmp_path / "sweep", tmp_path / "sweep" / "done", tmp_path / "sweep" / "failed"
    make_run(done, results(1, 0.5))
    failed.mkdir()
    for folder in (done, failed):
        (folder / "config.yaml").write_text("seed: 1\n", encoding="utf-8")
    jobs = [SweepJob(number, folder, [], {"seed": 1}) for number, folder in enumerate((done, failed))]
    Sweep(sweep, [], "local", "union", None, {}, jobs).write()
    alone = tmp_path / "alone"
    assert runs_of([sweep, alone]) == ([done, alone], [failed])


COUNTED = {"mean_length": [3.0], "bleu": [50.0], "sentences": [1.0]}


def learned(name: str, seed: int, *overrides: str, cores: int = 2) -> dict[str, Any]:
    curve = {"step": [2, 4], "seconds": [30.0 * seed, 60.0 * seed], "value": [0.25, 0.5]}
    more = {"learning_curve": curve, "machine": {**MACHINE, "cores": cores}, "bleu_by_source_words": COUNTED}
    return of_runs(name, seed, *overrides, exact_match=0.5) | more


def test_recipes_as_they_stand_are_drawn_by_length_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes are those of one machine."""
    lengths, curves = MagicMock(), MagicMock()
    monkeypatch.setattr(drawings, "draw_score_by_length", lengths)
    monkeypatch.setattr(drawings, "draw_learning_curve", curves)
    rows = [
        learned("a", 1),
        learned("a", 2),
        learned("a", 3, cores=1),
        learned("b", 1),
        learned("b", 1, "x=y"),
    ]
    rows[1]["bleu_by_source_words"] = COUNTED | {"bleu": [80.0]}
    runs = read([*rows, of_runs("c", 1, exact_match=0.5)])
    assert drawings.learning_curves(runs) is curves.return_value
    minutes = {"a, 2 seeds": ([0.75, 1.5], [0.25, 0.5]), "b": ([0.5, 1.0], [0.25, 0.5])}
    assert curves.call_args.args == (minutes,)
    assert drawings.by_length(runs) is lengths.return_value
    assert lengths.call_args.args[0]["a, 3 seeds"] == ([3.0], [pytest.approx(60.0)], [1.0])
    said = {"score": "bleu", "length": "source words", "items": "sentences"}
    assert lengths.call_args.kwargs == said | {"title": "toy: bleu by source words"}
    assert drawings.by_length(runs[-1:]) is drawings.learning_curves(runs[-1:]) is None


def test_seeds_that_stopped_at_different_times_share_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = MagicMock()
    monkeypatch.setattr(drawings, "draw_learning_curve", curves)
    first, second = learned("a", 1), learned("a", 2)
    first["learning_curve"] = {"step": [2, 4, 6], "seconds": [60.0, 60.0, 90.0], "value": [0.25, 0.5, 0.75]}
    drawings.learning_curves(read([first, second]))
    assert curves.call_args.args == ({"a, 2 seeds": ([1.0, 1.5], [0.25, 0.5])},)


def test_a_picture_is_drawn_where_a_page_asks_and_its_text_stays(project: Path) -> None:
    text = (
        "a\n<!-- curves minutes data=toy:begin -->\n![what](docs/pictures/minutes.png)\n<!-- curves:end -->\n"
    )
    (project / "README.md").write_text(text, encoding="utf-8")
    write_pages(project, read([learned("a", 1)]))
    assert (project / "README.md").read_text(encoding="utf-8") == text
    assert (project / "docs" / "pictures" / "minutes.png").read_bytes().startswith(b"\x89PNG")


def test_a_bad_file_is_named_and_stops_no_page(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "results" / "toy"
    folder.mkdir(parents=True)
    bad = {
        "damaged": "{",
        "list": "[1]",
        "no_headline": json.dumps(of_runs("toy", 1, chrf=3.0)),
        "unknown_task": json.dumps(of_runs("toy", 1, exact_match=0.5) | {"task": "nobodys.Task"}),
        "no_machine": json.dumps(of_runs("toy", 1, exact_match=0.5) | {"machine": {"cores": 1}}),
        "odd_record": json.dumps(
            of_runs("toy", 1, exact_match=0.5) | {"metrics": {"exact_match": {"better": "up"}}}
        ),
    }
    for name, text in bad.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    (folder / "good.json").write_text(json.dumps(of_runs("toy", 1, exact_match=0.5)), encoding="utf-8")
    (folder / "benchmark.json").write_text("{}", encoding="utf-8")  # somebody else's
    runs, refused = published(project / "results")
    assert [run.path.stem for run in runs] == ["good"]
    assert [Path(line.split(".json")[0]).name for line in refused] == sorted(bad)
    assert "metrics/exact_match/better" in refused[-2]
    monkeypatch.chdir(project)
    app = typer.Typer()
    app.command()(main)
    said = CliRunner().invoke(app, [])
    assert said.exit_code == 1
    assert said.output.count("refused: ") == len(bad)
    assert "| toy | 1 | 0.500 |" in (project / "README.md").read_text(encoding="utf-8")
    for name in bad:
        (folder / f"{name}.json").unlink()
    assert CliRunner().invoke(app, []).exit_code == 0


def test_recipes_tested_on_the_same_items_are_one_table() -> None:
    rows = [
        results(1, 0.5, hashed=name) | {"experiment": name, "data_set": data, "test_hash": test}
        for name, data, test in (
            ("ram_6", "mnist", "a"),
            ("conv", "mnist", "a"),
            ("ram_digits", "digits", "b"),
            ("ram_large", "mnist", "c"),
        )
    ]
    titles = re.findall(r"`experiment=(.*?)`", tables(read(rows)))
    assert titles == ["ram_6,conv", "ram_digits", "ram_large"], "what Hydra would run"
    assert re.findall(r"^\| (\w+) \| 1", tables(read(rows)), re.MULTILINE)[:2] == ["ram_6", "conv"]


def captions(recipe: str, **scores: float) -> dict[str, Any]:
    shared = {"constant_cider_d": 1.25, "constant_bleu_1": 60.0, "constant_exact_match": 0.125}
    found = results(1, 0.99, **scores, **shared)
    del found["test"]["bleu"]
    named = {"experiment": recipe, "config_hash": recipe, "task": TASKS["cider_d"]}
    return found | named | {"per_second": {"tokens": 1000.0, "captions": 100.0}}


def test_controls_are_one_line_below_the_captions() -> None:
    """Of several rows that have them the least and the largest."""
    maps = {"pointing_uniform": 0.05, "pointing_centre": 0.125, "pointing_random": 0.25}
    soft = captions("shapes_soft", cider_d=9.5, bleu_1=99.0, pointing_accuracy=0.95, **maps)
    soft["test"] |= {"shuffled_cider_d": 0.5, "shuffled_bleu_1": 48.0, "shuffled_exact_match": 0.03}
    none = captions("shapes_none", cider_d=9.0, bleu_1=98.0)
    more = none | {"seed": 2}
    none["test"] |= {"shuffled_cider_d": 0.75, "shuffled_bleu_1": 48.0}
    _, head, _, *rows = [line for line in tables(read([none, more, soft])).splitlines() if line]
    measured = "cider_d | bleu_1 | exact_match | pointing_accuracy"
    assert head == f"| run | seeds | {measured} | parameters | minutes | captions/s |"
    assert rows == [
        "| shapes_none | 1, 2 | 9.000 ± 0.000 | 98.0 ± 0.0 | 0.990 ± 0.000 |  | 12,345 | 1.5 ± 0.0 | 100 |",
        "| shapes_soft | 1 | 9.500 | 99.0 | 0.990 | 0.950 | 12,345 | 1.5 | 100 |",
        "Controls: its captions, of other images: cider_d 0.500 to 0.750, bleu_1 48.0, exact_match 0.030; "
        "the best constant caption: cider_d 1.250, bleu_1 60.0, exact_match 0.125; "
        "all places alike: pointing_accuracy 0.050; the centre of the image: pointing_accuracy 0.125; "
        "its maps, of other images: pointing_accuracy 0.250.",
    ]


def test_scores_by_override_are_one_table() -> None:
    scores = ("additive", "cosine", "dot")
    runs = [
        results(1, 0.9, hashed=score, majority_exact_match=0.001)
        | {"experiment": "reverse_transformer", "overrides": [f"attention={score}"]}
        for score in scores
    ]
    text = tables(read(runs))
    assert text.count("**`experiment=reverse_transformer`**") == text.count("**`experiment=") == 1
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert rows[2:] == [f"| attention={score}" for score in scores]
    assert "\nControls: the most frequent answer: exact_match 0.001.\n" in text


def test_faults_are_a_table_of_their_own(project: Path) -> None:
    readme = project / "README.md"
    readme.write_text(
        f"a\n<!-- faults:begin -->\nold\n<!-- faults:end -->\n{BEGIN}\n{END}\nz\n", encoding="utf-8"
    )
    publish([], project)
    assert "old" in readme.read_text(encoding="utf-8"), "nothing was measured, nothing is changed"
    faults = [{"fault": "SIGKILL", "times": 20, "lost": "nothing"}]
    (project / "results").mkdir(exist_ok=True)
    (project / "results" / "faults.json").write_text(json.dumps(faults), encoding="utf-8")
    publish([], project)
    text = readme.read_text(encoding="utf-8")
    assert "old" not in text
    assert "| SIGKILL | 20 | nothing |\n" in text
    assert text.startswith("a\n<!-- faults:begin -->\n")
    assert text.endswith(f"{END}\nz\n")
    assert fault_table(faults).count("|\n") == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no results.json: it is no run, or did not finish"),
        ({"experiment": None}, "experiment"),
    ],
)
def test_what_cannot_be_kept_is_said_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: dict[str, Any] | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    if content:
        whole = {**of_runs(exact_match=0.5), **content}
        (tmp_path / "run" / "results.json").write_text(json.dumps(whole), encoding="utf-8")
    app = typer.Typer()
    app.command()(main)
    said = CliRunner().invoke(app, ["run"])
    assert said.exit_code == 2
    assert message in " ".join(said.output.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def on_fold(fold: int, seed: int, exact: float, *overrides: str, test_hash: str = "") -> dict[str, Any]:
    said = of_runs("toy", seed, *overrides, exact_match=exact)
    return {**said, "fold": fold, "folds": 3, "test_hash": test_hash or f"items of {fold}"}


def test_folds_are_one_row_of_a_table() -> None:
    """The mean of fold 0 is one of three numbers, whatever its seeds."""
    other = [on_fold(fold, 1, 0.5 + fold / 10, "a=b") for fold in (0, 1)]
    first = [on_fold(0, 1, 0.5), on_fold(0, 2, 0.7), on_fold(1, 1, 0.7), on_fold(2, 1, 0.8)]
    text = tables(read([*first, *other]))
    assert text.count("**`experiment=") == 1, "one table, though each fold has other items"
    assert "| toy | 1, 2 (3 folds) | 0.700 ± 0.100 |" in text
    assert "| a=b | 1 (2 folds without 2) | 0.550 ± 0.071 |" in text
    assert "- `a=b` against the recipe, over folds 0, 1: exact_match -0.050 [" in text
    assert "| toy | exact_match 0.700 ± 0.100 | 1, 2 (3 folds) |" in summary(read(first)).replace("`", "")


def test_folds_of_other_items_are_another_table() -> None:
    rows = [on_fold(0, 1, 0.5), on_fold(1, 1, 0.5), on_fold(0, 1, 0.5, "a=b", test_hash="others")]
    assert tables(read(rows)).count("**`experiment=") == 2


def test_each_fold_is_kept_in_a_file_of_its_own(project: Path) -> None:
    folders = [
        make_run(project / "runs" / str(fold), {**on_fold(fold, 1, 0.5)}, f"data.fold={fold}")
        for fold in range(3)
    ]
    publish(folders, project)
    kept = sorted(path.name for path in (project / "results" / "toy").iterdir())
    assert kept == [f"toy_fold{fold}_seed1.json" for fold in range(3)]
    runs, refused = published(project / "results")
    assert not refused
    assert {run.overrides for run in runs} == {()}, "a fold is no setting"
    assert "| toy | 1 (3 folds) | 0.500 ± 0.000 |" in tables(runs)
