/** The weights of all heads, and one matrix of them: of a head, or over heads the mean or the largest. */
function headsOf(view) {
  const bytes = bytesOf(view.weights);
  const [rows, columns] = [view.queries.length, view.keys.length];
  const unit = view.largest / 255;
  const start = (layer, head) => (layer * view.heads + head) * rows * columns;
  const chosen = { layer: view.layers - 1, head: view.heads > 1 ? "mean" : 0 };
  function members() {
    const layers = chosen.layer === "all" ? [...Array(view.layers).keys()] : [chosen.layer];
    const heads = typeof chosen.head === "string" ? [...Array(view.heads).keys()] : [chosen.head];
    return layers.flatMap((layer) => heads.map((head) => start(layer, head)));
  }
  function matrix() {
    const starts = members();
    const found = new Float32Array(rows * columns);
    for (const first of starts)
      for (let place = 0; place < found.length; place += 1) {
        const read = bytes[first + place] * unit;
        found[place] = chosen.head === "max" ? Math.max(found[place], read) : found[place] + read / starts.length;
      }
    return found;
  }
  const one = (layer, head) => bytes.subarray(start(layer, head), start(layer, head) + rows * columns);
  return { chosen, matrix, one };
}

/** The choice of layer and head: two lists, and a small picture of each head to click. */
function headPicker(view, heads, update) {
  const made = element("div", "", { className: "picker" });
  const { chosen } = heads;
  function list(label, names, key) {
    const select = element("select", names.map(([value, text]) => element("option", text, { value })));
    select.addEventListener("change", () => {
      chosen[key] = /^\d+$/.test(select.value) ? Number(select.value) : select.value;
      show();
      update();
    });
    made.lists[key] = select;
    return element("label", [`${label} `, select]);
  }
  made.lists = {};
  const numbered = (count) => Array.from({ length: count }, (_, place) => [String(place), String(place + 1)]);
  const controls = element("div", "", { className: "controls" });
  if (view.layers > 1) controls.append(list("layer", [...numbered(view.layers), ["all", "all"]], "layer"));
  const ofHeads = view.heads > 1 || view.layers > 1;
  if (ofHeads) controls.append(list("head", [["mean", "mean"], ["max", "max"], ...numbered(view.heads)], "head"));
  made.append(controls);
  const buttons = [];
  if (ofHeads) {
    const grid = element("div", "", { className: "heads" });
    grid.style.gridTemplateColumns = `max-content repeat(${view.heads}, minmax(0, 64px))`;
    grid.append(element("span"));
    for (let head = 0; head < view.heads; head += 1) grid.append(element("span", String(head + 1), { className: "number" }));
    for (let layer = 0; layer < view.layers; layer += 1) {
      grid.append(element("span", String(layer + 1), { className: "number" }));
      for (let head = 0; head < view.heads; head += 1) {
        const canvas = element("canvas");
        const button = element("button", canvas, { type: "button", title: `layer ${layer + 1}, head ${head + 1}` });
        button.setAttribute("aria-label", button.title);
        button.addEventListener("click", () => {
          Object.assign(chosen, { layer, head });
          show();
          update();
        });
        Object.assign(button, { draw: () => paint(canvas, heads.one(layer, head), view.queries.length, view.keys.length, 255) });
        Object.assign(button, { layer, head });
        buttons.push(button);
        grid.append(button);
      }
    }
    roving(buttons, view.heads, () => {});
    made.append(grid);
  }
  function show() {
    for (const [key, select] of Object.entries(made.lists)) select.value = String(chosen[key]);
    for (const button of buttons) {
      const isOn = [button.layer, "all"].includes(chosen.layer) && [button.head, "mean", "max"].includes(chosen.head);
      button.setAttribute("aria-pressed", String(isOn));
    }
  }
  made.draw = () => buttons.forEach((button) => button.draw());
  show();
  return made;
}

/** Words to point at. `choose(place, keep)` hears which; `keep` where it was clicked or focused. */
function tokenRow(label, tokens, choose, leave) {
  const row = element("div", "", { className: "tokens", dir: direction(tokens.filter((token) => !/^<.*>$/.test(token))) });
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", label);
  const items = tokens.map((token, place) => {
    const item = element("button", quoted(visible(token), ""), { type: "button", className: "token" });
    item.addEventListener("mouseenter", () => choose(place, false));
    item.addEventListener("click", () => choose(place, true));
    return item;
  });
  row.addEventListener("mouseleave", leave);
  roving(items, 1, (place) => choose(place, true));
  row.append(...items);
  return { items, box: element("div", [element("div", label, { className: "label" }), row]) };
}

/** What is most read, in words, with numbers. */
function ranking(named, most = 5) {
  const best = named.filter(([, value]) => value > 0).sort((one, other) => other[1] - one[1]).slice(0, most);
  const made = element("ol", best.map(([name, value]) => entry(name, value, weight(value))), { className: "ranking" });
  if (!best.length) made.append(element("li", "nothing"));
  return made;
}
function entry(name, value, number) {
  const bar = element("span", "", { className: "bar" });
  bar.style.setProperty("--share", String(Math.min(1, value)));
  return element("li", [quoted(visible(name)), bar, element("span", number, { className: "value" })]);
}

function tokenView(view) {
  const [rows, columns] = [view.queries.length, view.keys.length];
  const heads = headsOf(view);
  const box = element("section", element("h3", view.name), { className: "view" });
  if (view.mechanism) box.append(element("p", view.mechanism, { className: "mechanism" }));
  const words = {
    query: `${view.queryName}\u0000${view.queries.join("\u0000")}`,
    key: `${view.keyName}\u0000${view.keys.join("\u0000")}`,
  };
  let weights = heads.matrix();
  const first = view.candidates.findIndex((likely) => likely.length);
  let kept = { side: "query", place: Math.max(0, first) };
  let now = kept;
  const self = { view, follow };
  followers.push(self);

  const picker = headPicker(view, heads, () => {
    weights = heads.matrix();
    show();
    drawMatrix();
  });
  const pick = (side) => (place, keep) => {
    now = { side, place };
    if (keep) kept = now;
    show();
    tell(view, words[side], place);
  };
  const leave = () => {
    now = kept;
    show();
    tell(view, words[kept.side], kept.place);
  };
  function follow(others, place) {
    const side = others === words.query ? "query" : others === words.key ? "key" : null;
    if (!side) return;
    now = kept = { side, place };
    show();
  }
  const queries = tokenRow(view.queryName, view.queries, pick("query"), leave);
  const isSame = words.query === words.key;
  const keys = tokenRow(isSame ? `${view.keyName}, read` : view.keyName, view.keys, pick("key"), leave);
  const said = element("div", "", { className: "said" });
  said.setAttribute("role", "status");
  const canvas = element("canvas");
  const summary = element("summary");
  const matrix = element("details", [summary, element("div", canvas, { className: "scroll" })]);
  matrix.open = true;
  const wordBox = element("div", [queries.box, keys.box, said], { className: "words" });
  box.append(element("div", [picker, wordBox], { className: "beside" }), matrix);

  const row = (place) => weights.subarray(place * columns, (place + 1) * columns);
  const column = (place) => Float32Array.from({ length: rows }, (_, at) => weights[at * columns + place]);
  function show() {
    const asked = now.side === "query";
    const values = asked ? row(now.place) : column(now.place);
    const [chosen, shaded] = asked ? [queries, keys] : [keys, queries];
    const largest = values.reduce((one, other) => Math.max(one, other), 0);
    shaded.items.forEach((item, place) => {
      item.classList.remove("chosen");
      shade(item, largest > 0 ? values[place] / largest : 0);
      item.title = weight(values[place]);
    });
    chosen.items.forEach((item, place) => {
      item.classList.toggle("chosen", place === now.place);
      shade(item, 0);
      item.title = "";
    });
    const [from, to] = asked ? [view.queries, view.keys] : [view.keys, view.queries];
    const word = () => quoted(visible(from[now.place]));
    const named = [...values].map((value, place) => [to[place], value]);
    const blocks = [element("div", [element("p", [word(), asked ? " read" : " was read by"]), ranking(named)])];
    const likely = (asked && view.candidates[now.place]) || [];
    if (likely.length) {
      const list = element("ol", likely.map((one) => entry(one.text, one.probability, share(one.probability))), { className: "ranking" });
      blocks.push(element("div", [element("p", [`${view.candidatesName} `, word()]), list]));
    }
    said.replaceChildren(...blocks);
    mark();
  }

  // The matrix: cells as large as fit, with words beside them where these are legible.
  let cell = 0;
  let [left, top] = [0, 0];
  let unmarked = null;
  function drawMatrix() {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const font = "11px system-ui, sans-serif";
    context.font = font;
    const widest = (tokens) => Math.ceil(Math.min(96, 8 + Math.max(0, ...tokens.map((token) => context.measureText(visible(token)).width))));
    const wide = widest(view.queries);
    const fitting = Math.floor((box.clientWidth - 26 - wide) / Math.max(1, columns));
    cell = Math.max(columns <= 60 ? 12 : 2, Math.min(20, fitting));
    const isNamed = cell >= 12;
    [left, top] = isNamed ? [wide, widest(view.keys)] : [0, 0];
    const [across, down] = [left + cell * columns + 1, top + cell * rows + 1];
    const density = Math.min(2, devicePixelRatio || 1);
    Object.assign(canvas, { width: across * density, height: down * density });
    Object.assign(canvas.style, { width: `${across}px`, height: `${down}px` });
    context.scale(density, density);
    const small = element("canvas");
    const largest = weights.reduce((one, other) => Math.max(one, other), 0);
    summary.textContent = `all weights, the largest is ${weight(largest)}`;
    paint(small, weights, rows, columns, largest);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, cell * columns, cell * rows);
    context.strokeStyle = style("--line");
    context.strokeRect(left + 0.5, top + 0.5, cell * columns, cell * rows);
    if (isNamed) {
      Object.assign(context, { font, fillStyle: style("--ink"), textBaseline: "middle", textAlign: "right" });
      view.queries.forEach((token, place) => context.fillText(visible(token), left - 4, top + cell * (place + 0.5), left - 6));
      context.textAlign = "left";
      view.keys.forEach((token, place) => {
        const isLetter = [...visible(token)].length === 1;
        context.save();
        context.translate(left + cell * (place + 0.5), top - (isLetter ? 8 : 4));
        if (isLetter) context.translate(-context.measureText(visible(token)).width / 2, 0);
        else context.rotate(-Math.PI / 2);
        context.fillText(visible(token), 0, 0, top - 6);
        context.restore();
      });
    }
    unmarked = context.getImageData(0, 0, canvas.width, canvas.height);
    mark();
  }
  function mark() {
    if (!unmarked) return;
    const context = canvas.getContext("2d");
    context.putImageData(unmarked, 0, 0);
    Object.assign(context, { strokeStyle: style("--mark"), lineWidth: 2 });
    if (now.side === "query") context.strokeRect(left, top + cell * now.place, cell * columns, cell);
    else context.strokeRect(left + cell * now.place, top, cell, cell * rows);
  }
  const at = (event) => {
    const frame = canvas.getBoundingClientRect();
    const [across, down] = [event.clientX - frame.left - left, event.clientY - frame.top - top].map((one) => Math.floor(one / cell));
    return across >= 0 && across < columns && down >= 0 && down < rows ? [down, across] : null;
  };
  canvas.addEventListener("mousemove", (event) => {
    const place = at(event);
    canvas.title = place ? `${visible(view.queries[place[0]])} · ${visible(view.keys[place[1]])}: ${weight(weights[place[0] * columns + place[1]])}` : "";
    if (place && (now.side !== "query" || now.place !== place[0])) pick("query")(place[0], false);
  });
  canvas.addEventListener("click", (event) => at(event) && pick("query")(at(event)[0], true));
  canvas.addEventListener("mouseleave", leave);
  redrawn.push(() => {
    picker.draw();
    show();
    drawMatrix();
  });
  return box;
}
