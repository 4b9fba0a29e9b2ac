"""The page in headless Chromium: it works, says no error, and asks nobody for anything."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from compared_runs import make_run, make_unfinished
from headless import in_browser, open_page
from PIL import Image

from zoo.reports.comparison.comparison import Question, compare
from zoo.reports.comparison.html import page
from zoo.reports.runs import find_runs
from zoo.runs.status import State, StatusFile

pytestmark = in_browser
HELPERS = """
const find = (id) => document.getElementById(id);
const lines = () => [...find("table").tBodies[0].rows].filter((row) => !row.hidden);
const heads = () => [...find("table").tHead.rows[0].cells];
const column = (head) => heads().findIndex((cell) => cell.textContent === head);
const cells = (head) => lines().map((row) => row.cells[column(head)].textContent);
const click = (head) => heads()[column(head)].querySelector("button").click();
const change = (id, set) => { set(find(id)); find(id).dispatchEvent(new Event("change")); };
const named = (id) => find(id).data.filter((trace) => trace.showlegend !== false).map((trace) => trace.name);
const type = (text) => { find("filter").value = text; find("filter").dispatchEvent(new Event("input")); };
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three scores with two seeds each, with pictures; and one that failed."""
    for seed in (1, 2):
        for place, score in enumerate(("Dot", "Additive", "Cosine")):
            run = make_run(
                tmp_path / "sweep" / f"{score}{seed}",
                score,
                seed,
                right=8 + 4 * place + seed,
                parameters=1000 - place,
                per_second={"tokens": 100.0 * (3 - place)},
            )
            (run / "figures").mkdir()
            Image.new("RGB", (40, 30), (80 * place, 90, 200)).save(run / "figures" / "alignments_test.png")
    make_unfinished(tmp_path / "sweep" / "lost", State.FAILED, ValueError("</script><b>no"))
    return tmp_path / "sweep"


def visit(runs: Path, steps: str) -> dict[str, Any]:
    """Opens the page of a comparison, does something in it and tells what was found."""
    text = page(compare(find_runs([runs]), Question(samples=20)))
    return open_page(text, runs.parent, HELPERS + steps)


def test_sorting_and_filtering(runs: Path) -> None:
    found = visit(
        runs,
        """
        found.first = cells("attention");
        click("exact_match"); found.down = cells("attention");
        click("exact_match"); found.up = cells("attention");
        found.sorted = find("table").querySelector("[aria-sort]").textContent;
        click("run"); found.text = cells("run").map((name) => name.replace("baseline", ""));
        find("show-none").click();
        type("ADD"); found.filtered = cells("attention"); found.count = find("count").textContent;
        type("additive cosine"); found.none = lines().length;
        type(""); found.all = lines().length;
        found.best = [...document.querySelectorAll("td.best")].map((cell) => cell.textContent);
        """,
    )
    assert found["first"] == ["Additive", "Cosine", "Dot"], "the baseline, then from the best on"
    assert found["down"] == ["Cosine", "Additive", "Dot"]
    assert found["up"] == ["Dot", "Additive", "Cosine"]
    assert found["sorted"] == "exact_match"
    assert found["text"] == ["attention=additive", "attention=cosine", "attention=dot"]
    assert (found["filtered"], found["count"]) == (["Additive"], "1 of 3 rows")
    assert (found["none"], found["all"]) == (0, 3)
    assert "0.8750 ± 0.0354" in found["best"]


def test_settings_are_sorted_by_the_numbers_in_them(tmp_path: Path) -> None:
    order = ["-1", "-1e-2", "1e-4", "0.002", "0.01", "0.1", "2", "10"]
    for number, rate in enumerate(sorted(order)):
        make_run(tmp_path / "sweep" / str(number), right=10, model={"rate": float(rate)})
    sort = 'click("model.rate"); found.{} = cells("model.rate");'
    found = visit(tmp_path / "sweep", sort.format("up") + sort.format("down"))
    assert [float(text) for text in found["up"]] == [float(text) for text in order]
    assert found["down"] == found["up"][::-1]


def test_many_settings_are_bars_and_lines_and_two_rows_are_set_apart(tmp_path: Path) -> None:
    for number in range(8):
        rate, size = 10.0 ** -(number % 4), 16 * (1 + number % 3)
        hashed = {"config_hash": f"{number:06}", "model": {"rate": rate, "width": size}}
        run = make_run(tmp_path / "sweep" / str(number), right=4 + number, **hashed)  # type: ignore[arg-type]
        status = StatusFile(run)
        status.start(["experiment=toy", f"model.rate={rate}", f"model.width={size}", f"layers={number % 2}"])
        status.end(State.FINISHED, exit_code=0)
    pruned = StatusFile(make_unfinished(tmp_path / "sweep" / "pruned", State.PRUNED))
    pruned.start(["model.rate=<b>", "model.width=16", "layers=1"])
    pruned.end(State.PRUNED, exit_code=0)
    found = visit(
        tmp_path / "sweep",
        """
        const all = (query) => [...document.querySelectorAll(query)];
        found.bars = all(".importance .key").map((key) => key.textContent);
        found.lines = [all("#coordinates .run").length, all("#coordinates .without").length];
        found.heads = all("#coordinates .head").map((head) => head.firstChild.textContent);
        const last = all("#coordinates .run").at(-1);
        last.dispatchEvent(new Event("pointerenter")); found.told = find("coordinates-told").textContent;
        const compare = (id, row) => change(id, (list) => { list.value = row; });
        compare("diff-one", 0); compare("diff-other", 1);
        found.diff = [...find("diff").rows].map((row) => [...row.cells].map((cell) => cell.textContent));
        compare("diff-other", 0); found.none = find("diff-none").hidden;
        """,
    )
    assert sorted(found["bars"]) == ["layers", "model.rate", "model.width"]
    assert found["lines"] == [9, 1]
    assert found["heads"] == ["model.rate", "model.width", "layers", "exact_match of test"]
    assert found["told"] == "exact_match 0.55: model.rate=0.001 model.width=32 layers=1"
    assert ["model.rate", "1.0", "0.1"] in found["diff"]
    assert found["none"] is False


def test_curves_costs_and_what_is_shown(runs: Path) -> None:
    found = visit(
        runs,
        """
        found.metrics = [...find("curve-metric").options].map((option) => option.value);
        found.named = named("curves"); found.traces = find("curves").data.length;
        change("curve-bands", (box) => { box.checked = false; }); found.plain = find("curves").data.length;
        change("curve-log-y", (box) => { box.checked = true; });
        found.type = find("curves")._fullLayout.yaxis.type;
        change("curve-metric", (list) => { list.value = "train/loss"; });
        found.title = find("curves")._fullLayout.yaxis.title.text;
        const tick = lines()[0].querySelector("input");
        tick.click(); found.unticked = named("curves");
        found.settings = [...find("settings").tHead.rows[0].cells].map((cell) => cell.textContent);
        find("show-none").click();
        found.empty = [find("curves").data.length, find("samples").tHead.rows[0].cells.length];
        find("show-best").click(); found.again = named("curves").length;
        Plotly.restyle("curves", { visible: "legendonly" }, [0]);
        found.hidden = find("curves").data[0].visible;
        const buttons = [...document.querySelectorAll("#curves .modebar-btn")];
        found.tools = buttons.map((tool) => tool.dataset.title);
        found.front = find("costs").data[0].x; found.shape = find("costs").data[0].line.shape;
        change("cost", (list) => { list.value = "parameters"; }); found.cheap = find("costs").data[0].x;
        """,
    )
    assert found["metrics"] == ["val/exact_match", "train/loss"]
    assert found["named"] == ["attention=additive", "attention=cosine", "attention=dot"]
    assert (found["traces"], found["plain"]) == (9, 3), "two edges of a band and a line each"
    assert (found["type"], found["title"]) == ("log", "train/loss")
    assert found["unticked"] == ["attention=cosine", "attention=dot"]
    assert found["settings"] == ["setting", "attention=cosine", "attention=dot"]
    assert (found["empty"], found["again"]) == ([0, 2], 3)
    assert found["hidden"] == "legendonly"
    assert found["tools"], "the chart has tools"
    assert not [title for title in found["tools"] if re.search("share|cloud|edit", title, re.IGNORECASE)]
    assert found["front"] == [300, 200, 100]
    assert found["shape"] == "hv", "steps from the best cost on: there is nothing between two points"
    assert found["cheap"] == [998], "the best one is the smallest, too"


def test_what_is_ticked_is_shown_whether_the_filter_hides_it_or_not(runs: Path) -> None:
    found = visit(
        runs,
        """
        const everywhere = () => [named("curves"), named("costs"),
          find("settings").tHead.rows[0].cells.length - 1,
          find("samples").tHead.rows[0].cells.length - 2, find("pictures").querySelectorAll("img").length];
        const said = () => [find("count").textContent, find("untick-hidden").hidden];
        found.before = everywhere(); found.front = find("costs").data[0].x;
        type("additive");
        found.filtered = everywhere(); found.said = said(); found.still = find("costs").data[0].x;
        lines()[0].querySelector("input").click();
        found.less = everywhere(); found.now = said();
        find("untick-hidden").click(); found.nothing = everywhere(); found.end = said();
        find("show-filtered").click(); found.one = everywhere(); type(""); found.all = said();
        """,
    )
    names = ["attention=additive", "attention=cosine", "attention=dot"]
    front = "Pareto front of all rows"
    assert found["before"] == found["filtered"] == [names, [front, "other rows", *names], 3, 3, 3]
    assert found["front"] == found["still"] == [300, 200, 100]
    assert found["said"] == ["1 of 3 rows; 2 ticked rows are hidden by the filter", False]
    assert found["less"] == [names[1:], [front, "other rows", *names[1:]], 2, 2, 2]
    assert found["nothing"] == [[], [front, "other rows"], 0, 0, 0]
    assert found["end"] == ["1 of 3 rows", True]
    assert found["one"] == [names[:1], [front, "other rows", names[0]], 1, 1, 1]
    assert found["all"] == ["3 rows", True]


def test_the_best_and_the_baseline(runs: Path) -> None:
    """The worst is the baseline, and not one of the best six."""
    for place in range(8):
        model = {"size": 100 + place}
        make_run(runs / f"more{place}", "Dot", 3, right=12 + place, model=model)
    make_run(runs / "0", "Location", 1, right=1)
    found = visit(
        runs,
        """
        const shown = () => lines().filter((row) => row.querySelector("input").checked).length;
        const said = () => find("show-best").textContent;
        found.first = [shown(), cells("exact_match")[0], said()];
        type("dot"); find("show-best").click(); found.said = said(); type(""); found.dots = named("curves");
        """,
    )
    assert found["first"] == [7, "0.0500", "show the best 6, and the baseline"]
    assert found["said"] == "show the best 6 of these, and the baseline"
    assert found["dots"][0] == "attention=location"
    assert len(found["dots"]) == 7
    assert all("dot" in name for name in found["dots"][1:])


def test_a_very_long_value_pushes_nothing_away(runs: Path) -> None:
    value = "x" * 3000
    status = make_run(runs / "long", "Dot", 3, right=20, model={"name": value}) / "status.json"
    content = json.loads(status.read_text(encoding="utf-8"))
    content["overrides"].append(f"model.name={value}")
    status.write_text(json.dumps(content), encoding="utf-8")
    found = visit(
        runs,
        """
        const place = column("model.name");
        const cell = lines().map((row) => row.cells[place]).find((one) => one.textContent.length > 9);
        found.wide = Math.max(...heads().map((one) => one.offsetWidth));
        found.high = cell.offsetHeight;
        found.said = [cell.textContent, cell.title];
        found.name = cell.parentElement.querySelector(".name").title;
        found.heads = ["samples", "settings"].map((id) => find(id).tHead.offsetHeight);
        found.settings = Math.max(...[...find("settings").rows].map((row) => row.offsetHeight));
        """,
    )
    assert found["said"] == [value, value], "all of it can be read"
    assert value in found["name"]
    assert found["wide"] < 400
    assert found["high"] < 150
    assert max(found["heads"]) < 150
    assert found["settings"] < 300


def test_predictions_and_pictures_side_by_side(runs: Path) -> None:
    found = visit(
        runs,
        """
        found.heads = [...find("samples").tHead.rows[0].cells].map((cell) => cell.textContent);
        found.last = [...find("samples").tBodies[0].rows[15].cells].map((cell) => cell.textContent);
        found.right = find("samples").querySelectorAll("td.right").length;
        find("pictures").scrollIntoView(); await pause();
        found.pictures = [...find("pictures").querySelectorAll("img")].map((image) => image.naturalWidth);
        found.captions = [...find("pictures").querySelectorAll("figcaption")].map((text) => text.textContent);
        found.lost = find("left-out").textContent;
        found.wide = document.documentElement.scrollWidth <= innerWidth;
        find("theme").click(); found.theme = document.documentElement.dataset.theme;
        found.paper = getComputedStyle(document.body).backgroundColor;
        """,
    )
    names = ["attention=additive", "attention=cosine", "attention=dot"]
    assert found["heads"] == ["input", "reference", *names]
    assert found["last"] == ["day 15", "2020-01-16", "wrong", "2020-01-16", "wrong"]
    assert found["right"] == 13 + 17 + 9
    assert found["pictures"] == [40, 40, 40]
    assert found["captions"] == names
    assert "failed" in found["lost"]
    assert "</script><b>no" in found["lost"]
    assert found["wide"], "nothing sticks out"
    assert (found["theme"], found["paper"]) == ("dark", "rgb(20, 23, 27)")


def test_pictures_open_at_full_size(runs: Path) -> None:
    """On the page they are all to one scale, and the place of each is known before it is there."""
    Image.new("RGB", (2000, 300), "white").save(runs / "Dot1" / "figures" / "alignments_test.png")
    Image.new("RGB", (1000, 300), "white").save(runs / "Cosine1" / "figures" / "alignments_test.png")
    found = visit(
        runs,
        """
        const images = [...find("pictures").querySelectorAll("img")]; const dialog = find("enlarged");
        found.sizes = images.map((image) => [image.getAttribute("width"), image.getAttribute("height")]);
        found.scales = images.map((image) => image.offsetWidth / image.getAttribute("width"));
        found.lazy = images.some((image) => image.loading === "lazy");
        const open = images[2].closest("button"); open.focus(); open.click();
        const large = dialog.querySelector("img");
        const name = find("enlarged-name").textContent;
        found.opened = [dialog.open, large.offsetWidth, large.offsetHeight, name];
        found.scrolls = large.parentElement.scrollWidth > large.parentElement.clientWidth;
        found.inside = dialog.offsetWidth <= innerWidth;
        large.click(); found.clicked = dialog.open; found.back = document.activeElement === open;
        open.click(); find("enlarged-close").click(); found.closed = dialog.open;
        open.click(); dialog.click(); found.beside = dialog.open;
        """,
    )
    assert found["sizes"] == [["40", "30"], ["1000", "300"], ["2000", "300"]]
    assert found["scales"][1:] == pytest.approx([found["scales"][0]] * 2, abs=0.02)
    assert not found["lazy"]
    assert found["opened"] == [True, 2000, 300, "attention=dot"]
    assert found["scrolls"]
    assert found["inside"]
    assert (found["clicked"], found["back"], found["closed"], found["beside"]) == (False, True, False, False)


def test_names_are_no_templates(runs: Path) -> None:
    for run in runs.glob("Dot*"):
        status = json.loads((run / "status.json").read_text(encoding="utf-8"))
        typed = [*status["overrides"], "model.name=%{y}"]
        (run / "status.json").write_text(json.dumps({**status, "overrides": typed}), encoding="utf-8")
    found = visit(
        runs,
        """
        found.said = [];
        for (const id of ["curves", "costs"]) {
          find(id).scrollIntoView(); await pause();
          const number = find(id).data.findIndex((trace) => (trace.name || "").includes("%"));
          Plotly.Fx.hover(id, [{ curveNumber: number, pointNumber: 0 }]); await pause();
          found.said.push(find(id).querySelector(".hovertext").textContent);
        }
        """,
    )
    assert all(text.startswith("attention=dot,model.name=%{y}") for text in found["said"]), found["said"]
    assert "step 10: 0.11875" in found["said"][0]


def test_what_was_measured_stands_first_and_settings_are_folded(runs: Path) -> None:
    for run in runs.glob("*/results.json"):
        run.write_text(run.read_text().replace('"experiment"', '"data_set": "apples", "experiment"', 1))
    steps = """
    found.title = find("title").textContent;
    found.second = heads()[1].textContent;
    const isShown = (cell) => getComputedStyle(cell).display !== "none";
    const settings = heads().filter((cell) => cell.className === "setting");
    found.settings = settings.length;
    found.folded = settings.some(isShown);
    find("fold").click();
    found.unfolded = settings.every(isShown);
    const scroll = document.querySelector("#table").parentElement;
    scroll.style.width = "420px";
    found.gaps = [0, 5000].map((place) => {
      scroll.scrollLeft = place;
      const [first, second] = [...lines()[0].cells].map((cell) => cell.getBoundingClientRect());
      return Math.round(second.left - first.right);
    });
    """
    found = visit(runs, steps)
    assert found["title"] == "apples: exact_match of test"
    assert found["second"] == "exact_match"
    assert found["settings"] > 0
    assert (found["folded"], found["unfolded"]) == (False, True)
    assert found["gaps"] == [0, 0], "it stays beside the first column"


def test_predictions_where_rows_differ_and_words_where_nothing_is_shown(runs: Path) -> None:
    steps = """
    const items = () => find("samples").tBodies[0].rows.length;
    found.all = items();
    change("differing", (box) => { box.checked = true; });
    found.differing = items();
    find("show-none").click();
    found.nothing = find("samples-section").querySelector(".said").textContent;
    found.says = !find("none-ticked").hidden;
    """
    found = visit(runs, steps)
    assert (found["all"], found["differing"]) == (20, 8)
    assert found["says"]
    assert found["nothing"] == "No row is ticked in the table."


def test_weights_are_cells_and_shaded_words(runs: Path) -> None:
    matrix = {
        "axes": ["target", "source"],
        "rows": ["ab", "c"],
        "columns": ["long", "s"],
        "weights": [[0, 1], [1, 0.5]],
    }
    text = {"title": "right", "sentences": [{"words": ["x", " y"], "shades": [0.0, 1.0], "weight": 0.25}]}
    shown = [{**matrix, "title": str(number)} for number in range(4)] + [text]
    (runs / "Dot1" / "figures" / "alignments_test.json").write_text(json.dumps(shown))
    found = visit(
        runs,
        """
        find("show-filtered").click();
        const figure = [...find("pictures").children].find((one) => one.querySelector("table"));
        const painted = [...figure.querySelector("table").querySelectorAll("td")];
        found.colors = painted.map((cell) => getComputedStyle(cell).backgroundColor);
        found.title = painted[3].title;
        found.heads = [...figure.querySelector("tr").cells].map((cell) => cell.textContent);
        found.tables = figure.querySelectorAll("table").length;
        [...figure.querySelectorAll("button")].at(-1).click();
        found.text = figure.querySelector(".shaded").textContent;
        found.images = find("pictures").querySelectorAll("img").length;
        type("additive"); find("show-filtered").click();
        const said = find("pictures-section").querySelector(".said"); found.said = said.hidden;
        find("show-none").click(); found.none = said.textContent;
        """,
    )
    assert found["colors"] == [
        "rgba(11, 79, 158, 0)",
        "rgb(11, 79, 158)",
        "rgb(11, 79, 158)",
        "rgba(11, 79, 158, 0.5)",
    ]
    assert found["title"] == "c, s: 0.50"
    assert found["heads"] == ["target \\ source", "long", "s"]
    assert (found["tables"], found["text"], found["images"]) == (4, "right0.25x y", 2)
    assert (found["said"], found["none"]) == (True, "No row is ticked in the table.")


def test_a_section_that_has_nothing_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path / "sweep" / "a")
    for name in ("metrics.csv", "predictions.jsonl"):
        (run / name).unlink()
    found = visit(
        tmp_path / "sweep",
        """
        for (const name of ["curves", "settings", "samples", "pictures"]) {
          const section = find(`${name}-section`);
          const visible = [...section.children].filter((child) => !child.hidden);
          found[name] = visible.map((child) => child.textContent);
        }
        """,
    )
    assert found["curves"] == [
        "Learning curves",
        "No run of these kept a curve: there is no metrics.csv beside the results.",
    ]
    assert found["settings"][1] == "The configurations differ in nothing but seed, folds and paths."
    assert found["samples"][1] == "No run of these kept its predictions of this split."
    assert found["pictures"][1].startswith("No run of these drew pictures at test")
