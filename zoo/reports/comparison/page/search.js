"use strict";
// Many settings at once: how much each matters, every run as a line through them, and how two rows differ.
(() => {
  const { search, settings, labels, metric, split, higherIsBetter, order, baseline } = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const svg = (tag, attributes = {}, content = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(content);
    return made;
  };
  const element = (tag, content = "", className = "") => {
    const made = document.createElement(tag);
    made.className = className;
    made.append(content);
    return made;
  };
  const short = (number) => String(Number(number.toPrecision(3)));
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const digits = (text) => text.replace(/\d+\.\d{4,}(e-?\d+)?/g, (number) => short(Number(number)));

  function drawImportances() {
    find("importances").replaceChildren(...search.importances.map(([key, share]) => {
      const line = element("div", "", "importance");
      const bar = element("div", "", "bar");
      bar.style.width = `${100 * share / search.importances[0][1]}%`;
      const track = element("div", bar, "track");
      line.append(element("span", key, "key"), track, element("span", `${(100 * share).toFixed(0)} %`, "share"));
      return line;
    }));
    find("importances-note").textContent = search.note;
  }

  /** Where the values of an axis lie, from 0 to 1 (null: the run does not set it), and what to write beside it. */
  function scaled({ key, numbers, texts, is_log: isLog }) {
    if (!numbers) {
      const names = [...new Set(texts)].sort((one, other) => (one === "") - (other === "") || one.localeCompare(other, "en"));
      const place = (name) => (names.length > 1 ? 1 - names.indexOf(name) / (names.length - 1) : 0.5);
      return { key, places: texts.map(place), ticks: names.map((name) => [place(name), name || "not set"]) };
    }
    const of = isLog ? Math.log : (number) => number;
    const known = numbers.filter((number) => number !== null);
    const few = [...new Set(known)].sort((one, other) => one - other);
    if (few.length <= 6) { // as 16, 32, 64: evenly, as they were chosen
      const rank = (number) => (few.length > 1 ? few.indexOf(number) / (few.length - 1) : 0.5);
      return { key, places: numbers.map((number) => (number === null ? null : rank(number))), ticks: few.map((number) => [rank(number), short(number)]) };
    }
    const low = Math.min(...known);
    const high = Math.max(...known);
    const place = (number) => (number === null ? null : high > low ? (of(number) - of(low)) / (of(high) - of(low)) : 0.5);
    const middle = isLog ? Math.sqrt(low * high) : (low + high) / 2;
    const ticks = high > low ? [low, middle, high] : [low];
    return { key, places: numbers.map(place), ticks: ticks.map((number) => [place(number), short(number)]) };
  }

  const isNarrow = () => find("coordinates").clientWidth < 700;
  function drawCoordinates() {
    const axes = [...search.axes, { key: `${metric} of ${split}`, numbers: search.values, texts: [], is_log: false }].map(scaled);
    const narrow = isNarrow();
    const width = Math.max(find("coordinates").clientWidth, 280);
    const apart = narrow ? 76 : (width - 150) / (axes.length - 1);
    const height = narrow ? 52 + apart * (axes.length - 1) + 28 : 380;
    /** Axes stand side by side where there is room, and else lie below each other. */
    const point = (axis, place) => (narrow ? [28 + place * (width - 56), 34 + axis * apart] : [75 + axis * apart, height - 30 - place * (height - 80)]);
    const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `every run as a line through ${axes.length} axes` });
    const better = axes.at(-1).places.map((place) => (place === null ? null : higherIsBetter ? place : 1 - place));
    const lines = search.names.map((name, run) => run)
      .sort((one, other) => (better[one] ?? -1) - (better[other] ?? -1)) // the best on top
      .map((run) => {
        const points = axes.map((axis, number) => (axis.places[run] === null ? null : point(number, axis.places[run])));
        const path = points.filter(Boolean).map(([x, y], number) => `${number ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
        const line = svg("path", { d: path, class: better[run] === null ? "run without" : "run", tabindex: -1 });
        if (better[run] !== null) line.style.setProperty("--better", `${Math.round(100 * better[run])}%`);
        const said = better[run] === null ? search.states[run] : `${metric} ${short(search.values[run])}`;
        const words = `${said}: ${search.axes.filter(({ texts }) => texts[run]).map(({ key, texts }) => `${key}=${digits(texts[run])}`).join(" ")}`;
        line.append(svg("title", {}, words));
        const tell = () => {
          drawing.querySelectorAll(".told").forEach((other) => other.classList.remove("told"));
          line.classList.add("told");
          find("coordinates-told").textContent = words;
        };
        line.addEventListener("pointerenter", tell);
        line.addEventListener("click", tell);
        return line;
      });
    drawing.append(...lines);
    axes.forEach((axis, number) => {
      const [startX, startY] = point(number, 0);
      const [endX, endY] = point(number, 1);
      drawing.append(svg("line", { x1: startX, y1: startY, x2: endX, y2: endY, class: "axis" }));
      const most = narrow ? Math.floor(width / 8) : Math.floor(apart / 7);
      const head = narrow ? { x: 6, y: startY - 20, class: "head" } : { x: startX, y: number % 2 ? 14 : 32, class: "head", "text-anchor": "middle" };
      const key = cut(axis.key, narrow ? most : 2 * most);
      const title = svg("text", head, key);
      title.append(svg("title", {}, axis.key));
      drawing.append(title);
      // labels that would lie upon each other are left out
      const room = narrow ? Math.max(1, Math.floor((width - 56) / 60)) : Math.floor((height - 80) / 16);
      const every = Math.ceil(axis.ticks.length / (room + 1));
      axis.ticks.filter((_, place) => place % every === 0 || place === axis.ticks.length - 1).forEach(([place, text]) => {
        const [x, y] = point(number, place);
        const anchor = place < 0.15 ? "start" : place > 0.85 ? "end" : "middle";
        const at = narrow
          ? { x: anchor === "start" ? x - 20 : anchor === "end" ? x + 20 : x, y: y + 16, "text-anchor": anchor }
          : { x: number === axes.length - 1 ? x + 6 : x - 6, y: y + 4, "text-anchor": number === axes.length - 1 ? "start" : "end" };
        const label = svg("text", { ...at, class: "tick" }, cut(text, narrow ? 12 : Math.max(6, Math.floor(apart / 8))));
        label.append(svg("title", {}, text));
        drawing.append(label);
      });
    });
    find("coordinates").replaceChildren(drawing);
  }

  function drawDifference() {
    const [one, other] = [Number(find("diff-one").value), Number(find("diff-other").value)];
    const lines = element("tbody");
    for (const [key, values] of Object.entries(settings)) {
      if (values[one] === values[other]) continue;
      const line = element("tr");
      const head = element("th", key);
      head.scope = "row";
      line.append(head, ...[one, other].map((row) => element("td", digits(values[row]) || "–")));
      lines.append(line);
    }
    find("diff").replaceChildren(lines);
    find("diff-none").hidden = lines.rows.length > 0;
  }

  find("search-section").hidden = !search;
  if (search) {
    drawImportances();
    drawCoordinates();
    let drawn = find("coordinates").clientWidth;
    new ResizeObserver(() => {
      if (find("coordinates").clientWidth !== drawn) drawCoordinates();
      drawn = find("coordinates").clientWidth;
    }).observe(find("coordinates"));
  }
  const several = labels.length > 1 && Object.keys(settings).length > 0;
  find("diff-section").hidden = !several;
  if (several) {
    for (const id of ["diff-one", "diff-other"]) {
      find(id).replaceChildren(...order.map((row) => {
        const option = element("option", cut(digits(labels[row]), 120));
        option.value = row;
        return option;
      }));
      find(id).addEventListener("change", drawDifference);
    }
    find("diff-one").value = baseline;
    find("diff-other").value = order.find((row) => row !== baseline);
    drawDifference();
  }
})();
