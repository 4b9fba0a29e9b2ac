"""The page of `zoo explore` in headless Chromium."""

from pathlib import Path
from typing import Any

import pytest
import torch
from explored import served
from headless import in_browser, open_page, watched
from headless import visit as visit_address

from zoo.figures import ShadedSentence, ShadedText
from zoo.reports.explorer.forms import Form
from zoo.reports.explorer.page import page
from zoo.tasks.exploration import (
    Answer,
    Exploration,
    Glimpses,
    MemoryReading,
    PictureReading,
    Shading,
    Strip,
    TokenReading,
)

pytestmark = in_browser
HELPERS = """
const find = (id) => document.getElementById(id);
const all = (what, within = document) => [...within.querySelectorAll(what)];
const view = (number = 0) => all(".view")[number];
const tokens = (row, number = 0) => all(".tokens", view(number))[row].querySelectorAll(".token");
const over = (item) => item.dispatchEvent(new MouseEvent("mouseenter"));
const leave = (item) => item.parentElement.dispatchEvent(new MouseEvent("mouseleave"));
const key = (name) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const said = (number = 0) => all(".said > div", view(number)).map((block) => [
  block.querySelector("p").textContent,
  ...all("li", block).map((line) => all("bdi, .value", line).map((part) => part.textContent).join(" ")),
]);
const choose = (name, value, number = 0) => {
  const list = all("select", view(number)).find((one) => one.parentElement.textContent.startsWith(name));
  list.value = value; list.dispatchEvent(new Event("change"));
};
const dark = (item) => item.style.backgroundColor !== "";
"""
SOURCE, WRITTEN = ["ein", "Haus", "</s>"], ["a", "house"]


def cross() -> TokenReading:
    weights = torch.tensor(
        [
            [[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]],
            [[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], [[0.2, 0.6, 0.2], [0.6, 0.2, 0.2]]],
        ]
    )
    likely = [[Answer("a", 0.9), Answer("the", 0.0001)], [Answer("house", 1.0)]]
    return TokenReading("cross", weights, WRITTEN, SOURCE, "translation", "source", "score dot", likely)


def encoder() -> TokenReading:
    return TokenReading("encoder", torch.eye(3)[None, None], SOURCE, SOURCE, "source", "source")


def exploration() -> Exploration:
    return Exploration([Answer("a house", note="score -1.2"), Answer("the house")], [cross(), encoder()])


def visit(folder: Path, steps: str, *, width: int = 1280, **runs: Exploration) -> dict[str, Any]:
    return open_page(page("ein Haus", runs), folder, HELPERS + steps, width=width)


def test_a_word_shows_what_it_read(tmp_path: Path) -> None:
    found = visit(
        tmp_path,
        """
        found.first = said();
        over(tokens(0)[1]); found.mean = said(); found.shaded = [...tokens(1)].map(dark);
        leave(tokens(0)[1]); found.back = said();
        tokens(0)[1].click(); leave(tokens(0)[1]); found.kept = said();
        over(tokens(1)[0]); found.other = said(); found.asked = [...tokens(0)].map(dark);
        """,
        run=exploration(),
    )
    candidates = ["candidates for a", "a 0.900", "the <0.001"]
    assert found["first"] == found["back"]
    assert found["first"][0] == ["a read", "</s> 0.60", "Haus 0.30", "ein 0.10"]
    assert found["first"][1] == candidates
    assert found["mean"][0] == found["kept"][0] == ["house read", "</s> 0.60", "ein 0.30", "Haus 0.10"]
    assert found["shaded"] == [True, True, True]
    assert found["other"] == [["ein was read by", "house 0.30", "a 0.10"]]
    assert found["asked"] == [True, True]


def test_layers_and_heads(tmp_path: Path) -> None:
    found = visit(
        tmp_path,
        """
        found.heads = all(".heads button", view()).length;
        found.single = all(".heads button", view(1)).length;
        const on = (one) => one.getAttribute("aria-pressed") === "true";
        const pressed = () => all(".heads button", view()).map(on);
        found.mean = pressed();
        choose("head", "max"); found.max = said()[0];
        choose("layer", "all"); found.all = said()[0]; found.allPressed = pressed();
        choose("head", "mean"); found.meanOfAll = said()[0];
        all(".heads button", view())[0].click(); found.one = said()[0]; found.onePressed = pressed();
        """,
        run=exploration(),
    )
    assert (found["heads"], found["single"]) == (4, 0)
    assert found["mean"] == [False, False, True, True]
    assert found["max"] == ["a read", "</s> 1.00", "Haus 0.60", "ein 0.20"]
    assert found["all"] == ["a read", "ein 1.00", "</s> 1.00", "Haus 0.60"]
    assert found["allPressed"] == [True] * 4
    assert found["meanOfAll"] == ["a read", "ein 0.43", "</s> 0.30", "Haus 0.28"]
    assert found["one"] == ["a read", "ein 0.50", "Haus 0.50"]
    assert found["onePressed"] == [True, False, False, False]


def test_views_of_the_same_words_go_together(tmp_path: Path) -> None:
    """Of one run and of others."""
    found = visit(
        tmp_path,
        """
        over(tokens(0, 1)[2]); found.cross = said()[0][0];
        found.beside = [said(2)[0][0], said(3)[0][0]];
        found.names = all(".run h2").map((head) => head.textContent);
        """,
        first=exploration(),
        second=exploration(),
    )
    assert found["names"] == ["first", "second"]
    assert found["cross"] == "</s> was read by"
    assert found["beside"] == ["</s> was read by", "</s> read"]


def test_keys_are_enough(tmp_path: Path) -> None:
    found = visit(
        tmp_path,
        """
        const reached = () => all("button", view()).filter((one) => one.tabIndex === 0).length;
        found.reached = reached();
        tokens(0)[0].focus(); key("ArrowRight"); found.next = said()[0][0];
        key("ArrowRight"); found.end = said()[0][0]; key("Home"); found.home = said()[0][0];
        all(".heads button", view())[0].focus(); key("ArrowDown");
        found.head = document.activeElement.getAttribute("aria-label");
        """,
        run=exploration(),
    )
    assert found["reached"] == 3, "one head, one word of either side"
    assert (found["next"], found["end"], found["home"]) == ("house read", "house read", "a read")
    assert found["head"] == "layer 2, head 1"


def test_what_is_typed_is_shown_and_not_run(tmp_path: Path) -> None:
    hostile = ["<img src=x onerror=alert(1)>", "مرحبا", "\u202eevil", "👩‍🚀", "\n"]
    weights = torch.full((1, 1, 5, 5), 0.2)
    view = TokenReading("attention", weights, hostile, hostile, "text", "text")
    found = open_page(
        page("<script>throw 1</script>", {"</h2>": Exploration([Answer(hostile[0])], [view])}),
        tmp_path,
        HELPERS
        + """
        found.given = find("given").textContent;
        found.tokens = [...tokens(0)].map((one) => one.textContent);
        found.made = all("img, main script").length; found.name = all(".run h2")[0].textContent;
        """,
    )
    assert found["given"] == "<script>throw 1</script>"
    assert found["tokens"] == [*hostile[:4], "↵"]
    assert (found["made"], found["name"]) == (0, "</h2>")


def test_words_stand_in_the_direction_in_which_they_are_read(tmp_path: Path) -> None:
    weights = torch.full((1, 1, 3, 3), 0.3)
    view = TokenReading("attention", weights, ["<s>", "مرحبا", "x"], ["a", "b", "مرحبا"], "left", "right")
    text = ShadedText([ShadedSentence(["שלום", " a"], [0.5, 0.5]), ShadedSentence(["b"], [0.1])])
    found = visit(
        tmp_path,
        """
        const place = (item) => item.getBoundingClientRect().left;
        found.rows = [0, 1].map((row) => place(tokens(row)[0]) < place(tokens(row)[1]));
        tokens(0)[0].focus(); key("ArrowLeft"); found.next = document.activeElement === tokens(0)[1];
        found.sentences = all(".sentence").map((line) => line.dir);
        """,
        run=Exploration([], [view, Shading("words", text)]),
    )
    assert found["rows"] == [False, True]
    assert found["next"]
    assert found["sentences"] == ["rtl", "ltr"]


@pytest.mark.parametrize("width", [500, 1280])
def test_nothing_sticks_out_of_a_window(tmp_path: Path, width: int) -> None:
    words = [f"word{number}" for number in range(60)]
    weights = torch.rand(8, 8, 60, 60).softmax(-1)
    view = TokenReading("attention", weights, words, ["x" * 300, *words[1:]], "text", "other text")
    found = visit(
        tmp_path,
        """
        found.wide = document.documentElement.scrollWidth - innerWidth;
        find("theme").click(); found.paper = getComputedStyle(document.body).backgroundColor;
        found.heads = all(".heads button").length; found.canvas = all("details canvas")[0].width > 100;
        """,
        width=width,
        run=Exploration([Answer("long " * 100)], [view]),
    )
    assert found["wide"] <= 0
    assert found["paper"] == "rgb(20, 23, 27)"
    assert (found["heads"], found["canvas"]) == (64, True)


def test_long_answers_are_folded(tmp_path: Path) -> None:
    answers = [Answer(text * 300, note="score") for text in "abc"]
    steps = """
    found.shown = all(".run > .answers li").length; found.folded = all(".run > details li").length;
    found.short = all(".run", document)[1].querySelectorAll(".run > .answers li").length;
    """
    found = visit(tmp_path, steps, long=Exploration(answers), short=Exploration([Answer("a"), Answer("b")]))
    assert (found["shown"], found["folded"], found["short"]) == (3, 2, 2)


def test_documents_have_shaded_words_and_bars(tmp_path: Path) -> None:
    document = ShadedText(
        [
            ShadedSentence(["Not", " much", "."], [0.2, 0.8, 0.0], 0.25),
            ShadedSentence(["<b>Very", " good"], [0.1, 0.9], 0.75),
        ]
    )
    only_sentences = ShadedText([ShadedSentence(["a"], None, 0.5), ShadedSentence(["b"], None, 0.5)])
    found = visit(
        tmp_path,
        """
        const words = all(".word", view());
        const told = (number = 0) => all(".said", view(number))[0].textContent;
        found.first = told();
        over(words[1]); found.second = told(); words[3].focus(); key("ArrowRight"); found.key = told();
        const depth = (word) => Number(word.style.backgroundColor.match(/[0-9]+/) || 255);
        found.shaded = [words[4], words[1], words[0]].map(depth);
        found.bars = all(".bar", view()).map((bar) => bar.style.getPropertyValue("--share"));
        found.text = all(".sentence p", view()).map((text) => text.textContent);
        found.bold = all(".view b").length; found.plain = told(1);
        """,
        run=Exploration([Answer("good", 0.7)], [Shading("words", document), Shading("all", only_sentences)]),
    )
    assert found["first"] == found["key"] == "good weight 0.90, in a sentence of weight 0.75"
    assert found["second"] == "much weight 0.80, in a sentence of weight 0.25"
    assert found["shaded"] == sorted(found["shaded"])
    assert float(found["bars"][0]) == pytest.approx(1 / 3)
    assert found["text"] == ["Not much.", "<b>Very good"]
    assert found["bold"] == 0
    assert found["plain"] == "a in a sentence of weight 0.50"


def test_a_caption_word_by_word(tmp_path: Path) -> None:
    weights = torch.tensor([[[0.7, 0.1, 0.1], [0.1, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.2, 0.8]]])
    likely = [[Answer("red", 0.5)], [Answer("dog", 0.25)]]
    view = PictureReading("attention", torch.rand(3, 20, 30), weights, ["red", "dog"], "score dot", likely)
    found = visit(
        tmp_path,
        """
        await pause();
        const words = all(".token"), frame = all(".frame")[0], slider = all("input[type=range]")[0];
        const cover = () => [...all(".photo canvas")[0].getContext("2d").getImageData(0, 0, 3, 2).data]
          .filter((_, place) => place % 4 === 3);
        const state = () => [all(".said")[0].textContent, frame.style.left, frame.style.top, slider.value];
        found.first = state(); found.covered = cover();
        over(words[1]); found.second = state();
        words[1].dispatchEvent(new MouseEvent("mouseleave")); leave(words[1]); found.back = state();
        slider.value = "2"; slider.dispatchEvent(new Event("input")); found.slid = state();
        const photo = all(".photo")[0], area = photo.getBoundingClientRect();
        const at = { clientX: area.left + 2, clientY: area.top + 2 };
        photo.dispatchEvent(new MouseEvent("mousemove", at));
        found.looked = [...words].map(dark); found.image = all("img")[0].naturalWidth;
        """,
        run=Exploration([Answer("red dog")], [view]),
    )
    assert "red read most, 0.70" in found["first"][0]
    assert "red0.500" in found["first"][0]
    assert found["first"][1:] == ["0%", "0%", "1"]
    assert found["covered"][0] == 0, "the most read is not covered"
    assert min(found["covered"][1:]) > 100
    assert "dog read most, 0.80" in found["second"][0]
    assert found["second"][2:] == ["50%", "2"]
    assert found["second"][1].startswith("66.6")
    assert found["back"] == found["first"]
    assert found["slid"] == found["second"]
    assert found["looked"] == [True, False]
    assert found["image"] == 30


def test_glimpses_are_a_path_with_a_slider(tmp_path: Path) -> None:
    locations = torch.tensor([[0.0, 0.0], [0.5, -0.5], [-1.0, 1.0]])
    view = Glimpses("glimpses", torch.rand(1, 12, 16), locations, torch.rand(3, 2, 1, 4, 4), "learned policy")
    found = visit(
        tmp_path,
        """
        await pause();
        const count = (what) => all(`svg ${what}`).length;
        const state = () => [count("circle"), count("line"), count("rect"), all(".said")[0].textContent];
        const slider = all("input[type=range]")[0];
        found.last = state(); found.seen = all(".seen img").map((one) => one.naturalWidth);
        slider.value = "1"; slider.dispatchEvent(new Event("input")); found.first = state();
        found.box = ["x", "y", "width", "height"].map((name) => all("svg rect")[0].getAttribute(name));
        const place = (item) => item.getBoundingClientRect();
        const [centre, picture] = [place(all("svg circle")[0]), place(all(".photo img")[0])];
        found.off = [centre.left + centre.width / 2 - picture.left - picture.width / 2,
          centre.top + centre.height / 2 - picture.top - picture.height / 2];
        """,
        run=Exploration([Answer("3", 0.9)], [view]),
    )
    assert found["last"] == [3, 2, 4, "looked at 0.0, 12.0 of 16 × 12 pixels"]
    assert found["seen"] == [4, 4]
    assert found["first"] == [1, 0, 2, "looked at 8.0, 6.0 of 16 × 12 pixels"]
    assert found["box"] == ["6", "4", "4", "4"]
    assert found["off"] == pytest.approx([0, 0], abs=1), "the path lies on the picture"


def test_a_memory_over_time(tmp_path: Path) -> None:
    bits = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    places = torch.tensor([[0.1, 0.9, 0.0], [0.5, 0.2, 0.3], [0.0, 0.0, 1.0]])
    strips = [Strip("input", bits, "bit"), Strip("read head 1", places, "place")]
    found = visit(
        tmp_path,
        """
        const told = () => all(".view li").map((line) => line.textContent);
        const slider = all("input[type=range]")[0], strip = all(".strip")[1];
        found.first = told();
        slider.value = "2"; slider.dispatchEvent(new Event("input")); found.second = told();
        const area = strip.getBoundingClientRect();
        const point = { clientX: area.right - 4, clientY: area.top + 4 };
        strip.dispatchEvent(new MouseEvent("mousemove", point)); found.third = told();
        strip.dispatchEvent(new MouseEvent("mouseleave")); found.back = told();
        found.sizes = all(".strip canvas").map((one) => [one.width, one.height]);
        found.marks = all(".now-mark").map((one) => one.style.left);
        """,
        run=Exploration([Answer("0 bits wrong")], [MemoryReading("sequence", strips, "score cosine")]),
    )
    assert found["first"] == ["input: 10", "read head 1: most at place 2, 0.90"]
    assert found["second"] == found["back"] == ["input: 01", "read head 1: most at place 1, 0.50"]
    assert found["third"] == ["input: 11", "read head 1: most at place 3, 1.00"]
    assert found["sizes"] == [[3, 2], [3, 3]]
    assert found["marks"][0].startswith("33.3")


WAIT = "for (let tries = 0; tries < 50 && !document.querySelector('.answer'); tries += 1) await pause();"


def ask(folder: Path, form: Form, steps: str, **options: Any) -> dict[str, Any]:
    """Opens a served page, does something in it and tells what was found."""
    with served(form, lambda text: watched(text, HELPERS + steps), **options) as server:
        found = visit_address(server.address, folder)
        asked = [name.removeprefix(server.address) for name in found["requests"]]
    assert set(asked) <= {"ask"}
    return found


def test_a_served_page_answers_what_is_typed(tmp_path: Path) -> None:
    found = ask(
        tmp_path,
        Form("text"),
        f"""
        found.before = [find("given-section").hidden, all(".run").length];
        const text = all("textarea")[0];
        text.value = "<b>ein Haus"; text.focus(); key("Enter"); {WAIT}
        found.given = find("given").textContent; found.answer = all(".answer")[0].textContent;
        over(tokens(0)[1]); found.said = said()[0][0]; found.shown = find("given-section").hidden;
        text.value = "wrong"; key("Enter");
        const hint = () => all(".ask .hint")[0].textContent;
        for (let tries = 0; tries < 50 && !/wrong/.test(hint()); tries += 1) await pause();
        found.error = all(".ask .hint")[0].textContent; found.still = all(".run").length;
        """,
        explore=answered,
    )
    assert found["before"] == [True, 0]
    assert (found["given"], found["answer"]) == ("<b>ein Haus", "a house")
    assert (found["said"], found["shown"]) == ("house read", False)
    assert (found["error"], found["still"]) == ("that is wrong", 1)


def answered(asked: Any, **options: int) -> dict[str, Exploration]:
    if asked == "wrong":
        raise ValueError("that is wrong")
    return {"run": exploration()}


def test_a_served_page_takes_pairs_and_games(tmp_path: Path) -> None:
    found = ask(
        tmp_path,
        Form("pair"),
        f"""
        const texts = all("textarea"); texts[0].value = "left"; texts[1].value = "right";
        all("form button")[0].click(); {WAIT} found.answer = all(".answer")[0].textContent;
        """,
    )
    assert found["answer"] == "('left', 'right')"
    steps = f"""
        const fields = all("form input"); fields[0].value = "5"; fields[1].value = "40";
        all("form button")[0].click(); {WAIT}
        found.answer = all(".answers li")[0].textContent;
    """
    assert ask(tmp_path, Form("game", takes_length=True), steps)["answer"] == "5{'length': 40}"


def test_a_served_page_takes_pictures(tmp_path: Path) -> None:
    def explore(asked: Path) -> dict[str, Exploration]:
        return {"run": Exploration([Answer(asked.read_text())])}

    found = ask(
        tmp_path,
        Form("picture"),
        f"""
        const files = new DataTransfer(); files.items.add(new File(["pixels"], "a.png"));
        const field = all("form input")[0]; field.files = files.files;
        field.dispatchEvent(new Event("change")); {WAIT}
        found.answer = all(".answer")[0].textContent; found.given = find("given").textContent;
        """,
        explore=explore,
    )
    assert (found["answer"], found["given"]) == ("pixels", "a.png")
