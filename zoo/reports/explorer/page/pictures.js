/** An image at a size at which single pixels of a small one can be seen. */
function photo(image) {
  const picture = element("img", "", { src: image.uri, alt: "the picture that was given", width: image.width, height: image.height });
  const factor = Math.max(1, Math.round(320 / Math.max(image.width, image.height)));
  if (factor > 1) picture.className = "pixels";
  const box = element("div", picture, { className: "photo" });
  box.style.maxWidth = `${image.width * factor}px`;
  return box;
}

/** A choice of a step: a slider, with what it stands on beside it. */
function stepper(label, count, choose) {
  const slider = element("input", "", { type: "range", min: 1, max: count, value: 1 });
  const number = element("output", "");
  slider.addEventListener("input", () => choose(Number(slider.value) - 1));
  const show = (place) => {
    slider.value = String(place + 1);
    number.textContent = `${place + 1} of ${count}`;
  };
  return { box: element("label", [`${label} `, slider, number], { className: "stepper" }), show };
}

function viewBox(view) {
  const box = element("section", element("h3", view.name), { className: "view" });
  if (view.mechanism) box.append(element("p", view.mechanism, { className: "mechanism" }));
  return box;
}

/** A caption word by word over the picture. */
function pictureView(view) {
  const box = viewBox(view);
  const bytes = bytesOf(view.weights);
  const cells = view.rows * view.columns;
  const valueAt = (word, cell) => (bytes[word * cells + cell] * view.largest) / 255;
  const picture = photo(view.image);
  const cover = element("canvas", "", { width: view.columns, height: view.rows, className: view.sampled ? "pixels" : "" });
  const frame = element("span", "", { className: "frame" });
  picture.append(cover, frame);
  let kept = 0;
  const pick = (place, keep) => {
    if (keep) kept = place;
    show(place);
  };
  const words = tokenRow("caption", view.words, pick, () => show(kept));
  const steps = stepper("word", view.words.length, (place) => pick(place, true));
  const said = element("div", "", { className: "said" });
  said.setAttribute("role", "status");

  function show(place) {
    const values = Array.from({ length: cells }, (_, cell) => valueAt(place, cell));
    const largest = Math.max(...values);
    const context = cover.getContext("2d");
    const dark = context.createImageData(view.columns, view.rows);
    values.forEach((value, cell) => {
      dark.data[4 * cell + 3] = 190 * (1 - (largest > 0 ? value / largest : 0));
    });
    context.putImageData(dark, 0, 0);
    const most = values.indexOf(largest);
    Object.assign(frame.style, {
      left: `${(100 * (most % view.columns)) / view.columns}%`,
      top: `${(100 * Math.floor(most / view.columns)) / view.rows}%`,
      width: `${100 / view.columns}%`,
      height: `${100 / view.rows}%`,
    });
    words.items.forEach((item, at) => {
      item.classList.toggle("chosen", at === place);
      shade(item, 0);
    });
    steps.show(place);
    const word = () => quoted(visible(view.words[place]));
    const blocks = [element("p", [word(), ` read most, ${weight(largest)}, in the frame; ${cells} cells`])];
    const likely = view.candidates[place] || [];
    if (likely.length) {
      const list = element("ol", likely.map((one) => entry(one.text, one.probability, share(one.probability))), { className: "ranking" });
      blocks.push(element("div", [element("p", ["candidates for ", word()]), list]));
    }
    said.replaceChildren(...blocks);
  }
  // A place of the picture: which words looked there.
  picture.addEventListener("mousemove", (event) => {
    const area = picture.getBoundingClientRect();
    const at = (part, size, count) => Math.min(count - 1, Math.max(0, Math.floor((part / size) * count)));
    const column = at(event.clientX - area.left, area.width, view.columns);
    const cell = at(event.clientY - area.top, area.height, view.rows) * view.columns + column;
    const values = view.words.map((_, word) => valueAt(word, cell));
    const largest = Math.max(...values);
    words.items.forEach((item, word) => {
      shade(item, largest > 0 ? values[word] / largest : 0);
      item.title = weight(values[word]);
    });
  });
  picture.addEventListener("mouseleave", () => show(kept));
  box.append(element("div", [picture, element("div", [words.box, steps.box, said], { className: "words" })], { className: "beside" }));
  redrawn.push(() => show(kept));
  return box;
}

/** The path of glimpses over an image, with what each one saw. */
function glimpseView(view) {
  const box = viewBox(view);
  const { width, height } = view.image;
  const picture = photo(view.image);
  const draw = (tag, properties) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
    return made;
  };
  // Glimpses, the coarsest patch with them, may lie outside of the image: there the agent sees nothing.
  const edges = view.boxes.flat(2);
  const around = Math.max(1, -Math.min(0, ...edges), Math.max(...edges) - Math.max(width, height)) + 1;
  const path = draw("svg", { viewBox: `${-around} ${-around} ${width + 2 * around} ${height + 2 * around}` });
  const inset = (side) => `${(100 * around) / side}%`;
  Object.assign(path.style, { left: `-${inset(width)}`, top: `-${inset(height)}` });
  Object.assign(path.style, { width: `${100 + (200 * around) / width}%`, height: `${100 + (200 * around) / height}%` });
  picture.append(path);
  // Room for them on all sides: shares of the frame's width, which grows by as much.
  const share = (2 * around) / width;
  const frame = element("div", picture, { className: "around" });
  frame.style.maxWidth = `calc(${picture.style.maxWidth} * ${1 + share})`;
  Object.assign(picture.style, { width: "auto", margin: `${(50 * share) / (1 + share)}%` });
  const seen = element("div", "", { className: "seen" });
  const steps = stepper("glimpse", view.boxes.length, show);
  const said = element("p", "", { className: "said one" });
  said.setAttribute("role", "status");

  function show(place) {
    path.replaceChildren();
    for (let step = 0; step <= place; step += 1) {
      const [x, y] = view.places[step];
      const isNow = step === place;
      if (step) {
        const [before, above] = view.places[step - 1];
        path.append(draw("line", { x1: before, y1: above, x2: x, y2: y, stroke: view.colours[step], class: "way" }));
      }
      view.boxes[step].forEach(([left, top, right, bottom], scale) => {
        if (scale && !isNow) return;
        const style = { fill: "none", stroke: view.colours[step], class: isNow ? (scale ? "wide" : "now") : "before" };
        path.append(draw("rect", { x: left, y: top, width: right - left, height: bottom - top, ...style }));
      });
      path.append(draw("circle", { cx: x, cy: y, r: Math.max(width, height) / 80, fill: view.colours[step] }));
    }
    seen.replaceChildren(
      ...view.glimpses[place].map((uri, scale) =>
        element("figure", [
          element("img", "", { src: uri, alt: `what was seen at scale ${scale + 1}`, className: "pixels" }),
          element("figcaption", `scale ${scale + 1}`, { className: "label" }),
        ]),
      ),
    );
    steps.show(place);
    const [x, y] = view.places[place];
    said.textContent = `looked at ${x.toFixed(1)}, ${y.toFixed(1)} of ${width} × ${height} pixels`;
  }
  box.append(element("div", [frame, element("div", [steps.box, said, seen], { className: "words" })], { className: "beside" }));
  show(view.boxes.length - 1);
  return box;
}
