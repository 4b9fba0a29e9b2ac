"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  // Okabe and Ito's colours, told apart by those who see fewer; dashes tell more than eight apart.
  const colors = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f"];
  const dashes = ["solid", "dash", "dot", "dashdot"];
  const mostShown = 6;
  const shown = new Map(); // row -> place in the colours, kept while the row is shown

  function element(tag, content = "", properties = {}) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(content);
    return made;
  }
  /** A long name, with places between its parts where a line may end. */
  function broken(label) {
    const made = document.createDocumentFragment();
    label.split(/(?<=[,/=])/).forEach((part) => made.append(part, document.createElement("wbr")));
    return made;
  }
  /** A name that takes a few lines at most; all of it is in its title. */
  const named = (row) => element("span", broken(data.labels[row]), { className: "name", title: data.names[row] });
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  function options(select, names) {
    select.replaceChildren(...names.map((name) => element("option", name, { value: name })));
  }
  function show(row) {
    if (shown.has(row)) return;
    const taken = new Set(shown.values());
    let place = 0;
    while (taken.has(place)) place += 1;
    shown.set(row, place);
  }
  const color = (row) => colors[shown.get(row) % colors.length];
  const dash = (row) => dashes[Math.floor(shown.get(row) / colors.length) % dashes.length];
  const visible = () => data.order.filter((row) => shown.has(row));

  // The table: built once; sorting moves rows, filtering hides them.
  const body = find("table").tBodies[0];
  const rows = data.labels.map((_, row) => {
    const tick = element("input", "", { type: "checkbox" });
    tick.addEventListener("change", () => {
      if (tick.checked) show(row);
      else shown.delete(row);
      update();
    });
    const swatch = element("span", "", { className: "swatch" });
    const name = element("label");
    const words = element("span", named(row));
    if (row === data.baseline) words.append(element("span", "baseline", { className: "baseline" }));
    name.append(tick, swatch, words);
    const line = element("tr");
    const head = element("th", name, { scope: "row" });
    line.append(head);
    for (const column of data.columns.slice(1)) {
      const classes = [column.is_number ? "number" : "", column.best[row] ? "best" : "", column.is_setting ? "setting" : ""];
      const title = column.is_number ? "" : column.cells[row]; // the style cuts it
      line.append(element("td", column.cells[row], { className: classes.join(" ").trim(), title }));
    }
    const text = [data.names[row], ...data.columns.map((column) => column.cells[row])].join(" ").toLowerCase();
    return { line, tick, swatch, text };
  });
  let sorted = { column: -1, ascending: true };
  const heads = data.columns.map((column, number) => {
    const button = element("button", column.head, { type: "button" });
    button.addEventListener("click", () => {
      sorted = { column: number, ascending: sorted.column === number ? !sorted.ascending : !column.is_number };
      sort();
    });
    return element("th", button, { scope: "col", className: column.is_setting ? "setting" : "" });
  });
  const settingColumns = data.columns.filter((column) => column.is_setting).length;
  /** Columns of settings are folded at first: the rows' names say what differs. */
  function fold(isFolded) {
    find("table").classList.toggle("folded", isFolded);
    find("fold").setAttribute("aria-pressed", String(isFolded));
    find("fold").textContent = `${isFolded ? "show" : "hide"} ${settingColumns} setting${settingColumns === 1 ? "" : "s"}`;
  }
  find("fold").hidden = !settingColumns;
  find("fold").addEventListener("click", () => fold(!find("table").classList.contains("folded")));
  fold(true);
  find("table").tHead.append(element("tr"));
  find("table").tHead.rows[0].append(...heads);

  // The numbers in a text, with their sign where one stands for itself: `lr=-1e-3`, but `top-1`.
  const numbers = /((?<![\w.)])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\d+(?:\.\d+)?)/i;
  /** As texts, but for the numbers in them: 0.002 comes before 0.01, and 9 before 10. */
  function byText(one, other) {
    const [left, right] = [one.split(numbers), other.split(numbers)];
    for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
      const isNumber = place % 2 === 1; // texts and numbers take turns
      const found = isNumber ? left[place] - right[place] : left[place].localeCompare(right[place], "en");
      if (found) return found;
    }
    return left.length - right.length;
  }
  function sort() {
    const order = [...data.order];
    if (sorted.column >= 0) {
      const { values, cells, is_number } = data.columns[sorted.column];
      const sign = sorted.ascending ? 1 : -1;
      order.sort((one, other) => {
        if (!is_number) return sign * byText(cells[one], cells[other]);
        if (values[one] === null || values[other] === null) return (values[one] === null) - (values[other] === null);
        return sign * (values[one] - values[other]); // rows without a number stay last
      });
    }
    heads.forEach((head, number) => {
      if (number === sorted.column) head.setAttribute("aria-sort", sorted.ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    body.append(...order.map((row) => rows[row].line));
  }
  function filter() {
    const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach(({ line, text }) => { line.hidden = !words.every((word) => text.includes(word)); });
    count();
  }
  const unfiltered = () => data.order.filter((row) => !rows[row].line.hidden);
  const tickedButHidden = () => [...shown.keys()].filter((row) => rows[row].line.hidden);
  /** Says what is in the table; what is ticked stays ticked, and so it says what of that the filter hides. */
  function count() {
    const left = unfiltered().length;
    const hidden = tickedButHidden().length;
    const isWhole = left === rows.length;
    const ticked = hidden === 1 ? "1 ticked row is" : `${hidden} ticked rows are`;
    find("count").textContent = (isWhole ? `${left} rows` : `${left} of ${rows.length} rows`)
      + (hidden ? `; ${ticked} hidden by the filter` : "");
    find("untick-hidden").hidden = !hidden;
    const of = isWhole ? "" : " of these";
    find("show-best").textContent = `show the best ${mostShown}${of}, and the baseline`;
    find("show-filtered").textContent = isWhole ? "show all rows" : "show the filtered rows";
  }
  /** The baseline, whether it is one of the best or not: it is what the others are compared with. */
  function showBest() {
    const worse = (one, other) => (data.higherIsBetter ? other.mean - one.mean : one.mean - other.mean);
    const best = unfiltered().sort((one, other) => worse(data.scores[one], data.scores[other]));
    showOnly([data.baseline, ...best.slice(0, mostShown)]);
  }
  function showOnly(chosen) {
    shown.clear();
    chosen.forEach(show);
    update();
  }

  // Charts.
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const isNarrow = () => window.innerWidth < 600;
  function layout(across, up, more = {}) {
    const axis = { gridcolor: style("--line"), zerolinecolor: style("--line"), linecolor: style("--line"), automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: style("--ink"), size: 12 },
      margin: { l: 50, r: 12, t: 34, b: 44 }, // the tools stand above
      modebar: { bgcolor: "rgba(0,0,0,0)", color: style("--faint"), activecolor: style("--accent") },
      hoverlabel: { namelength: 60 },
      hovermode: "closest",
      legend: isNarrow() ? { orientation: "h", y: -0.2, yanchor: "top" } : {},
      xaxis: { ...axis, title: { text: across } },
      yaxis: { ...axis, title: { text: up } },
      ...more,
    };
  }
  // Only these tools: by default there is one that uploads the chart.
  const tools = ["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"];
  const config = { responsive: true, displaylogo: false, plotlyServerURL: "", modeBarButtons: [tools] };
  const short = (text) => escaped(cut(text, isNarrow() ? 34 : 48));
  const inLines = (text) => (cut(text, 280).match(/.{1,70}/gsu) || []).map(escaped).join("<br>");
  // Plotly reads some tags in texts, and fills in %{y} and the like; names are neither.
  const codes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;" };
  const escaped = (text) => text.replace(/[&<>{]/g, (sign) => codes[sign]);
  const tinted = (hex, share) => `${hex}${Math.round(share * 255).toString(16).padStart(2, "0")}`;

  function drawCurves() {
    const name = find("curve-metric").value;
    const curves = data.curves[name];
    const traces = [];
    for (const row of visible()) {
      const band = curves && curves[row];
      if (!band) continue;
      const group = { legendgroup: String(row), x: band.steps };
      const isFlat = band.low.every((value, place) => value === band.high[place]);
      if (find("curve-bands").checked && !isFlat) {
        const edge = { ...group, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
        traces.push({ ...edge, y: band.low });
        traces.push({ ...edge, y: band.high, fill: "tonexty", fillcolor: tinted(color(row), 0.18) });
      }
      traces.push({
        ...group,
        y: band.mean,
        name: short(data.labels[row]),
        mode: band.steps.length > 60 ? "lines" : "lines+markers",
        marker: { size: 4 },
        line: { color: color(row), dash: dash(row), width: 2 },
        hovertemplate: `${inLines(data.names[row])}<br>step %{x}: %{y:.5g}<extra></extra>`,
      });
    }
    const drawn = layout("step", escaped(name), { showlegend: true });
    drawn.xaxis.type = find("curve-log-x").checked ? "log" : "linear";
    drawn.yaxis.type = find("curve-log-y").checked ? "log" : "linear";
    Plotly.react("curves", traces, drawn, config);
    say("curves-section", traces.length ? "" : none(`has a curve of ${name}`));
  }

  function front(points, moreIsBetter) {
    const sign = data.higherIsBetter ? 1 : -1;
    const ordered = [...points].sort((one, other) =>
      (moreIsBetter ? other.x - one.x : one.x - other.x) || sign * (other.y - one.y));
    const kept = [];
    for (const point of ordered) {
      if (!kept.length || sign * (point.y - kept[kept.length - 1].y) > 0) kept.push(point);
    }
    return kept;
  }
  // The line is a step: between two points one has what the point of the better cost reached.
  function drawCosts() {
    const name = find("cost").value;
    const cost = data.costs[name];
    // Of all rows: a filter of the table neither moves the front nor takes what is ticked away.
    const points = data.order
      .filter((row) => cost.values[row] !== null)
      .map((row) => ({ row, x: cost.values[row], y: data.scores[row].mean }));
    const best = front(points, cost.moreIsBetter);
    const others = points.filter(({ row }) => !shown.has(row));
    const trace = (chosen, more) => ({
      x: chosen.map((point) => point.x),
      y: chosen.map((point) => point.y),
      text: chosen.map((point) => inLines(data.names[point.row])),
      hovertemplate: "%{text}<br>%{x:,.4g}, %{y:.5g}<extra></extra>",
      ...more,
    });
    const traces = [
      trace(best, { mode: "lines", name: "Pareto front of all rows", line: { color: style("--faint"), dash: "dot", shape: "hv" }, hoverinfo: "skip", hovertemplate: undefined }),
      trace(others, { mode: "markers", name: "other rows", marker: { color: style("--faint"), size: 6, opacity: 0.5 } }),
      ...points.filter(({ row }) => shown.has(row)).map((point) => {
        const { low, high, mean } = data.scores[point.row];
        const interval = low === null ? {} : {
          error_y: { type: "data", symmetric: false, array: [high - mean], arrayminus: [mean - low], thickness: 1.2 },
        };
        return trace([point], { mode: "markers", name: short(data.labels[point.row]), marker: { color: color(point.row), size: 10 }, ...interval });
      }),
    ];
    Plotly.react("costs", traces, layout(escaped(name), escaped(data.metric), { showlegend: true }), config);
  }

  const none = (said) => (shown.size ? `None of the ticked rows ${said}.` : "No row is ticked in the table.");
  /** A line at the end of a section; no words take it away. */
  function say(section, words) {
    let line = find(section).querySelector(".said");
    if (!line) find(section).append(line = element("p", "", { className: "hint said" }));
    line.textContent = words;
    line.hidden = !words;
  }
  /** A section that has nothing to show says so in place of its controls. */
  function emptied(section, isEmpty, words) {
    if (!isEmpty) return;
    [...find(section).children].forEach((child) => { child.hidden = child.tagName !== "H2"; });
    say(section, words);
  }

  // What is side by side.
  const headsOf = (first, chosen) => {
    const head = element("thead");
    const line = element("tr");
    line.append(...first.map((text) => element("th", text, { scope: "col" })));
    line.append(...chosen.map((row) => element("th", named(row), { scope: "col" })));
    head.append(line);
    return head;
  };
  function drawSettings() {
    const chosen = visible();
    const lines = element("tbody");
    for (const [key, values] of Object.entries(data.settings)) {
      const line = element("tr");
      line.append(element("th", key, { scope: "row" }));
      for (const row of chosen) {
        const className = values[row] === values[data.baseline] ? "" : "differs";
        const value = element("div", values[row] || "–", { className: "value" }); // its height has a limit
        line.append(element("td", value, { className }));
      }
      lines.append(line);
    }
    find("settings").replaceChildren(headsOf(["setting"], chosen), lines);
  }
  function drawSamples() {
    const chosen = visible().filter((row) => data.samples.predictions[row]);
    const lines = element("tbody");
    const differing = find("differing").checked;
    data.samples.items.forEach(({ input, references }, number) => {
      if (differing && new Set(chosen.map((row) => data.samples.predictions[row][number])).size < 2) return;
      const line = element("tr");
      line.append(element("th", input, { scope: "row" }), element("td", references.join("\n")));
      for (const row of chosen) {
        const said = data.samples.predictions[row][number];
        line.append(element("td", said ?? "–", { className: references.includes(said) ? "right" : "" }));
      }
      lines.append(line);
    });
    find("samples").replaceChildren(headsOf(["input", "reference"], chosen), lines);
    const same = lines.rows.length ? "" : "The ticked rows say the same of every item here.";
    say("samples-section", chosen.length ? same : none("kept its predictions"));
  }
  /** Pictures to one scale, as large as there is room for: what is longer in one is longer on the page, too. */
  function drawPictures() {
    const images = data.pictures[find("picture-kind").value] || [];
    const chosen = visible().filter((row) => images[row]);
    const widest = Math.max(...chosen.map((row) => images[row].width || 0));
    find("pictures").replaceChildren(...chosen.map((row) => {
      const figure = element("figure", element("figcaption", named(row)));
      if (images[row].shown) {
        figure.append(...weightsOf(images[row].shown));
        return figure;
      }
      const image = imageOf(row, images[row]);
      image.style.width = `min(${(100 * image.width) / widest}%, ${image.width}px)`;
      const button = element("button", image, { type: "button", title: "show at full size", className: "enlarges" });
      button.addEventListener("click", () => enlarge(row, images[row]));
      figure.append(button);
      return figure;
    }));
    say("pictures-section", chosen.length ? "" : none("has such a picture"));
  }
  const mostMatrices = 4; // of a row, until more are asked for: heads are many
  function weightsOf(items) {
    const drawn = (item) => (item.sentences ? shadedText(item) : weightTable(item));
    const made = items.slice(0, mostMatrices).map(drawn);
    if (items.length <= mostMatrices) return made;
    const more = element("button", `show ${items.length - mostMatrices} more`, { type: "button" });
    more.addEventListener("click", () => more.replaceWith(...items.slice(mostMatrices).map(drawn)));
    return [...made, more];
  }
  /** Weights as cells of a table: its labels stay legible, and where it is too wide it scrolls. */
  function weightTable({ title, axes, rows: labels, columns, weights }) {
    const head = element("tr", element("th", `${axes[0]} \\ ${axes[1]}`, { className: "axes" }));
    head.append(...columns.map((label) => element("th", element("span", label), {
      scope: "col",
      className: [...label].length > 1 ? "long" : "",
    })));
    const lines = weights.map((values, row) => {
      const line = element("tr", element("th", labels[row], { scope: "row" }));
      line.append(...values.map((value, column) => {
        const cell = element("td", "", { title: `${labels[row]}, ${columns[column]}: ${value.toFixed(2)}` });
        cell.style.backgroundColor = shade(value);
        return cell;
      }));
      return line;
    });
    const table = element("table", title ? element("caption", title) : "", { className: "weights" });
    const [top, middle] = [element("thead", head), element("tbody")];
    middle.append(...lines);
    table.append(top, middle);
    return element("div", table, { className: "sideways", tabIndex: 0 });
  }
  function shadedText({ title, sentences }) {
    const made = element("div", element("p", title, { className: "hint" }), { className: "shaded" });
    for (const { words, shades, weight } of sentences) {
      const line = element("p", weight === null ? "" : element("span", weight.toFixed(2), { className: "of-sentence" }));
      words.forEach((word, place) => {
        const part = element("span", word, { title: shades[place].toFixed(2) });
        part.style.backgroundColor = shade(0.55 * shades[place]); // words stay legible
        line.append(part);
      });
      made.append(line);
    }
    return made;
  }
  const shade = (share) => tinted(style("--weight"), Math.min(Math.max(share, 0), 1));
  // With its size, that the page does not move when it is there.
  const imageOf = (row, { uri, width, height }) =>
    element("img", "", { alt: `attention of ${data.labels[row]}`, src: uri, width, height, decoding: "async" });
  function enlarge(row, picture) {
    find("enlarged-name").replaceChildren(named(row));
    find("enlarged-picture").replaceChildren(imageOf(row, picture));
    find("enlarged").showModal();
  }
  find("enlarged").addEventListener("click", (event) => {
    // on the picture, on the button, or beside the dialog; Escape closes it by itself
    if (event.target.closest("img, button") || event.target === find("enlarged")) find("enlarged").close();
  });

  function update() {
    rows.forEach(({ tick, swatch }, row) => {
      tick.checked = shown.has(row);
      swatch.style.background = shown.has(row) ? color(row) : "transparent";
    });
    find("none-ticked").hidden = shown.size > 0;
    if (curveNames.length) drawCurves();
    if (costNames.length) drawCosts();
    count();
    drawSettings();
    if (data.samples.items.length) drawSamples();
    if (kinds.length) drawPictures();
  }

  const curveNames = Object.keys(data.curves);
  const costNames = Object.keys(data.costs);
  const kinds = Object.keys(data.pictures);
  options(find("curve-metric"), curveNames);
  if (curveNames.includes(`val/${data.metric}`)) find("curve-metric").value = `val/${data.metric}`;
  options(find("cost"), costNames);
  if (costNames.some((name) => name.endsWith("/s"))) find("cost").value = costNames.find((name) => name.endsWith("/s"));
  options(find("picture-kind"), kinds);
  emptied("curves-section", !curveNames.length, "No run of these kept a curve: there is no metrics.csv beside the results.");
  emptied("cost-section", !costNames.length, "The runs' costs do not compare, or are not known: see the notes.");
  emptied("settings-section", !Object.keys(data.settings).length, "The configurations differ in nothing but seed, folds and paths.");
  emptied("samples-section", !data.samples.items.length, "No run of these kept its predictions of this split.");
  emptied("pictures-section", !kinds.length, "No run of these drew pictures at test: they lie in figures/ of a run's folder.");
  find("title").textContent = `${data.dataSet ? `${data.dataSet}: ` : ""}${data.metric} of ${data.split}`;
  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const size = `${counted(data.runs, "run")} in ${counted(data.labels.length, "row")}`;
  find("summary").textContent = `${size}, baseline ${cut(data.labels[data.baseline], 80)}`;
  find("notes").append(...data.notes.map((note) => element("li", note)));
  if (data.leftOut.length) {
    const list = element("details", element("summary", `left out (${data.leftOut.length})`));
    const lines = element("ul");
    lines.append(...data.leftOut.map(([state, path, reason]) => element("li", `${state}: ${path}: ${reason}`)));
    list.append(lines);
    find("left-out").append(list);
  }

  for (const id of ["curve-metric", "curve-log-y", "curve-log-x", "curve-bands"]) find(id).addEventListener("change", drawCurves);
  find("cost").addEventListener("change", drawCosts);
  find("picture-kind").addEventListener("change", drawPictures);
  find("differing").addEventListener("change", drawSamples);
  find("filter").addEventListener("input", filter);
  find("show-best").addEventListener("click", showBest);
  find("untick-hidden").addEventListener("click", () => {
    tickedButHidden().forEach((row) => shown.delete(row));
    update();
  });
  find("show-filtered").addEventListener("click", () => showOnly(unfiltered()));
  find("show-none").addEventListener("click", () => showOnly([]));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  find("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    update();
  });
  dark.addEventListener("change", update);

  sort();
  filter();
  showBest();
})();
