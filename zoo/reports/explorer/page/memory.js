/** What a network with a memory saw, answered, read and wrote: time runs from left to right. */
function memoryView(view) {
  const box = viewBox(view);
  let kept = 0;
  const marks = [];
  const steps = stepper("step", view.steps, (place) => {
    kept = place;
    show(place);
  });
  const said = element("ul", "", { className: "ranking" });
  said.setAttribute("role", "status");
  const strips = view.strips.map((strip) => {
    const bytes = bytesOf(strip.weights);
    const at = (step, row) => (bytes[step * strip.size + row] * strip.largest) / 255;
    const canvas = element("canvas", "", { className: "pixels" });
    canvas.style.height = `${Math.max(48, Math.min(260, 8 * strip.size))}px`;
    const mark = element("span", "", { className: "now-mark" });
    marks.push(mark);
    const area = element("div", [canvas, mark], { className: "strip" });
    area.addEventListener("mousemove", (event) => {
      const frame = area.getBoundingClientRect();
      show(Math.min(view.steps - 1, Math.max(0, Math.floor(((event.clientX - frame.left) / frame.width) * view.steps))));
    });
    area.addEventListener("mouseleave", () => show(kept));
    area.addEventListener("click", () => {
      kept = now;
    });
    const label = `${strip.name}: ${strip.size} ${strip.unit}s from top to bottom`;
    return { strip, at, canvas, box: element("div", [element("div", label, { className: "label" }), area]) };
  });
  let now = 0;
  function show(step) {
    now = step;
    steps.show(step);
    for (const mark of marks) Object.assign(mark.style, { left: `${(100 * step) / view.steps}%`, width: `${100 / view.steps}%` });
    said.replaceChildren(
      ...strips.map(({ strip, at }) => {
        const values = Array.from({ length: strip.size }, (_, row) => at(step, row));
        if (strip.unit === "bit") return element("li", `${strip.name}: ${values.map((value) => (value > 0.5 ? 1 : 0)).join("")}`);
        const largest = Math.max(...values);
        return element("li", `${strip.name}: most at ${strip.unit} ${values.indexOf(largest) + 1}, ${weight(largest)}`);
      }),
    );
  }
  box.append(steps.box, said, ...strips.map((one) => one.box));
  redrawn.push(() => {
    for (const { strip, at, canvas } of strips) {
      const values = Float32Array.from({ length: strip.size * view.steps }, (_, place) => at(place % view.steps, Math.floor(place / view.steps)));
      paint(canvas, values, strip.size, view.steps, strip.largest);
    }
  });
  show(0);
  return box;
}
